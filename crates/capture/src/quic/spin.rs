//! Round trips by the spin bit (RFC 9000 section 17.4): the server returns the bit that it received, the client the other one.

use firstflight_contract::Nanos;

use crate::opening::Datagram;

/// Turns of each side that show that both ends take part. An end that does not has one value, or a random one for each packet.
const FEW: usize = 3;

/// Shortest time from a turn of the spin bit in the data to the next turn of the other side, which its arrival causes; `None` if the bits
/// do not turn in turns.
pub(super) fn shortest_spin(datagrams: &[Datagram], is_data: impl Fn(&Datagram) -> bool) -> Option<Nanos> {
    let mut latest = [None; 2];
    let mut turns: Vec<(Nanos, bool)> = vec![];
    for one in datagrams.iter().filter(|one| !one.long) {
        let data = is_data(one);
        let before = latest[usize::from(data)].replace(one.spin);
        if before.is_some_and(|before| before != one.spin) {
            turns.push((one.at, data));
        }
    }
    let of = |data: bool| turns.iter().filter(|(_, of)| *of == data).count();
    let alternate = turns.windows(2).all(|pair| pair[0].1 != pair[1].1);
    if of(true) < FEW || of(false) < FEW || !alternate {
        return None;
    }
    let answers = turns.windows(2).filter(|pair| pair[0].1);
    answers.map(|pair| pair[1].0.saturating_sub(pair[0].0)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagrams at these milliseconds, of the data or not, with these spin bits.
    fn datagrams(all: &[(u64, bool, bool)]) -> Vec<Datagram> {
        let one = |&(ms, data, spin): &(u64, bool, bool)| Datagram {
            at: Nanos::from_millis(ms),
            size: 1200,
            hash: 0,
            from_client: !data,
            long: false,
            spin,
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn a_turn_of_the_data_and_that_of_the_answer_are_a_round_trip() {
        let turning = datagrams(&[
            (0, true, false),
            (30, false, true),
            (50, true, true),
            (81, false, false),
            (100, true, false),
            (101, true, false),
            (132, false, true),
            (150, true, true),
            (182, false, false),
        ]);
        // Of 50 to 81 ms, 100 to 132 ms, and 150 to 182 ms.
        assert_eq!(shortest_spin(&turning, |one| !one.from_client), Some(Nanos::from_millis(31)));
        let fixed = datagrams(&[(0, true, false), (30, false, true), (50, true, false), (81, false, true)]);
        assert_eq!(shortest_spin(&fixed, |one| !one.from_client), None);
        let random: Vec<_> = (0..20).map(|ms| (ms, ms % 2 == 0, ms % 3 == 0)).collect();
        assert_eq!(shortest_spin(&datagrams(&random), |one| !one.from_client), None);
    }
}
