//! Any bytes as the capture of a comparison, to the whole JSON.

use firstflight::{Input, compare};

use crate::compare_scenario::compared;
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "compare_capture",
    about: "bytes of a capture, compared under two schemes to the JSON, the table and the page: every number in range",
    run,
    longest: 16 << 10,
    form: Form::Binary,
};

/// Most bytes that the captured connections may claim to have carried, so that a re-run takes milliseconds.
const BYTES: u64 = 200_000;

/// Candidate paths of each kind at first: a search has some hundred re-runs instead of thousands.
const CANDIDATES: u32 = 5;

fn run(bytes: &[u8]) {
    match Input::capture(bytes, "fuzz.pcap") {
        Ok(input) => {
            let Input::Capture { capture, .. } = &input else { panic!("a capture was read") };
            if capture.connections.iter().map(|connection| connection.observed.bytes).sum::<u64>() <= BYTES {
                compared(compare(input).path_candidates(CANDIDATES).harm(false));
            }
        }
        Err(error) => refused(error),
    }
}
