//! Scalable TCP: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2), 2003;
//! and the variant of the Linux kernel.
//!
//! A hundredth of a segment for each one acknowledged, an eighth of the window for a loss: the time to recover from a
//! loss depends on the RTT alone, not on the window.

use crate::scheme::Fixed;
use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Entry, Phase, Role, Step, compare_products, mul_add_shift, mul_shift,
};

/// Parameters and growth are in 2^-24.
const UNIT_BITS: u32 = 24;
const ONE: u64 = 1 << UNIT_BITS;

/// Scalable TCP.
#[derive(Clone, Debug, Default)]
pub struct Scalable {
    parameters: Parameters,
    /// Growth below one byte, 2^-24, if growth is a part of the acknowledged bytes.
    fraction: u64,
    /// Remainder of the division for the last ACK if growth is Reno's segment a window, bytes squared.
    remainder: u64,
}

scheme! {
    impl Scheme for Scalable {
        label: "scalable",
        role: Role::Avoidance,
        source: "Kelly, ACM CCR 33(2), 2003; Linux, net/ipv4/tcp_scalable.c",
        summary: "a hundredth of a segment for each one acknowledged, an eighth of the window on congestion",
    }

    pub struct Parameters {
        /// kelly: Reno up to legacy_window; linux: never slower than Reno, and the same decrease for every window
        rules: Rules = Kelly,
        /// segments for each one acknowledged (Kelly: a; Linux 1/100, formerly 1/50 in view of delayed ACKs)
        increase: Fixed<ONE> in 0.0001..=1.0 = 0.01,
        /// part of the window that congestion takes (Kelly: b; Linux: 1/8)
        decrease: Fixed<ONE> in 0.01..=0.9 = 0.125,
        /// window up to which Reno's rules apply; only with rules = kelly (Kelly: lwnd)
        legacy_window: u64 = 16 packets,
    }
}

choice! {
    /// Values of the parameter `rules`.
    pub enum Rules {
        /// The rules of the paper.
        Kelly = "kelly",
        /// The rules of the kernel.
        Linux = "linux",
    }
}

impl Scalable {
    fn linux(&self) -> bool {
        self.parameters.rules == Rules::Linux
    }

    /// Whether a window of this many bytes is in Kelly's legacy range, where Reno's rules apply.
    fn legacy(&self, window: u64, mss: u64) -> bool {
        !self.linux() && window <= self.parameters.legacy_window.saturating_mul(mss)
    }

    /// Whether a window of this many bytes grows by a segment a window, as Reno's does.
    fn grows_as_reno(&self, window: u64, mss: u64) -> bool {
        if self.linux() {
            // The kernel: a segment for each min(w, 1/a) acknowledged.
            compare_products((window, self.parameters.increase.0), (mss, 1 << UNIT_BITS)).is_lt()
        } else {
            self.legacy(window, mss)
        }
    }
}

impl Phase for Scalable {
    fn enter(&mut self, _: &Entry, _: &mut Control) {
        self.fraction = 0;
        self.remainder = 0;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        if ack.is(Ack::RECOVERY) {
            return Step::Stay;
        }
        let cwnd = control.cwnd;
        // An ACK for more than a window counts as one.
        let growth = ack.growth.min(cwnd);
        if self.grows_as_reno(cwnd, ack.mss.into()) {
            // RFC 5681, equation (3): cwnd += SMSS*SMSS/cwnd for each segment.
            self.remainder += growth * u64::from(ack.mss);
            control.cwnd += self.remainder / cwnd;
            self.remainder %= cwnd;
        } else {
            // Kelly: cwnd <- cwnd + 0.01 for each ACK, here for each segment that the host lets count.
            let (grown, fraction) =
                mul_add_shift(growth, self.parameters.increase.0, self.fraction, UNIT_BITS);
            control.cwnd += grown;
            self.fraction = fraction;
        }
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        // Kelly: cwnd <- cwnd - 0.125 cwnd; a window that grows like Reno's is halved like Reno's.
        let taken = if self.legacy(event.base, event.mss.into()) {
            event.base - event.base / 2
        } else {
            mul_shift(event.base, self.parameters.decrease.0, UNIT_BITS)
        };
        event.reduce_to(event.base - taken, control);
        self.fraction = 0;
        self.remainder = 0;
        Step::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::{Scheme as _, Value};

    const MSS: u64 = 1448;

    fn scalable(segments: u64, rules: &str) -> (Scalable, Control) {
        let mut phase = Scalable::default();
        phase.set("rules", Value::Choice(Rules::WORDS.iter().position(|r| *r == rules).expect("a word")));
        let mut control = Control { cwnd: segments * MSS, ..Control::default() };
        phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
        (phase, control)
    }

    fn ack(bytes: u64) -> Ack {
        Ack { acked: bytes, growth: bytes, mss: MSS as u32, ..Ack::default() }
    }

    /// The window in segments after `acks` ACKs for `per_ack` segments each.
    fn grown(phase: &mut Scalable, control: &mut Control, acks: u64, per_ack: u64) -> f64 {
        for _ in 0..acks {
            let _ = phase.on_ack(&ack(per_ack * MSS), control);
        }
        control.cwnd as f64 / MSS as f64
    }

    #[test]
    fn a_segment_acknowledged_adds_a_hundredth_at_every_window_whatever_an_ack_covers() {
        for segments in [17, 100, 83_000] {
            for per_ack in [1, 2] {
                let (mut phase, mut control) = scalable(segments, "kelly");
                // 100 000 segments acknowledged are 1000 more in the window; 0.01 is rounded at 2^-25.
                let is = grown(&mut phase, &mut control, 100_000 / per_ack, per_ack);
                let expected = (segments + 1000) as f64;
                assert!((is - expected).abs() < 0.01, "from {segments}: {is}, expected {expected}");
            }
        }
    }

    #[test]
    fn the_window_doubles_in_seventy_rounds_whatever_its_size() {
        // A round acknowledges w segments and leaves 1.01 w: 1.01^70 = 2.0068.
        for segments in [1000, 100_000] {
            let (mut phase, mut control) = scalable(segments, "kelly");
            for _ in 0..70 {
                let _ = phase.on_ack(&ack(control.cwnd), &mut control);
            }
            let ratio = control.cwnd as f64 / (segments * MSS) as f64;
            assert!((ratio - 2.0068).abs() < 0.0002, "{ratio}");
        }
    }

    #[test]
    fn an_eighth_lost_is_regained_in_fourteen_rounds_whatever_the_window() {
        // The paper: log(1 - b)/-log(1 + a) = 0.13353/0.00995 = 13.4 round trips.
        for segments in [1000, 100_000] {
            let (mut phase, mut control) = scalable(segments, "kelly");
            let event = Congestion { base: segments * MSS, mss: MSS as u32, ..Congestion::default() };
            let _ = phase.on_congestion(&event, &mut control);
            assert_eq!(control.cwnd, segments / 8 * 7 * MSS);
            let rounds = (1..).find(|_| {
                let _ = phase.on_ack(&ack(control.cwnd), &mut control);
                control.cwnd >= segments * MSS
            });
            assert_eq!(rounds, Some(14));
        }
    }

    #[test]
    fn up_to_the_legacy_window_the_scheme_is_reno() {
        // An ACK turns w into w + 1/w, so it adds 2 + 1/w^2 to w^2: from 10 to 16 segments that takes just below
        // (16^2 - 10^2) / 2 = 78 ACKs: 78 - ln(16/10)/2 = 77.8.
        let (mut phase, mut control) = scalable(10, "kelly");
        assert!(grown(&mut phase, &mut control, 77, 1) < 16.0);
        assert!(grown(&mut phase, &mut control, 1, 1) > 16.0);
        // From here on a hundredth.
        let before = control.cwnd;
        let _ = grown(&mut phase, &mut control, 100, 1);
        assert!(control.cwnd.abs_diff(before + MSS) <= 1, "{before} {}", control.cwnd);
        for (base, kept) in [(16, 8.0), (10, 5.0), (3, 2.0), (17, 14.875), (24, 21.0)] {
            let event = Congestion { base: base * MSS, mss: MSS as u32, ..Congestion::default() };
            let _ = phase.on_congestion(&event, &mut control);
            assert_eq!(control.cwnd as f64 / MSS as f64, kept, "of {base}");
            assert_eq!(control.ssthresh, control.cwnd);
        }
        phase.set("legacy_window", Value::Packets(0));
        let event = Congestion { base: 16 * MSS, mss: MSS as u32, ..Congestion::default() };
        let _ = phase.on_congestion(&event, &mut control);
        assert_eq!(control.cwnd, 14 * MSS);
    }

    #[test]
    fn linux_is_never_slower_than_reno_and_yields_an_eighth_of_any_window() {
        // From 20 to 40 segments (40^2 - 20^2) / 2 = 600 ACKs, less ln(40/20)/2 = 0.35; Kelly's rule adds 6.
        let (mut phase, mut control) = scalable(20, "linux");
        assert!(grown(&mut phase, &mut control, 599, 1) < 40.0);
        assert!(grown(&mut phase, &mut control, 1, 1) > 40.0);
        let (mut phase, mut control) = scalable(20, "kelly");
        assert!((grown(&mut phase, &mut control, 600, 1) - 26.0).abs() < 0.01);
        // Above 1/a segments both add a for each: 1/50 as kernels once had it, 1000 ACKs for 20 segments.
        let (mut phase, mut control) = scalable(50, "linux");
        phase.set("increase", Value::Number(0.02));
        // At exactly 50 both rules give a fiftieth.
        assert!((grown(&mut phase, &mut control, 1000, 1) - 70.0).abs() < 0.05);
        for base in [16, 800] {
            let event = Congestion { base: base * MSS, mss: MSS as u32, ..Congestion::default() };
            let _ = phase.on_congestion(&event, &mut control);
            assert_eq!(control.cwnd, base / 8 * 7 * MSS);
        }
        phase.set("decrease", Value::Number(0.5));
        let event = Congestion { base: 800 * MSS, mss: MSS as u32, ..Congestion::default() };
        let _ = phase.on_congestion(&event, &mut control);
        assert_eq!(control.cwnd, 400 * MSS);
    }

    #[test]
    fn the_window_does_not_grow_during_recovery() {
        let (mut phase, mut control) = scalable(100, "kelly");
        for _ in 0..1000 {
            let _ = phase.on_ack(&Ack { flags: Ack::RECOVERY, ..ack(MSS) }, &mut control);
        }
        assert_eq!(control.cwnd, 100 * MSS);
    }
}
