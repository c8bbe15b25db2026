//! Reno's additive increase, multiplicative decrease: RFC 5681 section 3.1, equations (3) and (4).

use crate::{choice, scheme};
use firstflight_contract::{Ack, Congestion, Control, Entry, Phase, Role, Step};

/// One segment per window of ACKs; half the window on congestion.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    pub(crate) parameters: Parameters,
    /// Growth not yet added to the window, so that rounding loses nothing: acknowledged bytes under
    /// [`Growth::Counted`], the remainder of a division by the window under [`Growth::PerAck`].
    credit: u64,
}

scheme! {
    impl Scheme for Reno {
        label: "reno",
        role: Role::Avoidance,
        source: "RFC 5681 section 3.1",
        summary: "one segment per round trip, half the window on congestion",
    }

    pub struct Parameters {
        /// counted: a segment for each window of acknowledged bytes, as RFC 5681 recommends and Linux does; per-ack:
        /// SMSS*SMSS/cwnd for each ACK (equation (3)), as ns-2 does
        growth: Growth = Counted,
    }
}

choice! {
    /// Values of the parameter `growth`.
    pub enum Growth {
        /// A segment for each window of acknowledged bytes.
        Counted = "counted",
        /// `SMSS*SMSS/cwnd` for each ACK.
        PerAck = "per-ack",
    }
}

impl Phase for Reno {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.credit = 0;
    }

    // Simulated connections spend most ACKs here: inlined, the ACK's unread fields are never computed.
    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) || ack.growth == 0 {
            return Step::Stay;
        }
        if self.parameters.growth == Growth::PerAck {
            // Equation (3): cwnd += SMSS*SMSS/cwnd, for each ACK of new data.
            self.credit += ack.growth * u64::from(ack.mss);
            let grown = self.credit / control.cwnd;
            self.credit -= grown * control.cwnd;
            control.cwnd += grown;
            return Step::Stay;
        }
        // RFC 5681: "a TCP ... increases cwnd by one full-sized segment (SMSS) per RTT", done as the RFC
        // recommends: count the acknowledged bytes and grow once a whole window of them has arrived.
        if self.credit >= control.cwnd {
            // The credit was counted under a larger window: one segment for all of it.
            self.credit = 0;
            control.cwnd += u64::from(ack.mss);
        }
        self.credit += ack.growth;
        if self.credit >= control.cwnd {
            // One ACK may cover several windows after a loss delayed it.
            let windows = self.credit / control.cwnd;
            self.credit -= windows * control.cwnd;
            control.cwnd += windows * u64::from(ack.mss);
        }
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // Equation (4): ssthresh = max (FlightSize / 2, 2*SMSS)
        event.reduce_to(event.base / 2, control);
        self.credit = 0;
        Step::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Scheme as _, Value};
    use firstflight_contract::Trigger;

    const MSS: u64 = 1000;

    fn reno() -> (Reno, Control) {
        let mut reno = Reno::default();
        let mut control = Control { cwnd: 100 * MSS, ssthresh: 50 * MSS, ..Control::default() };
        reno.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        (reno, control)
    }

    #[test]
    fn a_window_of_acks_adds_one_segment_whether_each_covers_one_packet_or_two() {
        for packets_per_ack in [1, 2] {
            let (mut reno, mut control) = reno();
            let bytes = packets_per_ack * MSS;
            // 100 + 101 + ... + 109 = 1045 packets make ten rounds from a window of 100.
            for _ in 0..1046 / packets_per_ack {
                let _ = reno.on_ack(
                    &Ack { acked: bytes, growth: bytes, mss: MSS as u32, ..Ack::default() },
                    &mut control,
                );
            }
            assert_eq!(control.cwnd, 110 * MSS, "{packets_per_ack} packets per ACK");
        }
    }

    #[test]
    fn an_ack_of_two_windows_and_a_tenth_adds_two_segments_and_keeps_the_tenth() {
        let (mut reno, mut control) = reno();
        control.cwnd = 10 * MSS;
        let ack = |segments: u64| Ack { growth: segments * MSS, mss: MSS as u32, ..Ack::default() };
        let _ = reno.on_ack(&ack(21), &mut control);
        assert_eq!(control.cwnd, 12 * MSS);
        let _ = reno.on_ack(&ack(10), &mut control);
        assert_eq!(control.cwnd, 12 * MSS);
        let _ = reno.on_ack(&ack(1), &mut control);
        assert_eq!(control.cwnd, 13 * MSS);
    }

    #[test]
    fn growth_with_every_ack_is_slower_than_counting_by_half_a_segment_for_each_segment_gained() {
        let (mut reno, mut control) = reno();
        reno.set("growth", Value::Choice(1));
        // An ACK turns w into w + 1/w, so it adds 2 + 1/w^2 to w^2: from 100 to 110 segments that takes
        // (110^2 - 100^2) / 2 = 1050 ACKs. Counting takes 100 + 101 + ... + 109 = 1045.
        let mut acks = 0;
        while control.cwnd < 110 * MSS {
            let _ = reno
                .on_ack(&Ack { acked: MSS, growth: MSS, mss: MSS as u32, ..Ack::default() }, &mut control);
            acks += 1;
        }
        assert_eq!(acks, 1050);
    }

    #[test]
    fn congestion_halves_the_base_but_not_below_two_segments() {
        let (mut reno, mut control) = reno();
        for (base, expected) in [(100, 50), (7, 3_500 / MSS), (3, 2), (1, 2)] {
            let event = Congestion {
                base: base * MSS,
                trigger: Trigger::Loss,
                mss: MSS as u32,
                ..Congestion::default()
            };
            assert_eq!(reno.on_congestion(&event, &mut control), Step::Stay);
            assert_eq!(control.ssthresh / MSS, expected, "base {base}");
            assert_eq!(control.cwnd, control.ssthresh);
        }
    }
}
