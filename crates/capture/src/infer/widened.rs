//! Wider ranges where the acknowledgements of a connection are modelled, as those of encrypted QUIC are.

use crate::estimate::{Estimate, Inferred};
use crate::infer::Measured;
use crate::infer::buffer::Losses;
use crate::packet_trace::PacketTrace;

/// Error of a round trip by an answer that belongs to another packet than the model's, as a share.
const OTHER_PACKET: f64 = 0.03;
/// Error of a buffer by the same: the wait is measured at one end of a burst or at the other.
const BURST: f64 = 0.1;

/// Widens ranges by the share of the packets of which it is open whether they arrived.
pub(super) fn widen(measured: Measured, traces: &[&PacketTrace]) -> Measured {
    let open = traces.iter().map(|trace| trace.open).fold(0.0, f64::max);
    if open == 0.0 {
        return measured;
    }
    let Measured { rate, rtt, losses: Losses { buffer, random } } = measured;
    // A lost packet that counts as arrived makes the loss smaller, and one that counts as lost larger.
    let random = match random {
        Inferred::Known(loss) => {
            Inferred::Known(Estimate { low: 0.0, high: (loss.high + open).min(1.0), ..loss })
        }
        unknown => unknown,
    };
    Measured {
        rate: by(rate, open),
        rtt: by(rtt, OTHER_PACKET),
        losses: Losses { buffer: by(buffer, BURST + open), random },
    }
}

/// The value with bounds that are this share of it further away.
fn by(value: Inferred<Estimate>, share: f64) -> Inferred<Estimate> {
    match value {
        Inferred::Known(known) => Inferred::Known(Estimate {
            low: (known.low - share * known.value).max(0.0),
            high: known.high + share * known.value,
            ..known
        }),
        Inferred::Unknown(mut unknown) => {
            unknown.low = unknown.low.map(|low| low * (1.0 - share));
            unknown.high = unknown.high.map(|high| high * (1.0 + share));
            Inferred::Unknown(unknown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_grow_by_a_share_of_the_value_and_bounds_by_a_share_of_themselves() {
        let known = Estimate { value: 100.0, low: 90.0, high: 120.0, how: String::new() };
        let wider = by(Inferred::Known(known), 0.1);
        let wider = wider.known().expect("a value");
        assert_eq!((wider.low, wider.value, wider.high), (80.0, 100.0, 130.0));
        let bounds = crate::estimate::Unknown { why: String::new(), low: Some(50.0), high: Some(60.0) };
        let wider = by(Inferred::Unknown(bounds), 0.1);
        let wider = wider.unknown().expect("bounds");
        assert!((wider.low.unwrap() - 45.0).abs() < 1e-9 && (wider.high.unwrap() - 66.0).abs() < 1e-9);
    }
}
