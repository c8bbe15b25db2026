//! Any bytes as the capture of a comparison, to the whole JSON.

use firstflight::Input;

use crate::compare_scenario::compared;
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "compare_capture",
    about: "bytes of a capture, compared under two schemes to the JSON, the table and the page: every number in range",
    run,
    longest: 16 << 10,
    form: Form::Binary,
};

/// Most bytes that a captured connection may claim to have carried, so that its re-run takes milliseconds.
const BYTES: u64 = 200_000;

fn run(bytes: &[u8]) {
    match Input::capture(bytes, "fuzz.pcap") {
        Ok(input) => {
            let Input::Capture { capture, .. } = &input else { panic!("a capture was read") };
            if capture.connections.iter().map(|connection| connection.observed.bytes).sum::<u64>() <= BYTES {
                compared(input);
            }
        }
        Err(error) => refused(error),
    }
}
