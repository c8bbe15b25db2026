//! The networks of clients in a capture, each with the connections that show its path.

use firstflight_capture::{Capture, Connection, Group, Sizes, bottlenecks};

use firstflight_results::ConnectionResult;

use crate::connections::largest;
use crate::draw::{Traffic, draws, shares};
use crate::input::{Input, Known};
use crate::request::Request;
use crate::weights::near;

/// Networks that are answered. Each takes seconds.
const MOST: usize = 12;

/// Networks that are answered because they have most data, where the others are drawn.
const CERTAIN: usize = 6;

/// Share of the data above which networks beyond the [`MOST`] with most data are drawn: with less they hardly change the mix.
const MATERIAL: f64 = 0.1;

/// Connections of a network that show its path: those with most data.
const MOST_CONNECTIONS: usize = 16;

/// Connections of each network that are shown beside their re-runs: those with most data. A page with all of them would have
/// megabytes.
const SHOWN: usize = 3;

/// A network with less data than this share of that of the first is not answered: its weight could not be seen in the result.
const LEAST_SHARE: f64 = 1e-3;

/// Least number of replications of a network, unless fewer are asked for.
const LEAST_RUNS: u32 = 12;

/// Replications of a network over those that the mix draws from it. Networks without an answer leave their shares to others.
const SPARE: f64 = 2.0;

/// The networks of a capture.
pub(super) struct Networks<'a> {
    /// Those that are answered, by their data, the most first.
    pub(super) answered: Vec<Network<'a>>,
    /// Number of further networks, and their share of the captured data.
    pub(super) further: (usize, f64),
    /// Number of those answered that were drawn, and so stand for the further networks.
    pub(super) drawn: usize,
}

/// A network of clients whose connections crossed one bottleneck.
pub(super) struct Network<'a> {
    /// Its address and prefix, and the number of its bottleneck if there are several.
    pub(super) name: String,
    /// Its address and prefix, if it has a single bottleneck.
    pub(super) route: Option<String>,
    /// Its largest connections, by the time of their first packet.
    pub(super) connections: Vec<&'a Connection>,
    /// Connections that carried data.
    pub(super) count: u64,
    /// Data bytes of all of them, in both directions.
    pub(super) bytes: u64,
    /// Transfers of its client network.
    transfers: &'a Sizes,
    /// Share of them that crossed its bottleneck.
    share: f64,
    /// Number of networks that it stands for in the mix, itself among them; not a whole number.
    pub(super) weight: f64,
    /// Replications of each scheme at each size.
    pub(super) runs: u32,
    /// Name of the capture.
    pub(super) file: &'a str,
    /// Values of the path that the user knows.
    pub(super) known: &'a Known,
}

impl<'a> Networks<'a> {
    /// The networks of the request's capture; `None` unless there are several with enough data.
    pub(super) fn of(request: &'a Request) -> Option<Self> {
        let Input::Capture { file, capture, known, .. } = &request.input else { return None };
        let all: u64 = capture.groups.iter().map(Group::bytes).sum();
        let choice = choose(&capture.groups.iter().map(Size::of).collect::<Vec<_>>());
        if choice.chosen.len() < 2 {
            return None;
        }
        let chosen = choice.chosen.iter().map(|&(index, weight)| (&capture.groups[index], weight));
        let paths = chosen.flat_map(|(group, weight)| paths(capture, group, weight, &file.name, known));
        let mut answered: Vec<Network<'a>> = paths.collect();
        answered.sort_by(|a, b| b.data().total_cmp(&a.data()));
        let covered = |answered: &[Network<'_>]| answered.iter().map(|one| one.bytes as f64).sum::<f64>();
        let paths = answered.len();
        answered.truncate(MOST);
        give_runs(&mut answered, request);
        let beyond = capture.groups.len() - choice.chosen.len() + paths - answered.len();
        let share = (1.0 - covered(&answered) / all as f64).max(0.0);
        Some(Self { answered, further: (beyond, share), drawn: choice.drawn })
    }
}

/// Gives each network as many replications as the mix draws from it, with some to spare.
fn give_runs(networks: &mut [Network<'_>], request: &Request) {
    for &size in &request.sizes {
        let traffic: Vec<Traffic> = networks.iter().map(|it| it.traffic(size)).collect();
        for (network, share) in networks.iter_mut().zip(shares(&traffic)) {
            network.runs = network.runs.max(runs(share, request.runs.max(1)));
        }
    }
}

/// Replications of a network that has this share of the mix, which draws `all`.
fn runs(share: f64, all: u32) -> u32 {
    ((SPARE * share * f64::from(all)).ceil() as u32).clamp(LEAST_RUNS.min(all), all)
}

/// Traffic of a network, for the choice of those that are answered.
#[derive(Clone, Copy, Debug)]
struct Size {
    bytes: f64,
    transfers: f64,
    /// Whether packets of it are kept, so that its path can be inferred.
    shown: bool,
}

impl Size {
    fn of(group: &Group) -> Self {
        let shown = group.network.is_some() && !group.kept.is_empty();
        Self { bytes: group.bytes() as f64, transfers: group.transfers().count() as f64, shown }
    }
}

/// Networks to answer.
#[derive(Debug, PartialEq)]
struct Choice {
    /// Index of each, and the number of networks that it stands for.
    chosen: Vec<(usize, f64)>,
    /// Number of those that were drawn.
    drawn: usize,
}

/// Chooses among networks in the order of their data, the most first. If those with most data leave a material share to others,
/// half of the places go to a sample of the others, drawn with probabilities proportional to their transfers (M. H. Hansen and W. N.
/// Hurwitz, 1943): each place then stands for the same number of transfers, so that the mix is that of all networks.
fn choose(networks: &[Size]) -> Choice {
    let of = |some: &[usize]| some.iter().map(|&index| networks[index].bytes).sum::<f64>();
    let shown: Vec<usize> = (0..networks.len()).filter(|&index| networks[index].shown).collect();
    let most = shown.first().map_or(0.0, |&index| networks[index].bytes);
    let enough = shown.iter().filter(|&&index| networks[index].bytes >= LEAST_SHARE * most).count();
    let all: f64 = networks.iter().map(|one| one.bytes).sum();
    let first = &shown[..enough.min(MOST)];
    let whole = |some: &[usize]| some.iter().map(|&index| (index, 1.0)).collect::<Vec<_>>();
    let (certain, others) = shown.split_at(enough.min(CERTAIN));
    let known: f64 = certain.iter().map(|&index| networks[index].transfers).sum();
    let rest = networks.iter().map(|one| one.transfers).sum::<f64>() - known;
    let sum: f64 = others.iter().map(|&index| networks[index].transfers).sum();
    if of(first) >= (1.0 - MATERIAL) * all || sum == 0.0 {
        return Choice { chosen: whole(first), drawn: 0 };
    }
    let shares: Vec<f64> = others.iter().map(|&index| networks[index].transfers / sum).collect();
    let places = MOST - certain.len();
    let mut chosen = whole(certain);
    for draw in draws(&shares, places as u32, &vec![1; shares.len()]) {
        let index = others[draw.network];
        let each = rest / places as f64 / networks[index].transfers;
        match chosen.last_mut() {
            Some((last, weight)) if *last == index => *weight += each,
            _ => chosen.push((index, each)),
        }
    }
    Choice { drawn: chosen.len() - certain.len(), chosen }
}

/// The paths of a network, each with its share of the network's data. Data, connections and transfers are known of the whole
/// network. Each path has the share of them that its connections have of the data.
fn paths<'a>(
    capture: &'a Capture,
    group: &'a Group,
    weight: f64,
    file: &'a str,
    known: &'a Known,
) -> Vec<Network<'a>> {
    let mut kept = group.kept.clone();
    kept.sort_by_key(|&index| std::cmp::Reverse(capture.connections[index].observed.bytes));
    kept.truncate(MOST_CONNECTIONS);
    kept.sort_unstable();
    let connections: Vec<&Connection> =
        kept.iter().map(|&index| capture.connections[index].first_transfer()).collect();
    let data = |some: &[&Connection]| some.iter().map(|one| one.observed.bytes.max(1) as f64).sum::<f64>();
    let all = data(&connections);
    let bottlenecks = bottlenecks(&connections);
    let network = group.network.map_or_else(String::new, |network| network.to_string());
    let single = bottlenecks.len() == 1;
    let path = |(connections, number): (Vec<&'a Connection>, usize)| {
        let share = if single { 1.0 } else { data(&connections) / all };
        let of = |total: u64| (total as f64 * share).round() as u64;
        Network {
            name: if single { network.clone() } else { format!("{network} path {number}") },
            route: single.then(|| network.clone()),
            connections,
            count: if single { group.connections } else { of(group.connections).max(1) },
            bytes: if single { group.bytes() } else { of(group.bytes()) },
            transfers: group.transfers(),
            share,
            weight,
            runs: 1,
            file,
            known,
        }
    };
    bottlenecks.into_iter().zip(1..).map(path).collect()
}

impl Network<'_> {
    /// Indices of the connections that a report of all networks shows, ascending.
    pub(super) fn shown(&self) -> Vec<usize> {
        let mut shown = largest(&self.connections, (0..self.connections.len()).collect());
        shown.truncate(SHOWN);
        shown.sort_unstable();
        shown
    }

    /// Whether these are the results of the connections shown.
    pub(super) fn shows(&self, results: &[ConnectionResult]) -> bool {
        let names = results.iter().map(|result| result.name.as_str());
        names.eq(self.shown().into_iter().map(|index| self.connections[index].name()))
    }

    /// Data bytes of the networks that it stands for.
    pub(super) fn data(&self) -> f64 {
        self.bytes as f64 * self.weight
    }

    /// Traffic of about `size` to the networks that it stands for.
    pub(super) fn traffic(&self, size: u64) -> Traffic {
        Traffic { transfers: self.transfers_near(size) * self.weight, bytes: self.data() }
    }

    /// Number of its transfers whose size is within a factor of the square root of ten of `size`.
    pub(super) fn transfers_near(&self, size: u64) -> f64 {
        count_near(self.transfers, size) as f64 * self.share
    }
}

/// Transfers whose size is within a factor of [`near`] of `size`. The mean of a class of sizes stands for all of its transfers.
fn count_near(sizes: &Sizes, size: u64) -> u64 {
    let within = |mean: f64| mean >= size as f64 / near() && mean <= size as f64 * near();
    let classes = sizes.classes().filter(|class| within(class.bytes as f64 / class.count as f64));
    classes.map(|class| class.count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(bytes: f64, transfers: f64) -> Size {
        Size { bytes, transfers, shown: true }
    }

    #[test]
    fn few_networks_and_those_with_nearly_all_data_stand_for_themselves() {
        let chosen = |networks: &[Size]| choose(networks).chosen;
        assert_eq!(chosen(&[size(9.0, 1.0), size(5.0, 4.0)]), [(0, 1.0), (1, 1.0)]);
        // A thousandth of the first is enough, less is not.
        assert_eq!(chosen(&[size(1000.0, 1.0), size(1.0, 1.0), size(0.9, 1.0)]), [(0, 1.0), (1, 1.0)]);
        // Twelve with 960 of 1000 bytes, and forty with the rest.
        let networks = [vec![size(80.0, 8.0); 12], vec![size(1.0, 1.0); 40]].concat();
        let expected: Vec<(usize, f64)> = (0..12).map(|index| (index, 1.0)).collect();
        assert_eq!(choose(&networks), Choice { chosen: expected, drawn: 0 });
        // A network whose packets are not kept cannot be answered.
        let hidden = Size { shown: false, ..size(9.0, 1.0) };
        assert_eq!(chosen(&[hidden, size(5.0, 1.0), size(4.0, 1.0)]), [(1, 1.0), (2, 1.0)]);
    }

    #[test]
    fn a_network_has_twice_the_replications_that_the_mix_draws_from_it_within_bounds() {
        assert_eq!(runs(0.3, 30), 18);
        assert_eq!((runs(0.01, 30), runs(0.9, 30)), (12, 30));
        assert_eq!(runs(0.01, 8), 8);
        assert_eq!(runs(0.05, 1000), 100);
    }

    #[test]
    fn many_equal_networks_are_sampled_and_each_place_stands_for_a_sixth_of_the_rest() {
        // Six of a hundred are certain. Of the other 94 the middles of sixths are drawn: 94 * (k + 0.5) / 6 is 7.8, 23.5, 39.2,
        // 54.8, 70.5 and 86.2, each for 94 / 6 networks.
        let Choice { chosen, drawn } = choose(&[size(100.0, 10.0); 100]);
        assert_eq!(drawn, 6);
        let indices: Vec<usize> = chosen.iter().map(|one| one.0).collect();
        assert_eq!(indices, [0, 1, 2, 3, 4, 5, 13, 29, 45, 60, 76, 92]);
        assert!(chosen[6..].iter().all(|one| (one.1 - 94.0 / 6.0).abs() < 1e-9), "{chosen:?}");
    }

    #[test]
    fn a_sample_stands_for_all_transfers_and_one_with_most_of_them_has_several_places() {
        // Behind six with the same data: one with 300 transfers, 30 with 10 each, and 60 transfers of networks that are not kept.
        // The first 300 of 600 transfers take three of six places, each of which stands for 660 / 6 = 110.
        let mut networks = vec![size(100.0, 1.0); 6];
        networks.push(size(90.0, 300.0));
        networks.extend([size(80.0, 10.0); 30]);
        networks.extend([Size { shown: false, ..size(70.0, 20.0) }; 3]);
        let Choice { chosen, drawn } = choose(&networks);
        assert_eq!((chosen[6].0, drawn), (6, 4));
        assert!((chosen[6].1 - 1.1).abs() < 1e-9, "{chosen:?}");
        let transfers: f64 =
            chosen[6..].iter().map(|&(index, weight)| networks[index].transfers * weight).sum();
        assert!((transfers - 660.0).abs() < 1e-9, "{chosen:?}");
    }

    #[test]
    fn small_networks_beside_a_large_one_are_drawn_if_they_are_many() {
        // Each has less than a thousandth of the first; together they have half of the data.
        let networks = [vec![size(1000.0, 1.0)], vec![size(0.5, 1.0); 2000]].concat();
        let Choice { chosen, drawn } = choose(&networks);
        assert_eq!((chosen.len(), drawn, chosen[0]), (12, 11, (0, 1.0)));
        assert!(chosen[1..].iter().all(|one| (one.1 - 2000.0 / 11.0).abs() < 1e-9), "{chosen:?}");
    }
}
