//! Analysis of a log in one pass for all windows. Memory grows with the requests of the longest window (at most 48 bytes
//! each) and with the number of networks and bottlenecks.

use std::collections::{BTreeMap, VecDeque};

use firstflight_contract::Nanos;
use firstflight_document::seconds::Seconds;
use firstflight_paths::{Group, Grouping};
use firstflight_quantile::type_1;
use serde::Serialize;

use super::Request;

/// Result for one window. A request counts only after the longest of all windows has passed since the first request: every
/// window is then full, and all windows are judged by the same requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowShare {
    /// Length of the window, seconds.
    pub window_s: f64,
    /// Number of requests that count.
    pub requests: u64,
    /// Share of them whose network sent another request at most `window_s` earlier. As a function of the window, this is the
    /// distribution function of the time between two requests from one network.
    pub seen: f64,
    /// Networks with a request in the window that ends at a request, its own included: the mean over requests.
    pub held_mean: f64,
    /// Median over requests of the same number.
    pub held_median: u32,
    /// 95th percentile of the same number.
    pub held_p95: u32,
    /// Maximum of the same number.
    pub held_max: u32,
    /// Of the requests counted in `seen`, the share whose network's previous request used another bottleneck. `None` if no
    /// request was seen or the true bottlenecks are unknown.
    pub wrong: Option<f64>,
    /// Of all requests that count, the share whose bottleneck was used within the window, but only by other networks.
    /// `None` if the true bottlenecks are unknown.
    pub missed: Option<f64>,
}

/// Networks of a whole log compared with the true bottlenecks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Truth {
    /// Networks in the log.
    pub networks: u64,
    /// Networks whose clients use more than one bottleneck.
    pub mixed: u64,
}

/// Result for one log and one grouping of addresses into networks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// One entry per window, in the order given.
    pub windows: Vec<WindowShare>,
    /// `None` if the true bottlenecks are unknown.
    pub truth: Option<Truth>,
}

/// Error: the log ends before the longest window has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log spans {:.0} s; expected more than the longest window, {:.0} s", spans.as_secs_f64(), longest.as_secs_f64())]
pub struct TooShort {
    /// Time from the first request to the last.
    pub spans: Nanos,
    /// The longest window.
    pub longest: Nanos,
}

/// Analyses `requests`, in order of time, for each of `windows`; `grouping` maps addresses to networks.
///
/// # Errors
/// [`TooShort`] if the requests do not span more than the longest window.
pub fn analyse(
    requests: impl IntoIterator<Item = Request>,
    windows: &[Nanos],
    grouping: &Grouping,
) -> Result<Analysis, TooShort> {
    let mut study = Study::new(windows, *grouping);
    requests.into_iter().for_each(|request| study.add(request));
    study.finish()
}

/// A study of several windows, each by itself: a request counts for a window after its length, and all windows that are shorter than the log
/// have a result. They share what is known of the networks, which is most of the work of a long log.
#[derive(Clone, Debug)]
pub struct Windows(Study);

impl Windows {
    /// A study of these windows without requests.
    pub fn new(windows: &[Nanos], grouping: &Grouping) -> Self {
        Self(Study { each: true, ..Study::new(windows, *grouping) })
    }

    /// Adds the next request, as [`Study::add`] does.
    pub fn add(&mut self, request: Request) {
        self.0.add(request);
    }

    /// Returns the results of the windows that are shorter than the log.
    ///
    /// # Errors
    /// [`TooShort`] if there is none.
    pub fn finish(&self) -> Result<Vec<WindowShare>, TooShort> {
        let spans = self.0.spans();
        let fitting = self.0.windows.iter().filter(|window| window.length < spans);
        let found: Vec<_> = fitting.map(|window| window.share(!self.0.bottlenecks.is_empty())).collect();
        let shortest = self.0.windows.iter().map(|window| window.length).min().unwrap_or_default();
        if found.is_empty() { Err(TooShort { spans, longest: shortest }) } else { Ok(found) }
    }
}

/// [`analyse`] in steps: one call of [`Study::add`] per request.
#[derive(Clone, Debug)]
pub struct Study {
    grouping: Grouping,
    longest: Nanos,
    /// Whether a request counts for each window after that window's own length, not after the longest one.
    each: bool,
    windows: Vec<Window>,
    /// Requests within the longest window.
    recent: VecDeque<Seen>,
    /// Number of the first entry of `recent`, counted from the first request of the log.
    first: u64,
    /// Newest request of each network in `recent`.
    newest: BTreeMap<Group, Newest>,
    span: Option<(Nanos, Nanos)>,
    /// Time of the last request over each bottleneck.
    bottlenecks: BTreeMap<u32, Nanos>,
    /// Bottleneck of each network's first client, and whether another client used a different one.
    networks: BTreeMap<Group, (u32, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Nanos,
    group: Group,
    /// Whether the request is the newest of its network.
    newest: bool,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    number: u64,
    at: Nanos,
    bottleneck: Option<u32>,
}

#[derive(Clone, Debug)]
struct Window {
    length: Nanos,
    /// Number of the oldest request in the window.
    oldest: u64,
    /// Networks in the window.
    held: u32,
    requests: u64,
    seen: u64,
    wrong: u64,
    missed: u64,
    /// Number of requests by the number of networks in their window, from 0.
    found: Vec<u64>,
}

impl Study {
    /// A study without requests.
    pub fn new(windows: &[Nanos], grouping: Grouping) -> Self {
        let window = |&length: &Nanos| Window {
            length,
            oldest: 0,
            held: 0,
            requests: 0,
            seen: 0,
            wrong: 0,
            missed: 0,
            found: vec![],
        };
        Self {
            grouping,
            longest: windows.iter().copied().max().unwrap_or_default(),
            each: false,
            windows: windows.iter().map(window).collect(),
            recent: VecDeque::new(),
            first: 0,
            newest: BTreeMap::new(),
            span: None,
            bottlenecks: BTreeMap::new(),
            networks: BTreeMap::new(),
        }
    }

    /// Adds the next request. Servers log requests when answers end, so times may run backwards: an earlier time than the
    /// previous request's is replaced by that time.
    pub fn add(&mut self, request: Request) {
        let (begin, before) = self.span.unwrap_or((request.at, request.at));
        let now = request.at.max(before);
        self.span = Some((begin, now));
        let group = self.grouping.of(request.client);
        self.forget(now);
        let number = self.first + self.recent.len() as u64;
        let newest = Newest { number, at: now, bottleneck: request.bottleneck };
        let last = self.newest.insert(group, newest);
        let elsewhere = request.bottleneck.and_then(|number| self.bottlenecks.get(&number).copied());
        for window in &mut self.windows {
            let length = window.length;
            let within = |at: Nanos| now.saturating_sub(at) <= length;
            let known = last.filter(|last| within(last.at));
            window.held += u32::from(known.is_none());
            let full = if self.each { length } else { self.longest };
            if now < begin.saturating_add(full) {
                continue;
            }
            window.requests += 1;
            window.count();
            match known {
                Some(last) => {
                    window.seen += 1;
                    window.wrong += u64::from(last.bottleneck != request.bottleneck);
                }
                None => window.missed += u64::from(elsewhere.is_some_and(within)),
            }
        }
        if let Some(last) = last {
            self.recent[(last.number - self.first) as usize].newest = false;
        }
        self.recent.push_back(Seen { at: now, group, newest: true });
        if let Some(bottleneck) = request.bottleneck {
            self.bottlenecks.insert(bottleneck, now);
            let (only, mixed) = self.networks.entry(group).or_insert((bottleneck, false));
            *mixed |= *only != bottleneck;
        }
    }

    /// Removes requests that are older than the windows.
    fn forget(&mut self, now: Nanos) {
        for window in &mut self.windows {
            while let Some(seen) = self.recent.get((window.oldest - self.first) as usize)
                && now.saturating_sub(seen.at) > window.length
            {
                window.held -= u32::from(seen.newest);
                window.oldest += 1;
            }
        }
        while let Some(seen) = self.recent.front()
            && now.saturating_sub(seen.at) > self.longest
        {
            if seen.newest {
                self.newest.remove(&seen.group);
            }
            self.recent.pop_front();
            self.first += 1;
        }
    }

    /// Time from the first request to the last.
    fn spans(&self) -> Nanos {
        self.span.map_or(Nanos::ZERO, |(begin, end)| end.saturating_sub(begin))
    }

    /// Returns the result.
    ///
    /// # Errors
    /// [`TooShort`] if the requests do not span more than the longest window.
    pub fn finish(&self) -> Result<Analysis, TooShort> {
        let spans = self.spans();
        if spans <= self.longest {
            return Err(TooShort { spans, longest: self.longest });
        }
        let known = !self.bottlenecks.is_empty();
        Ok(Analysis {
            windows: self.windows.iter().map(|window| window.share(known)).collect(),
            truth: known.then(|| Truth {
                networks: self.networks.len() as u64,
                mixed: self.networks.values().filter(|(_, mixed)| *mixed).count() as u64,
            }),
        })
    }
}

impl Window {
    /// Counts a request of the networks in the window.
    fn count(&mut self) {
        let held = self.held as usize;
        if self.found.len() <= held {
            self.found.resize(held + 1, 0);
        }
        self.found[held] += 1;
    }

    fn share(&self, truth: bool) -> WindowShare {
        // Not zero: the last request comes after the longest window, or the log would be too short.
        let of_all = |count: u64| count as f64 / self.requests as f64;
        let held: u64 = (0..).zip(&self.found).map(|(held, times)| held * times).sum();
        WindowShare {
            window_s: self.length.as_secs_f64(),
            requests: self.requests,
            seen: of_all(self.seen),
            held_mean: of_all(held),
            held_median: self.quantile(0.5),
            held_p95: self.quantile(0.95),
            held_max: self.found.len().saturating_sub(1) as u32,
            wrong: (truth && self.seen > 0).then(|| self.wrong as f64 / self.seen as f64),
            missed: truth.then(|| of_all(self.missed)),
        }
    }

    /// Quantile `share` of the numbers of networks by type 1 of Hyndman and Fan.
    fn quantile(&self, share: f64) -> u32 {
        let found = self.found.iter().enumerate().map(|(held, &times)| (held, times as f64));
        type_1(found, share).unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(second: u64, client: &str, bottleneck: Option<u32>) -> Request {
        let client = client.parse().expect("an address");
        Request { at: Nanos::from_secs(second), client, bytes: None, bottleneck }
    }

    fn windows(seconds: &[u64]) -> Vec<Nanos> {
        seconds.iter().map(|&s| Nanos::from_secs(s)).collect()
    }

    /// Networks A = 10.0.0.0/24, B = 10.0.1.0/24 and C = 10.0.2.0/24.
    fn log(truth: bool) -> Vec<Request> {
        [
            (0, "10.0.0.1", 1),
            (10, "10.0.1.1", 3),
            (20, "10.0.0.2", 2),
            (25, "10.0.1.1", 3),
            (40, "10.0.0.1", 1),
        ]
        .into_iter()
        .chain([(100, "10.0.2.1", 4)])
        .map(|(second, client, bottleneck)| request(second, client, truth.then_some(bottleneck)))
        .collect()
    }

    #[test]
    fn a_small_log_gives_the_numbers_counted_by_hand() {
        // From 20 s on, four requests count. Each line gives the gap since the network's previous request, and the networks
        // in windows of 10 s and 20 s:
        //  20 s  A  gap 20   10..20: A B     0..20: A B
        //  25 s  B  gap 15   15..25: A B     5..25: A B
        //  40 s  A  gap 20   30..40: A      20..40: A B
        // 100 s  C  none     90..100: C     80..100: C
        let Analysis { windows, truth } =
            analyse(log(false), &windows(&[10, 20]), &Grouping::default()).expect("long enough");
        let share = |window_s, seen, held_mean, held_median| WindowShare {
            window_s,
            requests: 4,
            seen,
            held_mean,
            held_median,
            held_p95: 2,
            held_max: 2,
            wrong: None,
            missed: None,
        };
        assert_eq!(windows, [share(10.0, 0.0, 1.5, 1), share(20.0, 0.75, 1.75, 2)]);
        assert_eq!(truth, None);
    }

    #[test]
    fn a_network_of_two_bottlenecks_counts_as_wrong_after_a_request_over_the_other() {
        // Network A: at 20 s bottleneck 2 follows 1, at 40 s 1 follows 2. Network B has one bottleneck. Two of three are wrong.
        let Analysis { windows, truth } =
            analyse(log(true), &windows(&[20]), &Grouping::default()).expect("long enough");
        assert_eq!(windows[0].wrong, Some(2.0 / 3.0));
        assert_eq!(windows[0].missed, Some(0.0));
        assert_eq!(truth, Some(Truth { networks: 3, mixed: 1 }));
    }

    #[test]
    fn networks_smaller_than_the_bottleneck_miss_it() {
        // Two hosts behind bottleneck 1 take turns, 20 s apart.
        let log = [(0, "10.0.0.1"), (20, "10.0.0.2"), (40, "10.0.0.1")]
            .map(|(s, client)| request(s, client, Some(1)));
        let host = analyse(log, &windows(&[20]), &Grouping::host()).expect("long enough");
        assert_eq!((host.windows[0].seen, host.windows[0].missed), (0.0, Some(1.0)));
        assert_eq!(host.windows[0].wrong, None);
        let network = analyse(log, &windows(&[20]), &Grouping::default()).expect("long enough");
        assert_eq!((network.windows[0].seen, network.windows[0].missed), (1.0, Some(0.0)));
    }

    #[test]
    fn a_request_with_an_earlier_time_counts_at_the_time_of_the_previous_one() {
        let late =
            [(0, "10.0.0.1"), (30, "10.0.1.1"), (28, "10.0.0.1")].map(|(s, client)| request(s, client, None));
        // Gap 30 s instead of 28.
        let seen = |seconds| {
            let windows = windows(&[seconds]);
            analyse(late, &windows, &Grouping::default()).expect("long enough").windows[0].seen
        };
        assert_eq!(seen(29), 0.0);
    }

    #[test]
    fn requests_older_than_the_longest_window_are_removed() {
        let mut study = Study::new(&windows(&[1, 10]), Grouping::default());
        for network in 0..200_u8 {
            study.add(request(u64::from(network), &format!("10.0.{network}.1"), None));
        }
        // From 189 s to 199 s.
        assert_eq!((study.recent.len(), study.newest.len()), (11, 11));
    }

    fn each(
        windows: &[u64],
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Vec<WindowShare>, TooShort> {
        let mut windows = Windows::new(&self::windows(windows), &Grouping::default());
        requests.into_iter().for_each(|request| windows.add(request));
        windows.finish()
    }

    #[test]
    fn windows_that_are_studied_together_have_the_results_of_each_alone() {
        // Draws of a linear congruence: networks of 50 at uneven times, for 400 s.
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let log: Vec<_> = (0..400)
            .flat_map(|second| {
                let count = draw(4);
                (0..count).map(|_| request(second, &format!("10.0.{}.1", draw(50)), None)).collect::<Vec<_>>()
            })
            .collect();
        let together = each(&[1, 10, 60, 300, 1000], log.clone()).expect("long enough");
        let alone: Vec<_> = [1, 10, 60, 300]
            .iter()
            .map(|window| each(&[*window], log.clone()).expect("long enough")[0].clone())
            .collect();
        assert_eq!(together, alone);
        let analysed = analyse(log, &windows(&[60]), &Grouping::default()).expect("long enough");
        assert_eq!(together[2], analysed.windows[0]);
    }

    #[test]
    fn windows_by_themselves_have_a_result_if_they_are_shorter_than_the_log() {
        // Hosts 1, 2, 3 of a network in turn, one request a second for 100 s: all of the 40 requests after the first minute come
        // from a network that was seen. The longer windows do not fit.
        let one = |i: u64| request(1_700_000_000 + i, &format!("10.0.0.{}", i % 3 + 1), None);
        let found = each(&[60, 300, 600, 1800], (0..100).map(one)).expect("long enough");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].requests, found[0].seen), (40, 1.0));

        // Each of 250 networks sends one request every 2500 s. Ten seconds apart: 6 networks in a minute and its end,
        // 30 min / 10 s + 1 in half an hour.
        let rare = |i: u64| request(10 * i, &format!("10.0.{}.{}", i % 250, i % 7), None);
        let found = each(&[60, 300, 600, 1800], (0..2000).map(rare)).expect("long enough");
        assert_eq!(found.len(), 4);
        assert_eq!(found[3].seen, 0.0);
        assert_eq!((found[0].held_median, found[3].held_median), (7, 181));

        let short = each(&[60, 300], (0..3).map(one)).expect_err("it is refused");
        assert_eq!(short.to_string(), "the log spans 2 s; expected more than the longest window, 60 s");
    }

    #[test]
    fn a_log_no_longer_than_the_longest_window_is_refused() {
        let error =
            analyse(log(false), &windows(&[10, 100]), &Grouping::default()).expect_err("no request counts");
        assert_eq!(error.to_string(), "the log spans 100 s; expected more than the longest window, 100 s");
    }
}
