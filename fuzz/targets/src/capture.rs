//! Any bytes as a capture: no panic, no endless loop, no more memory than the reader's limits, intervals in order.

use firstflight_capture::{Series, infer, read_from};

use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "capture",
    about: "bytes of a capture, read and its path inferred: intervals in order, totals that agree",
    run,
    longest: 64 << 10,
    form: Form::Binary,
};

fn run(bytes: &[u8]) {
    let capture = match read_from(bytes, "fuzz") {
        Ok(capture) => capture,
        Err(error) => return refused(error),
    };
    for connection in &capture.connections {
        let observed = &connection.observed;
        assert!(observed.delivered_bytes <= observed.bytes);
        assert!(observed.lost_packets <= observed.packets);
        assert!(observed.series.flight.len() <= Series::POINTS);
    }
    let path = infer(&capture.connections);
    for value in [&path.rate, &path.rtt, &path.buffer, &path.loss, &path.mss, &path.initial_window] {
        if let Some(estimate) = value.known() {
            assert!(estimate.low <= estimate.value && estimate.value <= estimate.high, "{estimate:?}");
        }
    }
}
