//! Generator of synthetic logs. Sessions arrive as a Poisson process; a session comes from one host of one network and
//! requests several pages. The popularity of networks follows Zipf's law (G. Zipf; for clients of web servers: M. Arlitt,
//! C. Williamson, "Web server workload characterization", SIGMETRICS 1996). Each network has its own block of addresses and
//! its own bottleneck: a prefix longer than the block's splits the network, a shorter one merges it with others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};

use firstflight_contract::Nanos;
use firstflight_document::seconds::Seconds;
use firstflight_random::{Dist, Stream};

use super::Request;

/// First address of 10.0.0.0/8, from which all clients come.
const FIRST: u32 = 0x0a00_0000;
const ADDRESSES: u64 = 1 << 24;

/// Settings of a synthetic log.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Seed of every random stream.
    pub seed: u64,
    /// Duration of the log.
    pub duration: Nanos,
    /// Number of networks.
    pub networks: u32,
    /// Exponent `s` of Zipf's law: the share of sessions of the k-th most popular network is proportional to k^-s. 0 makes
    /// all networks equally popular.
    pub zipf: f64,
    /// Prefix lengths of the networks, 8 to 30 bits, each with its share of the networks; the shares add up to 1.
    pub lengths: Vec<(u8, f64)>,
    /// Hosts per network, limited by the size of its block.
    pub hosts: u32,
    /// Mean time between the beginnings of sessions.
    pub session_gap: Nanos,
    /// Mean number of requests per session, at least 1; geometrically distributed.
    pub requests: f64,
    /// Mean time from one request of a session to the next; exponentially distributed.
    pub think: Nanos,
}

/// Invalid setting of a [`Synthetic`] log.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key} = {value}: out of range; expected {expected}")]
pub struct Invalid {
    /// Name of the setting.
    pub key: &'static str,
    /// Value given.
    pub value: String,
    /// Valid values.
    pub expected: &'static str,
}

impl Synthetic {
    /// Returns the requests, in order of time.
    ///
    /// # Errors
    /// [`Invalid`] if a setting is out of range, or the networks do not fit into 10.0.0.0/8.
    pub fn log(&self) -> Result<impl Iterator<Item = Request> + use<>, Invalid> {
        self.check()?;
        let stream = |what: &str| Stream::named(self.seed, &format!("log {what}"));
        let mut arrivals = stream("arrivals");
        let next = exponential(self.session_gap, &mut arrivals);
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

    /// Block of each network, the most popular first: first address and number of addresses.
    fn blocks(&self, stream: &mut Stream) -> Result<Vec<(u32, u32)>, Invalid> {
        let lengths: Vec<u8> = (0..self.networks).map(|_| self.length(stream.unit())).collect();
        // Larger blocks come first, so that every block starts at a multiple of its size. Blocks of one size come in random
        // order, so that neighbours differ in popularity.
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
        // The shares may add up to slightly less than 1.
        self.lengths.last().map_or(24, |&(length, _)| length)
    }
}

/// Cumulative share of the `k` most popular networks, for each `k` from 1.
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

/// Iterator over the requests of a synthetic log.
struct Sessions {
    made_of: Synthetic,
    blocks: Vec<(u32, u32)>,
    popularity: Vec<f64>,
    arrivals: Stream,
    choices: Stream,
    hosts: Stream,
    pages: Stream,
    /// Beginning of the next session.
    next: Nanos,
    /// Future requests of sessions that have begun: time, number, address, network.
    pending: BinaryHeap<Reverse<(Nanos, u64, u32, u32)>>,
    made: u64,
}

impl Sessions {
    fn begin(&mut self) {
        let share = self.choices.unit();
        let network = self.popularity.partition_point(|&below| below <= share).min(self.blocks.len() - 1);
        let (first, size) = self.blocks[network];
        // The first and the last address of a block belong to no host.
        let room = f64::from(self.made_of.hosts.min(size - 2));
        let client = first + 1 + (self.hosts.unit() * room) as u32;
        let mut at = self.next;
        for _ in 0..geometric(self.made_of.requests, self.pages.unit()) {
            self.pending.push(Reverse((at, self.made, client, network as u32)));
            self.made += 1;
            at = at.saturating_add(exponential(self.made_of.think, &mut self.pages));
        }
        let gap = exponential(self.made_of.session_gap, &mut self.arrivals);
        self.next = self.next.saturating_add(gap);
    }
}

/// Drawn by inversion: one uniform number per value.
fn exponential(mean: Nanos, stream: &mut Stream) -> Nanos {
    Dist::Exponential(mean).quantile(stream.unit())
}

/// Geometrically distributed number of this mean, from 1, for the uniform number `u`.
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
            bytes: None,
            bottleneck: Some(network),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis, Truth, analyse};
    use firstflight_paths::Grouping;

    /// Sessions of one request from equally popular networks, one every 10 s on average.
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
            think: Nanos::from_secs(5),
        }
    }

    fn log(settings: &Synthetic) -> Vec<Request> {
        settings.log().expect("valid settings").collect()
    }

    fn study(settings: &Synthetic, window: u64, bits: u8) -> Analysis {
        let windows = [Nanos::from_secs(window)];
        analyse(log(settings), &windows, &Grouping::bits(bits, 48)).expect("long enough")
    }

    #[test]
    fn a_seed_determines_the_log() {
        let settings = Synthetic { zipf: 1.0, requests: 3.0, ..plain(50) };
        assert_eq!(log(&settings), log(&settings));
        assert_ne!(log(&settings), log(&Synthetic { seed: 2, ..settings.clone() }));
        assert!(log(&settings).is_sorted_by_key(|request| request.at));
        assert!(log(&settings).iter().all(|request| request.at < settings.duration));
    }

    #[test]
    fn the_gap_between_poisson_requests_is_below_its_mean_in_63_percent_of_cases() {
        // 1 - exp(-10 s / 10 s) = 0.632121. About 20 000 requests: a deviation of 0.0034; five of them.
        let Analysis { windows, .. } = study(&plain(1), 10, 24);
        assert!(windows[0].requests.abs_diff(20_000) < 5 * 141, "{}", windows[0].requests);
        assert!((windows[0].seen - 0.632_121).abs() < 0.017, "{}", windows[0].seen);
        assert_eq!((windows[0].held_max, windows[0].wrong), (1, Some(0.0)));
    }

    #[test]
    fn a_window_holds_the_expected_number_of_ten_equal_networks() {
        // Each network has a request every 100 s on average. A window of 50 s holds the request's own network, and each of nine
        // others with probability 1 - exp(-50 / 100) = 0.393469: 4.54122. The deviation of one is sqrt(9 * 0.3935 * 0.6065) = 1.47; some 4000 windows do not overlap, so
        // five deviations of the mean are 0.12.
        let Analysis { windows, .. } = study(&plain(10), 50, 24);
        assert!((windows[0].held_mean - 4.541_22).abs() < 0.12, "{}", windows[0].held_mean);
        assert!((windows[0].seen - 0.393_469).abs() < 0.017, "{}", windows[0].seen);
    }

    #[test]
    fn with_exponent_1_the_first_of_three_networks_has_six_elevenths_of_the_requests() {
        // 1 / (1 + 1/2 + 1/3) = 6/11. A deviation of 0.0035 of 20 000.
        let requests = log(&Synthetic { zipf: 1.0, ..plain(3) });
        let first = requests.iter().filter(|request| request.bottleneck == Some(0)).count();
        let share = first as f64 / requests.len() as f64;
        assert!((share - 6.0 / 11.0).abs() < 0.018, "{share}");
    }

    #[test]
    fn sessions_have_the_given_mean_number_of_requests() {
        // 20 000 sessions of 4, geometric: deviation sqrt(4 * 3) = 3.46 each, and sqrt(20 000) * 4 for their number.
        let requests = log(&Synthetic { requests: 4.0, ..plain(1) }).len();
        assert!(requests.abs_diff(80_000) < 5 * 750, "{requests}");
    }

    #[test]
    fn a_prefix_joins_smaller_networks_and_splits_larger_ones() {
        // Two equally popular networks of 26 bits in one /24: the previous request of the prefix is the other network's in half
        // of all cases.
        let two = study(&Synthetic { lengths: vec![(26, 1.0)], hosts: 50, ..plain(2) }, 3600, 24);
        assert_eq!(two.truth, Some(Truth { networks: 1, mixed: 1 }));
        let wrong = two.windows[0].wrong.expect("requests were seen");
        assert!((wrong - 0.5).abs() < 0.018, "{wrong}");
        let apart = study(&Synthetic { lengths: vec![(26, 1.0)], hosts: 50, ..plain(2) }, 3600, 26);
        assert_eq!(apart.truth, Some(Truth { networks: 2, mixed: 0 }));
        assert_eq!(apart.windows[0].wrong, Some(0.0));
        // One network of 22 bits with 1000 hosts in four /24: a request every 10 s on average, one in four of them from the
        // prefix. Seen within 10 s: 1 - exp(-1/4) = 0.2212; missed: exp(-1/4) (1 - exp(-3/4)) = 0.4109. The hosts of
        // the four parts are 255, 256, 256 and 233, which changes neither by more than 0.001.
        let split = study(&Synthetic { lengths: vec![(22, 1.0)], hosts: 1000, ..plain(1) }, 10, 24);
        let missed = split.windows[0].missed.expect("the truth is known");
        assert!((split.windows[0].seen - 0.2212).abs() < 0.016, "{}", split.windows[0].seen);
        assert!((missed - 0.4109).abs() < 0.018, "{missed}");
    }

    #[test]
    fn invalid_settings_are_refused_by_name() {
        let refused = |settings: Synthetic| settings.log().map(|_| ()).expect_err("refused").to_string();
        assert_eq!(refused(plain(0)), "networks = 0: out of range; expected at least 1");
        assert_eq!(
            refused(Synthetic { zipf: -1.0, ..plain(1) }),
            "zipf = -1: out of range; expected an exponent from 0 to 10"
        );
        assert_eq!(
            refused(Synthetic { requests: 0.5, ..plain(1) }),
            "requests = 0.5: out of range; expected a mean from 1 to 1000000"
        );
        assert_eq!(
            refused(Synthetic { lengths: vec![(24, 0.5)], ..plain(1) }),
            "lengths = [(24, 0.5)]: out of range; expected lengths from 8 to 30 bits with shares that add up to 1"
        );
        // 65 537 blocks of 256 addresses are one more than there are.
        assert_eq!(
            refused(plain(65_537)),
            "networks = 65537: out of range; expected as many as fit into 10.0.0.0/8 with their lengths"
        );
    }
}
