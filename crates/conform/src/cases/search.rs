//! SEARCH, draft-chung-ccwg-search-09: the sentences that show on a path without a queue. The exit itself needs
//! ACKs at the rate of a queue, and shows in vectors alone, with the arithmetic of bins.

use firstflight_contract::Nanos;

use super::{Case, Found, Kept, Run};
use crate::controller::{Broken, Controller};
use crate::pipe::{Flight, Path, run};

const SOURCE: &str = "draft-chung-ccwg-search-09";
/// Growth in parts of the acknowledged bytes that counts as slow start, and as its end.
const FULL: f64 = 0.99;
const ENDED: f64 = 0.1;
/// Flights of a case.
const FLIGHTS: u32 = 9;

/// Flights on a path that is full from a flight on, with the round trip of 100 ms; and one packet of a flight is lost, if stated.
fn flights(controller: &mut dyn Controller, full: u32, lost: Option<u32>) -> Result<Vec<Flight>, Broken> {
    let rtt = |flight: u32| Nanos::from_millis(100 << flight.saturating_sub(full).min(6));
    let lost = |flight: u32| (Some(flight) == lost).then_some(0);
    run(controller, &Path { rtt: &rtt, each: 1, lost: &lost, silent: &|_| false }, FLIGHTS)
}

fn found(holds: bool, found: String) -> Found {
    Ok((if holds { Kept::Kept } else { Kept::Violated }, found))
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "SEARCH-05",
        source: SOURCE,
        sentence: "nothing is judged before ten bins, three and a half round trips, lie behind a round trip",
        run: Run::Any(|controller| {
            let flights = flights(controller, 0, None)?;
            let share = flights.get(1).map(Flight::share).unwrap_or_default();
            found(share >= FULL, format!("the second flight grows by {share:.3} of the acknowledged bytes"))
        }),
    },
    Case {
        name: "SEARCH-08b",
        source: SOURCE,
        sentence: "slow start goes on while deliveries follow what was sent",
        run: Run::Any(|controller| {
            let flights = flights(controller, FLIGHTS, None)?;
            let least = flights.iter().map(Flight::share).fold(f64::MAX, f64::min);
            found(least >= FULL, format!("least growth of a flight {least:.3} of the acknowledged bytes"))
        }),
    },
    Case {
        name: "SEARCH-13",
        source: SOURCE,
        sentence: "a loss ends slow start before",
        run: Run::Any(|controller| {
            let flights = flights(controller, FLIGHTS, Some(2))?;
            let last = flights.get(5).copied().unwrap_or_default();
            found(last.share() < ENDED, format!("three flights later growth is {:.3}", last.share()))
        }),
    },
];
