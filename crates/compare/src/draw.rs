//! Parts of the mix of several networks: their shares, and the replications that are drawn from them.

use firstflight_results::{Harm, Risk};

/// Captured transfers of about a size below which the share of a network is that of its data.
const FEW: f64 = 10.0;

/// Traffic to a network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Traffic {
    /// Transfers of about the size.
    pub(crate) transfers: f64,
    /// Data bytes.
    pub(crate) bytes: f64,
}

/// The share of each network in the mix: of the transfers of about the size, or of the data if there are fewer than [`FEW`]. The
/// shares add up to one, unless there is no data.
pub(crate) fn shares(networks: &[Traffic]) -> Vec<f64> {
    let sum = |of: fn(&Traffic) -> f64| networks.iter().map(of).sum::<f64>();
    let (transfers, bytes) = (sum(|it| it.transfers), sum(|it| it.bytes));
    let share = |it: &Traffic| {
        let share = if transfers >= FEW { it.transfers / transfers } else { it.bytes / bytes };
        if share.is_finite() { share.min(1.0) } else { 0.0 }
    };
    networks.iter().map(share).collect()
}

/// A replication of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    /// Index of the network.
    pub(crate) network: usize,
    /// Number of the replication.
    pub(crate) replication: u32,
}

/// `count` draws from networks with these shares and numbers of replications; none without a share. Evenly spread places among all
/// shares draw each network as often as its share asks for, and evenly spread replications of it, each at most once if there are
/// enough (systematic sampling, as in `Explanation::at`).
pub(crate) fn draws(shares: &[f64], count: u32, replications: &[u32]) -> Vec<Draw> {
    let Some(last) = shares.iter().rposition(|&share| share > 0.0) else { return vec![] };
    let network = |index: u32| {
        let place = (f64::from(index) + 0.5) / f64::from(count);
        let mut sum = 0.0;
        let found = shares.iter().position(|share| {
            sum += share;
            sum > place
        });
        found.unwrap_or(last)
    };
    let networks: Vec<usize> = (0..count).map(network).collect();
    let of_network = |own: &[usize]| {
        let (times, network) = (own.len() as u64, own[0]);
        let all = u64::from(replications[network]);
        let replication = |number: u64| ((2 * number + 1) * all / (2 * times)) as u32;
        (0..times).map(|number| Draw { network, replication: replication(number) }).collect::<Vec<_>>()
    };
    networks.chunk_by(|a, b| a == b).flat_map(of_network).collect()
}

/// Harm in the mix: that of each network by its share; `None` if it is unknown of any. Networks without a share do not count. The
/// replications of different networks are independent, so that the squares of the distances from the values to the ends of their
/// intervals add up.
pub(super) fn harm(networks: &[(f64, Option<Harm>)]) -> Option<Harm> {
    let counted: Vec<&(f64, Option<Harm>)> = networks.iter().filter(|(share, _)| *share > 0.0).collect();
    let total: f64 = counted.iter().map(|(share, _)| share).sum();
    if counted.is_empty() {
        return None;
    }
    let (mut values, mut squares, mut replications) = ([0.0; 2], [[0.0; 2]; 2], 0);
    for (share, harm) in counted {
        let (harm, share) = ((*harm)?, share / total);
        replications += harm.replications;
        for (place, (value, interval)) in harm.each().into_iter().enumerate() {
            values[place] += share * value;
            for (square, end) in squares[place].iter_mut().zip(interval) {
                *square += (share * (end - value)) * (share * (end - value));
            }
        }
    }
    let [bulk, request_response] = values;
    let interval = |place: usize| {
        let [low, high] = squares[place].map(f64::sqrt);
        [values[place] - low, values[place] + high]
    };
    Some(Harm {
        bulk,
        bulk_ci95: interval(0),
        request_response,
        request_response_ci95: interval(1),
        replications,
    })
}

/// Risks in the mix: the probability of each is the sum over the networks of share times probability, and its time the mean
/// over the transfers that meet it.
pub(super) fn risks(networks: &[(f64, &[Risk])]) -> Vec<Risk> {
    let mut all: Vec<Risk> = vec![];
    for (share, risks) in networks.iter().filter(|(share, _)| *share > 0.0) {
        for risk in *risks {
            let probability = share * risk.probability;
            match all.iter_mut().find(|it| it.what == risk.what) {
                Some(sum) => {
                    let both = sum.probability + probability;
                    let time = sum.completion_s * sum.probability + risk.completion_s * probability;
                    sum.completion_s = if both > 0.0 { time / both } else { sum.completion_s };
                    sum.probability = both.min(1.0);
                }
                None => all.push(Risk { probability, ..risk.clone() }),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(transfers: f64, bytes: f64) -> Traffic {
        Traffic { transfers, bytes }
    }

    #[test]
    fn a_share_is_that_of_the_transfers_or_of_the_data_if_they_are_few() {
        let networks = [traffic(6.0, 100.0), traffic(3.0, 700.0), traffic(3.0, 200.0)];
        assert_eq!(shares(&networks), [0.5, 0.25, 0.25]);
        // 9 transfers are fewer than ten
        let networks = [traffic(6.0, 100.0), traffic(3.0, 700.0), traffic(0.0, 200.0)];
        assert_eq!(shares(&networks), [0.1, 0.7, 0.2]);
        assert_eq!(shares(&[Traffic::default()]), [0.0]);
    }

    #[test]
    fn ten_draws_from_shares_of_a_half_a_quarter_and_a_quarter() {
        // The places are 0.05, 0.15 to 0.95. Five lie below 0.5, two (0.55, 0.65) below 0.75 besides 0.75 itself, which is not
        // below, and so the last three are of the third network. Of ten replications five draws take the middles of fifths: 1, 3,
        // 5, 7, 9; two those of halves: 2, 7; three those of thirds: 1.67, 5, 8.33.
        let drawn = draws(&[0.5, 0.25, 0.25], 10, &[10; 3]);
        let of = |network: usize| -> Vec<u32> {
            drawn.iter().filter(|it| it.network == network).map(|it| it.replication).collect()
        };
        assert_eq!(of(0), [1, 3, 5, 7, 9]);
        assert_eq!(of(1), [2, 7]);
        assert_eq!(of(2), [1, 5, 8]);
        assert_eq!(drawn.len(), 10);
        // The second has six replications, of which the middles of halves are 1.5 and 4.5; the third has two for three draws.
        let drawn = draws(&[0.5, 0.25, 0.25], 10, &[10, 6, 2]);
        let replications: Vec<u32> = drawn.iter().map(|it| it.replication).collect();
        assert_eq!(replications[5..], [1, 4, 0, 1, 1]);
    }

    #[test]
    fn a_single_network_is_drawn_with_each_of_its_replications_once() {
        let drawn = draws(&[0.0, 1.0, 0.0], 30, &[30; 3]);
        let expected: Vec<Draw> = (0..30).map(|replication| Draw { network: 1, replication }).collect();
        assert_eq!(drawn, expected);
        assert_eq!(draws(&[0.0, 0.0], 30, &[30; 2]), []);
    }

    #[test]
    fn shares_whose_sum_is_rounded_below_one_draw_the_last_network_that_has_one() {
        let shares = [0.1; 3].iter().map(|it| it * 10.0 / 3.0 - 1e-9).chain([0.0]).collect::<Vec<f64>>();
        assert_eq!(draws(&shares, 1_000_000, &[1_000_000; 4]).last().map(|it| it.network), Some(2));
    }

    #[test]
    fn harm_is_averaged_by_share_and_unknown_if_it_is_of_a_network_with_a_share() {
        let of = |bulk: f64, request_response: f64, half: f64| {
            Some(Harm {
                bulk,
                bulk_ci95: [bulk - half, bulk + 2.0 * half],
                request_response,
                request_response_ci95: [request_response; 2],
                replications: 8,
            })
        };
        // 0.75 * 1 + 0.25 * 1.4 and 0.75 * 2 + 0.25 * 1. Below: sqrt((0.75 * 0.04)^2 + (0.25 * 0.16)^2) = 0.05, above twice that.
        let mean =
            harm(&[(0.75, of(1.0, 2.0, 0.04)), (0.25, of(1.4, 1.0, 0.16)), (0.0, None)]).expect("known");
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(mean.bulk, 1.1) && close(mean.request_response, 1.75), "{mean:?}");
        assert!(close(mean.bulk_ci95[0], 1.05) && close(mean.bulk_ci95[1], 1.2), "{mean:?}");
        assert_eq!((mean.request_response_ci95, mean.replications), ([1.75; 2], 16));
        assert_eq!(harm(&[(0.75, of(1.0, 2.0, 0.0)), (0.25, None)]), None);
        assert_eq!(harm(&[]), None);
    }

    #[test]
    fn a_risk_has_the_probability_of_the_networks_by_their_share() {
        let risk =
            |what: &str, probability, completion_s| Risk { what: what.into(), probability, completion_s };
        let (first, second) = ([risk("loss", 0.1, 2.0)], [risk("loss", 0.2, 4.0), risk("other", 0.5, 1.0)]);
        let all = risks(&[(0.8, &first), (0.1, &second), (0.1, &[])]);
        // 0.8 * 0.1 + 0.1 * 0.2 = 0.1; (0.08 * 2 + 0.02 * 4) / 0.1 = 2.4 s
        assert_eq!(all.len(), 2);
        assert!(
            (all[0].probability - 0.1).abs() < 1e-12 && (all[0].completion_s - 2.4).abs() < 1e-12,
            "{all:?}"
        );
        assert!((all[1].probability - 0.05).abs() < 1e-12 && all[1].completion_s == 1.0, "{all:?}");
    }
}
