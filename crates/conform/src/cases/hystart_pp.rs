//! RFC 9406, HyStart++.

use firstflight_contract::Nanos;

use super::{Case, Found, Kept, Run};
use crate::controller::{Broken, Controller};
use crate::pipe::{Flight, MSS, Path, run};

const NONE: &dyn Fn(u32) -> Option<u64> = &|_| None;
const NEVER: &dyn Fn(u32) -> bool = &|_| false;

/// Flights whose round trips in microseconds are `rtts`; the last holds on.
fn flights(
    controller: &mut dyn Controller,
    rtts: &[u64],
    each: usize,
    count: u32,
) -> Result<Vec<Flight>, Broken> {
    let rtt = |flight: u32| Nanos::from_micros(rtts[(flight as usize).min(rtts.len() - 1)]);
    run(controller, &Path { rtt: &rtt, each, lost: NONE, silent: NEVER }, count)
}

fn kept(holds: bool, found: String) -> Found {
    Ok((if holds { Kept::Kept } else { Kept::Violated }, found))
}

/// Growth of a flight, as a text.
fn grown(flight: &Flight) -> String {
    format!("{:.3} of the acknowledged bytes", flight.share())
}

/// Growth a byte that counts as slow start, and as Conservative Slow Start with a divisor of two or more.
const FULL: f64 = 0.99;
const SLOW: f64 = 0.51;

/// A rise of the round trip from `last` to `last + rise` microseconds in the third flight: growth after its eighth sample.
fn after_a_rise(controller: &mut dyn Controller, last: u64, rise: u64) -> Result<f64, Broken> {
    let flights = flights(controller, &[last, last, last + rise], 1, 3)?;
    Ok(flights.get(2).and_then(Flight::late_share).unwrap_or_default())
}

fn keeps_on(controller: &mut dyn Controller, last: u64, rise: u64) -> Found {
    let share = after_a_rise(controller, last, rise)?;
    kept(
        share >= FULL,
        format!("{last} us, then {} us: growth {share:.3} of the acknowledged bytes", last + rise),
    )
}

fn slows(controller: &mut dyn Controller, last: u64, rise: u64) -> Found {
    let share = after_a_rise(controller, last, rise)?;
    kept(
        share <= SLOW,
        format!("{last} us, then {} us: growth {share:.3} of the acknowledged bytes", last + rise),
    )
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "HSPP-01",
        source: "RFC 9406 section 4.2",
        sentence: "a round is compared with the round before it: four rises of 10 % each leave slow start alone",
        run: Run::Any(|controller| {
            let flights = flights(controller, &[100_000, 110_000, 121_000, 133_000, 146_000], 1, 5)?;
            let least = flights.iter().map(Flight::share).fold(f64::MAX, f64::min);
            kept(least >= FULL, format!("least growth of a flight {least:.3} of the acknowledged bytes"))
        }),
    },
    Case {
        name: "HSPP-02",
        source: "RFC 9406 section 4.2",
        sentence: "an acknowledgement of 20 segments adds L = 8 segments at most, unless the sender paces",
        run: Run::Any(|controller| {
            let flights = flights(controller, &[100_000], 20, 3)?;
            let most = flights.iter().map(|flight| flight.most).max().unwrap_or(0);
            let found = format!("{:.1} segments", most as f64 / MSS as f64);
            Ok(match most {
                most if most <= 8 * MSS => (Kept::Kept, found),
                _ => (Kept::Allowed, format!("{found}: section 4.3 allows it to a sender that paces")),
            })
        }),
    },
    Case {
        name: "HSPP-03",
        source: "RFC 9406 section 4.2",
        sentence: "a round of fewer than eight samples ends nothing, whatever its round trips",
        run: Run::Any(|controller| {
            // Flights of 10 and 20 packets, four an acknowledgement: three and five samples.
            let flights = flights(controller, &[100_000, 200_000], 4, 2)?;
            let share = flights.get(1).map(Flight::share).unwrap_or_default();
            kept(
                share >= FULL,
                format!("five samples of twice the round trip: growth {share:.3} of the acknowledged bytes"),
            )
        }),
    },
    Case {
        name: "HSPP-04a",
        source: "RFC 9406 section 4.2",
        sentence: "below a round trip of 32 ms, a rise of less than 4 ms does not slow growth",
        run: Run::Any(|controller| keeps_on(controller, 20_000, 3_999)),
    },
    Case {
        name: "HSPP-04b",
        source: "RFC 9406 section 4.2",
        sentence: "below a round trip of 32 ms, a rise of 4 ms slows growth",
        run: Run::Any(|controller| slows(controller, 20_000, 4_000)),
    },
    Case {
        name: "HSPP-05a",
        source: "RFC 9406 section 4.2",
        sentence: "from 32 to 128 ms, a rise of less than an eighth does not slow growth",
        run: Run::Any(|controller| keeps_on(controller, 80_000, 9_999)),
    },
    Case {
        name: "HSPP-05b",
        source: "RFC 9406 section 4.2",
        sentence: "from 32 to 128 ms, a rise of an eighth slows growth",
        run: Run::Any(|controller| slows(controller, 80_000, 10_000)),
    },
    Case {
        name: "HSPP-06a",
        source: "RFC 9406 section 4.2",
        sentence: "above 128 ms, a rise of less than 16 ms does not slow growth",
        run: Run::Any(|controller| keeps_on(controller, 200_000, 15_999)),
    },
    Case {
        name: "HSPP-06b",
        source: "RFC 9406 section 4.2",
        sentence: "above 128 ms, a rise of 16 ms slows growth",
        run: Run::Any(|controller| slows(controller, 200_000, 16_000)),
    },
    Case {
        name: "HSPP-07",
        source: "RFC 9406 section 4.2",
        sentence: "the eighth sample decides: the acknowledgements before it count in full",
        run: Run::Any(|controller| {
            let flights = flights(controller, &[100_000, 100_000, 120_000], 1, 3)?;
            let flight = flights.get(2).copied().unwrap_or_default();
            // The eighth may count in full or not: the text leaves the order of growth and sample open.
            let full = flight.early.0 >= 7 * MSS;
            let slow = flight.late_share().is_some_and(|share| share <= SLOW);
            let early = flight.early.0 as f64 / MSS as f64;
            kept(
                full && slow,
                format!(
                    "{early:.2} segments by eight samples, then {:.3} a byte",
                    flight.late_share().unwrap_or_default()
                ),
            )
        }),
    },
    Case {
        name: "HSPP-08",
        source: "RFC 9406 section 4.2",
        sentence: "in Conservative Slow Start growth is a quarter, CSS_GROWTH_DIVISOR = 4",
        run: Run::Any(|controller| {
            let flights = flights(controller, &[100_000, 100_000, 120_000], 1, 5)?;
            let share = flights.get(3).map(Flight::share).unwrap_or_default();
            Ok(match share {
                share if (share - 0.25).abs() <= 0.002 => {
                    (Kept::Kept, format!("growth {share:.3} of the acknowledged bytes"))
                }
                share if share <= SLOW => (
                    Kept::Allowed,
                    format!("growth {share:.3}: section 4.3 allows other divisors of 2 or more"),
                ),
                share => (Kept::Violated, format!("growth {share:.3} of the acknowledged bytes")),
            })
        }),
    },
    Case {
        name: "HSPP-09",
        source: "RFC 9406 section 4.2",
        sentence: "eight samples below the round trip that led into Conservative Slow Start lead back to slow start",
        run: Run::Any(|controller| {
            let flights = flights(controller, &[100_000, 100_000, 120_000, 100_000], 1, 5)?;
            let share = flights.get(4).map(Flight::share).unwrap_or_default();
            kept(share >= FULL, format!("two flights later: growth {share:.3} of the acknowledged bytes"))
        }),
    },
    Case {
        name: "HSPP-10",
        source: "RFC 9406 section 4.2",
        sentence: "after five rounds of Conservative Slow Start, the first one in part, congestion avoidance begins with that window",
        run: Run::Any(|controller| {
            let flights = flights(controller, &[100_000, 100_000, 120_000], 1, 9)?;
            let (last, later) =
                (flights.get(6).copied().unwrap_or_default(), flights.get(8).copied().unwrap_or_default());
            // The partial round is flight 2; flights 3 to 6 are the other four.
            let slow = (0.2..=SLOW).contains(&last.share());
            let ended = later.after >= later.before && later.share() < 0.1;
            kept(
                slow && ended,
                format!("the fifth round grows by {}, the seventh by {}", grown(&last), grown(&later)),
            )
        }),
    },
    Case {
        name: "HSPP-11",
        source: "RFC 9406 section 4.2",
        sentence: "a loss ends slow start at once",
        run: Run::Any(|controller| {
            let lost = |flight: u32| (flight == 2).then_some(0);
            let rtt = |_: u32| Nanos::from_millis(100);
            let flights = run(controller, &Path { rtt: &rtt, each: 1, lost: &lost, silent: NEVER }, 6)?;
            let (before, last) =
                (flights.get(1).copied().unwrap_or_default(), flights.get(5).copied().unwrap_or_default());
            let found = format!(
                "window {} before the loss, {} two flights later, then growth by {}",
                before.after,
                last.before,
                grown(&last)
            );
            kept(last.before < 2 * before.after && last.share() < 0.1, found)
        }),
    },
    Case {
        name: "HSPP-12",
        source: "RFC 9406 section 4.3",
        sentence: "slow start after a timeout is plain: a rise of the round trip does not slow it",
        run: Run::Any(|controller| {
            let silent = |flight: u32| flight == 4;
            let rtt = |flight: u32| Nanos::from_millis(if flight >= 8 { 130 } else { 100 });
            let flights = run(controller, &Path { rtt: &rtt, each: 1, lost: NONE, silent: &silent }, 9)?;
            let (before, risen) =
                (flights.get(7).copied().unwrap_or_default(), flights.get(8).copied().unwrap_or_default());
            let found = format!(
                "growth {:.3} before the rise, {:.3} after it",
                before.share(),
                risen.late_share().unwrap_or_default()
            );
            Ok(match risen.late_share() {
                Some(share) if share >= FULL => (Kept::Kept, found),
                _ if before.share() < FULL => {
                    (Kept::Allowed, format!("{found}: the threshold ended slow start before"))
                }
                _ => (Kept::Allowed, format!("{found}: the sentence is a SHOULD")),
            })
        }),
    },
];
