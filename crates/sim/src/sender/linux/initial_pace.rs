//! The pace of a larger first window, as a plan of the gateway has one: the rules of `keep_pace` in the kernel's program
//! (`crates/hooks/bpf/hooks.bpf.c`; `docs/gateway-kernel.md`, "Starts").
//!
//! Linux spreads a window over half of a round-trip time, and computes that rate anew with each ACK. The program is called for each
//! segment that leaves, and lowers the rate to the pace. If no queue stands when the first window is acknowledged, the pace ends. Else
//! it lasts until a loss, or for [`LONGEST`] windows.

use super::{Linux, UNPACED};
use crate::sender::connection::Connection;
use firstflight_contract::{Nanos, Rate};

/// First windows for which a pace is kept.
const LONGEST: u32 = 64;
/// Least and greatest delay of a standing queue (RFC 9406 section 4.2: `MIN_RTT_THRESH`, `MAX_RTT_THRESH`), nanoseconds.
const STANDING: [u64; 2] = [4_000_000, 16_000_000];

/// The pace of a connection's first window, while it is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InitialPace {
    /// [`Rate::NONE`] if no pace is kept.
    rate: Rate,
    /// Segments of the first window.
    first: u32,
    /// First windows that were acknowledged at the pace.
    windows: u32,
    /// Steps by which the rate is above that of the beginning.
    faster: u32,
}

impl InitialPace {
    pub(super) fn is_kept(&self) -> bool {
        self.rate != Rate::NONE
    }

    /// The rate at which the next segment leaves at most, when `acknowledged` segments are and `lost` were retransmitted;
    /// [`Rate::NONE`] from the end of the pace on. `queue_stands` is asked once in a window.
    fn keep(&mut self, acknowledged: u32, lost: bool, queue_stands: impl Fn() -> bool) -> Rate {
        let windows = acknowledged / self.first;
        if windows >= LONGEST || windows > 0 && lost {
            self.rate = Rate::NONE;
        } else if windows > self.windows {
            let (stands, confirmed) = (queue_stands(), self.windows > 0);
            self.windows = windows;
            match (stands, confirmed) {
                (false, false) => self.rate = Rate::NONE,
                // The last step shows in the round-trip times after three windows.
                (false, true) if windows.is_multiple_of(3) => {
                    self.rate.0 += self.rate.0 / 8;
                    self.faster += 1;
                }
                (true, _) if self.faster > 0 => {
                    self.rate.0 -= self.rate.0 / 9;
                    self.faster -= 1;
                }
                _ => {}
            }
        }
        self.rate
    }
}

impl Connection<Linux> {
    /// The connection is open. A window of one segment follows a lost SYN.
    pub(super) fn begin_initial_pace(&mut self) {
        let (Some(pace), first, srtt) = (self.stack.initial_pace, self.stack.initial_window, self.rto.srtt())
        else {
            return;
        };
        if srtt > 0 && u64::from(first) > UNPACED && pace < 2 * first {
            let rate = Rate::of(u64::from(pace.max(first)) * self.mss, Nanos(srtt));
            self.own.initial_pace = InitialPace { rate, first, ..InitialPace::default() };
        }
    }

    /// Lowers the pacing rate, which Linux has computed, to the pace. A segment leaves.
    #[cold]
    pub(super) fn keep_initial_pace(&mut self) {
        let (una, lost) = (self.una, self.stats.retransmits > 0);
        let (srtt, least) = (self.rto.srtt(), self.min_rtt);
        let most = self.own.initial_pace.keep(una, lost, || queue_stands(srtt, least));
        if most != Rate::NONE {
            let control = &mut self.chain.control;
            control.pacing = control.pacing.min(most);
        }
    }
}

/// Whether a queue stands, by the delay at which HyStart++ leaves slow start.
fn queue_stands(srtt: u64, least: u64) -> bool {
    srtt >= least + (least / 8).clamp(STANDING[0], STANDING[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_queue_stands_an_eighth_above_the_least_round_trip_four_to_sixteen_milliseconds() {
        let delay = |least: u64| (0..20 * MS).step_by(1000).find(|delay| queue_stands(least + delay, least));
        assert_eq!([10, 50, 400].map(|ms| delay(ms * MS)), [Some(4 * MS), Some(6_250_000), Some(16 * MS)]);
    }

    fn pace() -> InitialPace {
        InitialPace { rate: Rate(72_000), first: 10, ..InitialPace::default() }
    }

    #[test]
    fn a_pace_ends_with_the_first_window_where_no_queue_stands() {
        let mut pace = pace();
        assert_eq!(pace.keep(9, false, || panic!("the first window is on its way")), Rate(72_000));
        // A loss within the first window does not end it before that window is acknowledged.
        assert_eq!(pace.keep(9, true, || panic!("the first window is on its way")), Rate(72_000));
        assert_eq!(pace.keep(10, false, || false), Rate::NONE);
        assert!(!pace.is_kept());
    }

    #[test]
    fn a_confirmed_pace_gets_faster_by_an_eighth_each_third_window_and_takes_a_step_back_for_a_queue() {
        let mut pace = pace();
        assert_eq!(pace.keep(10, false, || true), Rate(72_000));
        // The queue is asked for once in a window.
        assert_eq!(pace.keep(15, false, || panic!("asked before")), Rate(72_000));
        let mut after = |windows: u32, stands: bool| pace.keep(windows * 10, false, || stands).0;
        assert_eq!(
            [after(2, false), after(3, false), after(5, false), after(6, false)],
            [72_000, 81_000, 81_000, 91_125]
        );
        // 91 125 less a ninth is 81 000, and that less a ninth is 72 000; below that there is no step.
        assert_eq!([after(7, true), after(8, true), after(9, true)], [81_000, 72_000, 72_000]);
    }

    #[test]
    fn a_confirmed_pace_ends_with_a_loss_or_after_64_windows() {
        for (windows, lost, kept) in [(2, true, false), (63, false, true), (64, false, false)] {
            let mut pace = pace();
            assert_eq!(pace.keep(10, false, || true), Rate(72_000));
            assert_eq!(pace.keep(windows * 10, lost, || true) != Rate::NONE, kept, "{windows} {lost}");
        }
    }
}
