//! Any bytes as a capture: no panic, no endless loop, no more memory than the reader's limits, intervals in order.

use firstflight_capture::{Room, Series, Watch, for_each, infer, read_from};

use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "capture",
    about: "bytes of a capture, read and its path inferred: intervals in order, totals that agree",
    run,
    longest: 64 << 10,
    form: Form::Binary,
};

/// The same bytes as the packets of a link, in a small room.
fn watch(bytes: &[u8]) {
    let room = Room { connections: 8, of_connection: 64, packets: 128 };
    let mut watch = Watch::new(room);
    // An unreadable capture is refused below.
    let _ = for_each(bytes, "fuzz", |at, link_type, data, length| {
        watch.frame(at, link_type, data, length);
        assert!(watch.open() <= room.connections);
    });
    watch.finish();
    for windows in watch.take_ended().iter().filter_map(firstflight_capture::Connection::windows) {
        let all = [Some(windows.close), windows.avoidance_loss];
        assert!(all.into_iter().flatten().all(|window| window.is_finite() && window >= 0.0), "{windows:?}");
    }
}

fn run(bytes: &[u8]) {
    watch(bytes);
    check(bytes);
}

/// Reads the bytes and infers the path.
pub(crate) fn check(bytes: &[u8]) {
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
