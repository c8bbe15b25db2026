//! A log that is made up: sessions come as a Poisson process, each from one host of one network, and a session asks for
//! some pages. Networks are of Zipf popularity (G. Zipf; of web servers' clients: M. Arlitt, C. Williamson, "Web server
//! workload characterization", SIGMETRICS 1996). Each has a block of addresses and a bottleneck of its own, so that prefixes
//! longer than its block split it, and shorter ones join it with others.

use firstflight_scenario::seconds::Seconds;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};

use firstflight_contract::Nanos;
use firstflight_net::random::Stream;
use firstflight_scenario::Dist;

use super::Request;
use crate::draw::draw;

/// Addresses are those of 10.0.0.0/8.
const FIRST: u32 = 0x0a00_0000;
const ADDRESSES: u64 = 1 << 24;

/// How to make up a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// What every random stream derives from.
    pub seed: u64,
    /// How long it is.
    pub duration: Nanos,
    /// How many networks there are.
    pub networks: u32,
    /// `s`: the k-th most popular network has a share of sessions in proportion to k^-s; 0 makes all alike.
    pub zipf: f64,
    /// Lengths of the prefixes that networks have, 8 to 30 bits, and the share of networks of each; shares add up to 1.
    pub lengths: Vec<(u8, f64)>,
    /// Hosts of a network, at most those that its block has room for.
    pub hosts: u32,
    /// Mean time from one session to the next.
    pub session_gap: Nanos,
    /// Mean number of requests of a session, at least 1; they are distributed geometrically.
    pub requests: f64,
    /// Time from one request of a session to the next.
    pub think: Dist<Nanos>,
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key} = {value}: expected {expected}")]
pub struct Invalid {
    /// Which.
    pub key: &'static str,
    /// What it was.
    pub value: String,
    /// What it may be.
    pub expected: &'static str,
}

impl Synthetic {
    /// The requests, in the order of time.
    ///
    /// # Errors
    /// If a setting is out of its range, or the networks do not fit into 10.0.0.0/8.
    pub fn log(&self) -> Result<impl Iterator<Item = Request> + use<>, Invalid> {
        self.check()?;
        let stream = |what: &str| Stream::named(self.seed, &format!("log {what}"));
        let mut arrivals = stream("arrivals");
        let next = draw(Dist::Exponential(self.session_gap), &mut arrivals);
        Ok(Sessions {
            made_of: self.clone(),
            blocks: self.blocks(&mut stream("blocks"))?,
            popularity: popularity(self.networks, self.zipf),
            arrivals,
            choices: stream("networks"),
            hosts: stream("hosts"),
            pages: stream("pages"),
            next,
            pending: BinaryHeap::new(),
            made: 0,
        })
    }

    fn check(&self) -> Result<(), Invalid> {
        let rule = |holds: bool, key, value: String, expected| {
            if holds { Ok(()) } else { Err(Invalid { key, value, expected }) }
        };
        rule(self.networks > 0, "networks", self.networks.to_string(), "at least 1")?;
        rule(self.hosts > 0, "hosts", self.hosts.to_string(), "at least 1")?;
        let zipf = (0.0..=10.0).contains(&self.zipf);
        rule(zipf, "zipf", self.zipf.to_string(), "an exponent from 0 to 10")?;
        let gap = self.session_gap > Nanos::ZERO;
        rule(gap, "session_gap", format!("{} s", self.session_gap.as_secs_f64()), "a time above zero")?;
        let requests = (1.0..=1e6).contains(&self.requests);
        rule(requests, "requests", self.requests.to_string(), "a mean from 1 to 1000000")?;
        let total: f64 = self.lengths.iter().map(|(_, share)| share).sum();
        let shares = self.lengths.iter().all(|(_, share)| *share >= 0.0) && (total - 1.0).abs() < 1e-9;
        let bits = self.lengths.iter().all(|(length, _)| (8..=30).contains(length));
        let lengths = format!("{:?}", self.lengths);
        rule(bits && shares, "lengths", lengths, "lengths from 8 to 30 bits with shares that add up to 1")
    }

    /// The block of each network, the most popular first: its first address and how many it has.
    fn blocks(&self, stream: &mut Stream) -> Result<Vec<(u32, u32)>, Invalid> {
        let lengths: Vec<u8> = (0..self.networks).map(|_| self.length(stream.unit())).collect();
        // Larger blocks first, so that none straddles its boundary; of one size in random order, so that neighbours are
        // not of like popularity.
        let mut order: Vec<(u8, u64, usize)> =
            lengths.iter().enumerate().map(|(k, &length)| (length, stream.bits(), k)).collect();
        order.sort_unstable();
        let needed: u64 = lengths.iter().map(|&length| 1_u64 << (32 - length)).sum();
        if needed > ADDRESSES {
            return Err(Invalid {
                key: "networks",
                value: self.networks.to_string(),
                expected: "as many as fit into 10.0.0.0/8 with their lengths",
            });
        }
        let mut blocks = vec![(0, 0); lengths.len()];
        let mut at = FIRST;
        for (length, _, k) in order {
            let size = 1 << (32 - length);
            blocks[k] = (at, size);
            at += size;
        }
        Ok(blocks)
    }

    fn length(&self, mut u: f64) -> u8 {
        for &(length, share) in &self.lengths {
            if u < share {
                return length;
            }
            u -= share;
        }
        // What rounding left over.
        self.lengths.last().map_or(24, |&(length, _)| length)
    }
}

/// The share of the `k` most popular networks, for each `k` from 1 on.
fn popularity(networks: u32, s: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let mut shares: Vec<f64> = (1..=networks)
        .map(|k| {
            sum += libm::pow(f64::from(k), -s);
            sum
        })
        .collect();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

/// The log as it goes on.
struct Sessions {
    made_of: Synthetic,
    blocks: Vec<(u32, u32)>,
    popularity: Vec<f64>,
    arrivals: Stream,
    choices: Stream,
    hosts: Stream,
    pages: Stream,
    /// When the next session begins.
    next: Nanos,
    /// Requests of sessions that have begun: time, number, address, network.
    pending: BinaryHeap<Reverse<(Nanos, u64, u32, u32)>>,
    made: u64,
}

impl Sessions {
    fn begin(&mut self) {
        let share = self.choices.unit();
        let network = self.popularity.partition_point(|&below| below <= share).min(self.blocks.len() - 1);
        let (first, size) = self.blocks[network];
        // The first and the last address of a block are no host's.
        let room = f64::from(self.made_of.hosts.min(size - 2));
        let client = first + 1 + (self.hosts.unit() * room) as u32;
        let mut at = self.next;
        for _ in 0..geometric(self.made_of.requests, self.pages.unit()) {
            self.pending.push(Reverse((at, self.made, client, network as u32)));
            self.made += 1;
            at = at.saturating_add(draw(self.made_of.think, &mut self.pages));
        }
        let gap = draw(Dist::Exponential(self.made_of.session_gap), &mut self.arrivals);
        self.next = self.next.saturating_add(gap);
    }
}

/// 1, 2, ... with a chance that falls by the same factor each time.
fn geometric(mean: f64, u: f64) -> u64 {
    if mean > 1.0 { 1 + libm::floor(libm::log(1.0 - u) / libm::log(1.0 - 1.0 / mean)) as u64 } else { 1 }
}

impl Iterator for Sessions {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        while self.next < self.made_of.duration
            && self.pending.peek().is_none_or(|Reverse((at, ..))| self.next <= *at)
        {
            self.begin();
        }
        let Reverse((at, _, client, network)) = self.pending.pop()?;
        (at < self.made_of.duration).then(|| Request {
            at,
            client: IpAddr::V4(Ipv4Addr::from_bits(client)),
            bottleneck: Some(network),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_study::{Analysis, Truth, analyse};
    use firstflight_paths::Grouping;

    /// Single requests of like networks, one in 10 s in the mean.
    fn plain(networks: u32) -> Synthetic {
        Synthetic {
            seed: 1,
            duration: Nanos::from_secs(200_000),
            networks,
            zipf: 0.0,
            lengths: vec![(24, 1.0)],
            hosts: 100,
            session_gap: Nanos::from_secs(10),
            requests: 1.0,
            think: Dist::Exponential(Nanos::from_secs(5)),
        }
    }

    fn log(settings: &Synthetic) -> Vec<Request> {
        settings.log().expect("settings that can be").collect()
    }

    fn study(settings: &Synthetic, window: u64, bits: u8) -> Analysis {
        let windows = [Nanos::from_secs(window)];
        analyse(log(settings), &windows, &Grouping::bits(bits, 48)).expect("long enough")
    }

    #[test]
    fn the_same_seed_makes_the_same_log_and_another_seed_another() {
        let settings = Synthetic { zipf: 1.0, requests: 3.0, ..plain(50) };
        assert_eq!(log(&settings), log(&settings));
        assert_ne!(log(&settings), log(&Synthetic { seed: 2, ..settings.clone() }));
        assert!(log(&settings).is_sorted_by_key(|request| request.at));
        assert!(log(&settings).iter().all(|request| request.at < settings.duration));
    }

    #[test]
    fn poisson_requests_of_one_network_follow_each_other_within_the_mean_gap_63_times_in_100() {
        // 1 - exp(-10 s / 10 s) = 0.632121. About 20 000 requests: a deviation of 0.0034; five of them.
        let Analysis { windows, .. } = study(&plain(1), 10, 24);
        assert!(windows[0].requests.abs_diff(20_000) < 5 * 141, "{}", windows[0].requests);
        assert!((windows[0].seen - 0.632_121).abs() < 0.017, "{}", windows[0].seen);
        assert_eq!((windows[0].held_max, windows[0].wrong), (1, Some(0.0)));
    }

    #[test]
    fn a_window_holds_of_ten_like_networks_as_many_as_chance_brings() {
        // Each has a request in 100 s in the mean. Within 50 s: its own, and of nine others each with 1 - exp(-50 / 100) =
        // 0.393469: 4.54122. The deviation of one is sqrt(9 * 0.3935 * 0.6065) = 1.47; some 4000 windows do not overlap, so
        // five deviations of the mean are 0.12.
        let Analysis { windows, .. } = study(&plain(10), 50, 24);
        assert!((windows[0].held_mean - 4.541_22).abs() < 0.12, "{}", windows[0].held_mean);
        assert!((windows[0].seen - 0.393_469).abs() < 0.017, "{}", windows[0].seen);
    }

    #[test]
    fn of_three_networks_the_first_has_six_elevenths_where_popularity_falls_as_one_over_rank() {
        // 1 / (1 + 1/2 + 1/3) = 6/11. A deviation of 0.0035 of 20 000.
        let requests = log(&Synthetic { zipf: 1.0, ..plain(3) });
        let first = requests.iter().filter(|request| request.bottleneck == Some(0)).count();
        let share = first as f64 / requests.len() as f64;
        assert!((share - 6.0 / 11.0).abs() < 0.018, "{share}");
    }

    #[test]
    fn sessions_have_as_many_requests_as_they_should_in_the_mean() {
        // 20 000 sessions of 4, geometric: deviation sqrt(4 * 3) = 3.46 each, and sqrt(20 000) * 4 for their number.
        let requests = log(&Synthetic { requests: 4.0, ..plain(1) }).len();
        assert!(requests.abs_diff(80_000) < 5 * 750, "{requests}");
    }

    #[test]
    fn networks_smaller_than_the_prefix_share_it_and_larger_ones_are_split() {
        // Two networks of 26 bits in one /24, of like popularity: half of what the prefix saw last is the other's.
        let two = study(&Synthetic { lengths: vec![(26, 1.0)], hosts: 50, ..plain(2) }, 3600, 24);
        assert_eq!(two.truth, Some(Truth { networks: 1, mixed: 1 }));
        let wrong = two.windows[0].wrong.expect("requests were seen");
        assert!((wrong - 0.5).abs() < 0.018, "{wrong}");
        let apart = study(&Synthetic { lengths: vec![(26, 1.0)], hosts: 50, ..plain(2) }, 3600, 26);
        assert_eq!(apart.truth, Some(Truth { networks: 2, mixed: 0 }));
        assert_eq!(apart.windows[0].wrong, Some(0.0));
        // One network of 22 bits, its 1000 hosts over four /24: a request in 10 s in the mean, of which one in four has the
        // prefix. Seen within 10 s: 1 - exp(-1/4) = 0.2212; missed: exp(-1/4) (1 - exp(-3/4)) = 0.4109. The hosts of
        // the four parts are 255, 256, 256 and 233, which moves neither by more than 0.001.
        let split = study(&Synthetic { lengths: vec![(22, 1.0)], hosts: 1000, ..plain(1) }, 10, 24);
        let missed = split.windows[0].missed.expect("the truth is known");
        assert!((split.windows[0].seen - 0.2212).abs() < 0.016, "{}", split.windows[0].seen);
        assert!((missed - 0.4109).abs() < 0.018, "{missed}");
    }

    #[test]
    fn settings_that_cannot_be_are_refused_by_name() {
        let refused = |settings: Synthetic| settings.log().map(|_| ()).expect_err("refused").to_string();
        assert_eq!(refused(plain(0)), "networks = 0: expected at least 1");
        assert_eq!(
            refused(Synthetic { zipf: -1.0, ..plain(1) }),
            "zipf = -1: expected an exponent from 0 to 10"
        );
        assert_eq!(
            refused(Synthetic { requests: 0.5, ..plain(1) }),
            "requests = 0.5: expected a mean from 1 to 1000000"
        );
        assert_eq!(
            refused(Synthetic { lengths: vec![(24, 0.5)], ..plain(1) }),
            "lengths = [(24, 0.5)]: expected lengths from 8 to 30 bits with shares that add up to 1"
        );
        // 65 537 blocks of 256 addresses are one more than there are.
        assert_eq!(
            refused(plain(65_537)),
            "networks = 65537: expected as many as fit into 10.0.0.0/8 with their lengths"
        );
    }
}
