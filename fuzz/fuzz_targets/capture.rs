//! Reads any bytes as a capture: no panic, no endless loop, no more memory than the reader's limits.

#![no_main]

use firstflight_capture::{Series, infer, read_from};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(capture) = read_from(bytes, "fuzz") else { return };
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
});
