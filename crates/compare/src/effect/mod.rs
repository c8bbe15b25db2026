//! Effect of a change: the connections of a server before it and after it.
//!
//! Transfers are compared within classes of size, each a decade wide, by a regression ([`model`]). Its terms are the size, and the
//! connection's round trip where clients differ in it. Intervals are a bootstrap over connections, since the transfers of one connection
//! have much in common (percentile interval; B. Efron and R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13), expanded
//! for few connections as T. Hesterberg does ("What Teachers Should Know About the Bootstrap", The American
//! Statistician 69(4), 2015, section 4.3). Before and after are drawn apart.

mod forecast;
mod model;

use std::collections::{BTreeMap, BTreeSet};

use firstflight_hosts::stats::{quantile_ci95, t_975};
use firstflight_quantile::type_7;
use firstflight_random::{Stream, normal};
use firstflight_results::{
    CapturedConnection, Change, Ci95, Effect, EffectAtSize, EffectSide, PairedDifference,
};
use libm::{exp, log, log10};

pub use forecast::forecast;
use model::Sums;

/// Fewest connections on each side of an interval.
const FEWEST: usize = 8;
/// Resamples of an interval, and fewer for very many connections, whose resamples differ little.
const RESAMPLES: usize = 2000;
const LEAST_RESAMPLES: usize = 200;
/// Draws of connections in all resamples, so that they take some seconds.
const DRAWS: usize = 40_000_000;
/// Middle of the smallest class of sizes, bytes. The class begins at 9487 bytes, seven packets of Ethernet: every usual initial window
/// holds less in one flight.
const SMALLEST: f64 = 30_000.0;
/// A transfer whose sender had nothing to send for this share of its time shows the application.
const APPLICATION: f64 = 0.05;
/// Standard deviation of the logarithm of the round trip from which on it is a term. Below, its errors would pass for a change.
const RTT_VARIES: f64 = 0.05;
/// Sum of the normal quantiles of an error of 5 % on both sides and of a power of 80 %.
const POWER: f64 = 2.80;

/// The connections of one side of a change.
#[derive(Clone, Debug)]
pub struct Connections {
    /// Name of the capture.
    pub name: String,
    /// Its connections.
    pub connections: Vec<CapturedConnection>,
}

/// A transfer that counts: logarithms of its size, round trip and time.
#[derive(Clone, Copy)]
struct Timed {
    class: i32,
    size: f64,
    rtt: f64,
    time: f64,
}

/// One side, prepared.
struct Side<'a> {
    given: &'a Connections,
    /// Transfers that count, by connection; connections without one are left out.
    timed: Vec<Vec<Timed>>,
    small: u64,
    application_limited: u64,
}

impl<'a> Side<'a> {
    fn of(given: &'a Connections) -> Self {
        let mut side = Self { given, timed: vec![], small: 0, application_limited: 0 };
        for connection in &given.connections {
            let Some(rtt) = connection.rtt_ms.filter(|rtt| *rtt > 0.0) else { continue };
            let mut timed = vec![];
            for it in connection.transfers.iter().filter(|it| it.completion_s > 0.0 && it.bytes > 0) {
                let size = it.bytes as f64;
                let class = (log10(size / SMALLEST) + 0.5).floor() as i32;
                if class < 0 {
                    side.small += 1;
                } else if it.application_limited_s >= APPLICATION * it.completion_s {
                    side.application_limited += 1;
                } else {
                    timed.push(Timed { class, size: log(size), rtt: log(rtt), time: log(it.completion_s) });
                }
            }
            if !timed.is_empty() {
                side.timed.push(timed);
            }
        }
        side
    }

    fn transfers(&self) -> impl Iterator<Item = &Timed> {
        self.timed.iter().flatten()
    }

    fn described(&self) -> EffectSide {
        EffectSide {
            name: self.given.name.clone(),
            connections: self.given.connections.len() as u64,
            transfers: self.transfers().count() as u64,
            small: self.small,
            application_limited: self.application_limited,
        }
    }
}

/// Transfers of similar size.
struct Class {
    /// Mean logarithms of size and round trip, from which the terms count.
    size: f64,
    rtt: f64,
    /// Whether the round trip is a term.
    weighs_rtt: bool,
    /// Transfers on each side.
    transfers: [u64; 2],
    /// Connections with such transfers on each side.
    connections: [usize; 2],
}

impl Class {
    fn of(sides: &[Side<'_>; 2], number: i32) -> Self {
        let own = |side: usize| sides[side].transfers().filter(move |it| it.class == number);
        let all = || own(0).chain(own(1));
        let count = all().count().max(1) as f64;
        let mean = |value: fn(&Timed) -> f64| all().map(value).sum::<f64>() / count;
        let (size, rtt) = (mean(|it| it.size), mean(|it| it.rtt));
        // A difference between the sides is none between clients.
        let varies = (0..2).any(|side| {
            let count = own(side).count().max(1) as f64;
            let mean = own(side).map(|it| it.rtt).sum::<f64>() / count;
            let squares: f64 = own(side).map(|it| (it.rtt - mean) * (it.rtt - mean)).sum();
            (squares / count).sqrt() >= RTT_VARIES
        });
        let having = |side: usize| {
            let has = |timed: &&Vec<Timed>| timed.iter().any(|it| it.class == number);
            sides[side].timed.iter().filter(has).count()
        };
        Self {
            size,
            rtt,
            weighs_rtt: varies,
            transfers: [own(0).count() as u64, own(1).count() as u64],
            connections: [having(0), having(1)],
        }
    }

    /// Whether it has enough connections for an interval.
    fn is_large(&self) -> bool {
        self.connections.iter().all(|count| *count >= FEWEST)
    }
}

/// Sums of a connection by class.
type Parts = Vec<(usize, Sums)>;

fn parts(side: &Side<'_>, after: bool, classes: &BTreeMap<i32, Class>) -> Vec<Parts> {
    let of = |timed: &Vec<Timed>| {
        let mut sums: BTreeMap<usize, Sums> = BTreeMap::new();
        for it in timed {
            let Some(place) = classes.keys().position(|number| *number == it.class) else { continue };
            let class = &classes[&it.class];
            let rtt = class.weighs_rtt.then_some(it.rtt - class.rtt);
            sums.entry(place).or_default().add(after, it.size - class.size, rtt, it.time);
        }
        sums.into_iter().collect()
    };
    side.timed.iter().map(of).collect()
}

/// Change of the logarithm of the time: in each class, and over all large classes by their weights.
struct Effects {
    by_class: Vec<Option<model::Fit>>,
    all: Option<f64>,
}

impl Effects {
    fn of(sums: &[Sums], weights: &[f64]) -> Self {
        let by_class: Vec<_> = sums.iter().map(Sums::fit).collect();
        let weighed = by_class.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let all = weighed.map(|(fit, weight)| Some(fit.as_ref()?.change * weight)).sum::<Option<f64>>();
        Self { by_class, all: all.filter(|_| weights.iter().any(|weight| *weight > 0.0)) }
    }
}

/// Compares the connections after a change with those before it. `seed` is that of the resamples. The sizes have no forecast yet.
pub fn effect(before: &Connections, after: &Connections, seed: u64) -> Effect {
    let sides = [Side::of(before), Side::of(after)];
    let numbers = sides.iter().flat_map(Side::transfers).map(|it| it.class);
    let mut classes: BTreeMap<i32, Class> = numbers
        .map(|it| (it, it))
        .collect::<BTreeMap<_, _>>()
        .into_keys()
        .map(|it| (it, Class::of(&sides, it)))
        .collect();
    classes.retain(|_, class| class.transfers.iter().all(|count| *count > 0));
    let counted: f64 =
        classes.values().filter(|it| it.is_large()).map(|it| it.transfers.iter().sum::<u64>() as f64).sum();
    let weight = |class: &Class| {
        if class.is_large() { class.transfers.iter().sum::<u64>() as f64 / counted } else { 0.0 }
    };
    let weights: Vec<f64> = classes.values().map(weight).collect();
    let parts = [parts(&sides[0], false, &classes), parts(&sides[1], true, &classes)];
    let observed = Effects::of(&sums(&parts, [None, None], classes.len()), &weights);
    let resampled = resampled(&parts, &weights, classes.len(), seed);

    let at_size = |(place, class): (usize, &Class)| {
        let fit = observed.by_class[place]?;
        let changes = resampled.iter().filter_map(|it| Some(it.by_class[place]?.change)).collect();
        let few = class.connections.into_iter().min().unwrap_or(0);
        Some(EffectAtSize {
            size_bytes: exp(class.size).round() as u64,
            transfers_before: class.transfers[0],
            transfers_after: class.transfers[1],
            before_s: exp(fit.before),
            after_s: exp(fit.before + fit.change),
            gain: gain(fit.change),
            gain_ci95: class.is_large().then(|| gains(interval(changes, fit.change, few))),
            forecast: None,
        })
    };
    let sizes: Vec<EffectAtSize> = classes.values().enumerate().filter_map(at_size).collect();
    let few = parts.iter().map(Vec::len).min().unwrap_or(0);
    let all: Vec<f64> = resampled.iter().filter_map(|it| it.all).collect();
    let error = standard_deviation(&all);
    let gain_ci95 = observed.all.map(|change| gains(interval(all, change, few)));
    let (changed, unchanged): (Vec<_>, Vec<_>) =
        quantities([before, after], seed).into_iter().partition(differs);
    let paths_differ = changed.iter().any(|it| it.what == ROUND_TRIP);
    let verdict = match gain_ci95 {
        Some([low, _]) if low > 0.0 && !paths_differ => "sooner",
        Some([_, high]) if high < 0.0 && !paths_differ => "later",
        _ => "no difference shown",
    };
    let shown = verdict != "no difference shown" || paths_differ;
    let needed = error
        .filter(|_| !shown && observed.all.is_some())
        .and_then(|error| needed(error, parts.each_ref().map(Vec::len)));
    Effect {
        warnings: warnings(&sides, &sizes, &changed, paths_differ),
        changed,
        unchanged,
        sizes,
        verdict: verdict.into(),
        gain: observed.all.map(gain),
        gain_ci95,
        connections_needed: needed,
        paths_differ,
        no_forecast: None,
        before: sides[0].described(),
        after: sides[1].described(),
        seed,
    }
}

/// Sums of each class over the connections of both sides, each as often as `times` has it.
fn sums(parts: &[Vec<Parts>; 2], times: [Option<&[u32]>; 2], classes: usize) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); classes];
    for (side, times) in parts.iter().zip(times) {
        for (index, connection) in side.iter().enumerate() {
            let times = times.map_or(1, |times| times[index]);
            if times > 0 {
                connection.iter().for_each(|(place, part)| sums[*place].add_times(part, f64::from(times)));
            }
        }
    }
    sums
}

fn resampled(parts: &[Vec<Parts>; 2], weights: &[f64], classes: usize, seed: u64) -> Vec<Effects> {
    if parts.iter().any(|side| side.len() < FEWEST) {
        return vec![];
    }
    let mut draw = Draw::new(parts.each_ref().map(Vec::len), seed, "effect");
    (0..draw.resamples)
        .map(|_| {
            draw.again();
            let [before, after] = &draw.times;
            Effects::of(&sums(parts, [Some(before), Some(after)], classes), weights)
        })
        .collect()
}

/// Draws of connections with replacement, both sides apart.
struct Draw {
    stream: Stream,
    times: [Vec<u32>; 2],
    resamples: usize,
}

impl Draw {
    fn new(counts: [usize; 2], seed: u64, name: &str) -> Self {
        let all = counts.iter().sum::<usize>().max(1);
        Self {
            stream: Stream::named(seed, name),
            times: counts.map(|count| vec![0; count]),
            resamples: (DRAWS / all).clamp(LEAST_RESAMPLES, RESAMPLES),
        }
    }

    fn again(&mut self) {
        for times in &mut self.times {
            times.fill(0);
            let count = times.len();
            for _ in 0..count {
                times[self.stream.below(count)] += 1;
            }
        }
    }
}

/// Share by which a transfer ends sooner if the logarithm of its time changes by `change`.
fn gain(change: f64) -> f64 {
    1.0 - exp(change)
}

fn gains([low, high]: Ci95) -> Ci95 {
    [gain(high), gain(low)]
}

/// Interval of a value from its resamples, for `count` connections on the smaller side: the percentile interval whose shares are those of
/// Student's t, and `value` in any case.
fn interval(mut resampled: Vec<f64>, value: f64, count: usize) -> Ci95 {
    if resampled.is_empty() {
        return [value, value];
    }
    resampled.sort_by(f64::total_cmp);
    let count = count.max(2);
    let wide = (count as f64 / (count - 1) as f64).sqrt() * t_975(count - 1);
    let outside = normal::above(wide);
    [type_7(&resampled, outside).min(value), type_7(&resampled, 1.0 - outside).max(value)]
}

fn standard_deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    (values.len() >= 2).then(|| {
        let mean = values.iter().sum::<f64>() / count;
        (values.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>() / (count - 1.0)).sqrt()
    })
}

/// Connections on each side that show the least difference worth having: n = 2 (2.80 s / ln 1.02)², with the standard deviation s of a
/// connection, which an `error` of the difference between sides of `counts` connections has.
fn needed(error: f64, counts: [usize; 2]) -> Option<u64> {
    let share: f64 = counts.into_iter().map(|count| 1.0 / count as f64).sum();
    let deviation = error / share.sqrt();
    let n = 2.0 * (POWER * deviation / log(1.0 + PairedDifference::WORTH_HAVING)).powi(2);
    (n > 0.0).then(|| n.ceil() as u64)
}

const FIRST_FLIGHT: &str = "first flight";
const ROUND_TRIP: &str = "round trip";

/// Number of the connections whose losses are modelled.
fn modelled(side: &Connections) -> usize {
    side.connections.iter().filter(|it| it.source == "datagrams").count()
}

/// Sources of the connections of a side, in a row.
fn sources(side: &Connections) -> String {
    let all: BTreeSet<&str> = side.connections.iter().map(|it| it.source.as_str()).collect();
    all.into_iter().collect::<Vec<_>>().join(", ")
}

/// Quantities of the connections on both sides.
fn quantities(sides: [&Connections; 2], seed: u64) -> Vec<Change> {
    let mut found = vec![];
    let medians = |what: &str, unit: &str, value: fn(&CapturedConnection) -> Option<f64>| {
        let median = |side: &Connections| {
            let mut values: Vec<f64> = side.connections.iter().filter_map(value).collect();
            values.sort_by(f64::total_cmp);
            (!values.is_empty()).then(|| (type_7(&values, 0.5), quantile_ci95(&values, 0.5)))
        };
        let [(before, before_ci95), (after, after_ci95)] = [median(sides[0])?, median(sides[1])?];
        Some(Change { what: what.into(), unit: unit.into(), before, before_ci95, after, after_ci95 })
    };
    found.extend(medians(FIRST_FLIGHT, "packets", |it| it.initial_window_packets.map(|it| it as f64)));
    found.extend(medians(ROUND_TRIP, "ms", |it| it.rtt_ms));
    let paced =
        |it: &CapturedConnection| it.first_flight_paced.map(|paced| [f64::from(u8::from(paced)), 1.0]);
    found.extend(share("paced first flights", sides, seed, paced));
    // Those of encrypted QUIC are modelled, so that a difference may be one of the model.
    if sides.iter().all(|side| modelled(side) == 0) {
        let again = |it: &CapturedConnection| Some([it.retransmitted_packets as f64, it.packets as f64]);
        found.extend(share("retransmitted", sides, seed, again));
    }
    found
}

/// A share over all connections of each side: the sum of the first numbers over that of the second ones.
fn share(
    what: &str,
    sides: [&Connections; 2],
    seed: u64,
    parts: impl Fn(&CapturedConnection) -> Option<[f64; 2]>,
) -> Option<Change> {
    let parts = sides.map(|side| side.connections.iter().filter_map(&parts).collect::<Vec<_>>());
    if parts.iter().any(|side| side.len() < FEWEST) {
        return None;
    }
    let ratio = |side: &[[f64; 2]], times: Option<&[u32]>| {
        let weighed = side
            .iter()
            .enumerate()
            .map(|(index, part)| (part, times.map_or(1.0, |times| f64::from(times[index]))));
        let [above, below] =
            weighed.fold([0.0; 2], |sum, (part, times)| [sum[0] + times * part[0], sum[1] + times * part[1]]);
        (below > 0.0).then_some(above / below)
    };
    let mut draw = Draw::new(parts.each_ref().map(Vec::len), seed, what);
    let mut resampled = [vec![], vec![]];
    for _ in 0..draw.resamples {
        draw.again();
        for side in 0..2 {
            resampled[side].extend(ratio(&parts[side], Some(&draw.times[side])));
        }
    }
    let [before, after] = [ratio(&parts[0], None)?, ratio(&parts[1], None)?];
    let [of_before, of_after] = resampled;
    let bounded = |ci: Ci95| ci.map(|end| end.clamp(0.0, 1.0));
    Some(Change {
        what: what.into(),
        unit: String::new(),
        before,
        before_ci95: bounded(interval(of_before, before, parts[0].len())),
        after,
        after_ci95: bounded(interval(of_after, after, parts[1].len())),
    })
}

/// Whether the intervals have no value in common. Round trips also differ by a share that is worth having, at least.
fn differs(change: &Change) -> bool {
    let apart = change.before_ci95[1] < change.after_ci95[0] || change.after_ci95[1] < change.before_ci95[0];
    let much = || (change.after / change.before - 1.0).abs() >= PairedDifference::WORTH_HAVING;
    apart && (change.what != ROUND_TRIP || much())
}

fn warnings(
    sides: &[Side<'_>; 2],
    sizes: &[EffectAtSize],
    changed: &[Change],
    paths_differ: bool,
) -> Vec<String> {
    let mut warnings = vec![];
    if paths_differ && let Some(rtt) = changed.iter().find(|it| it.what == ROUND_TRIP) {
        warnings.push(format!(
            "the paths differ: the round trip is {:.3} ms before and {:.3} ms after; a difference of paths is no effect of the setting",
            rtt.before, rtt.after
        ));
    }
    for side in sides {
        let all = &side.given.connections;
        let elsewhere = all.iter().filter(|it| it.captured_at != "sender").count();
        if 2 * elsewhere > all.len() {
            warnings.push(format!(
                "{}: {elsewhere} of {} connections were not captured at their sender, whose first flight and times are then uncertain",
                side.given.name,
                all.len()
            ));
        }
    }
    for side in sides.iter().filter(|side| modelled(side.given) > 0) {
        warnings.push(format!(
            "{}: the losses of {} of {} connections of QUIC are modelled, so that retransmissions are not compared; qlogs of the sender have \
             them",
            side.given.name,
            modelled(side.given),
            side.given.connections.len()
        ));
    }
    let [before, after] = sides.each_ref().map(|side| sources(side.given));
    if before != after && !before.is_empty() && !after.is_empty() {
        warnings.push(format!(
            "the sources of the packets differ: {before} before and {after} after; first flights and times may differ by that alone"
        ));
    }
    if sizes.is_empty() {
        let [before, after] = sides.each_ref().map(|side| side.transfers().count());
        warnings.push(format!(
            "no size has transfers on both sides: {before} transfers of 9.5 KB or more count before, and {after} after"
        ));
    } else if sizes.iter().all(|it| it.gain_ci95.is_none()) {
        warnings.push(format!(
            "no size has transfers of {FEWEST} connections on each side, which an interval needs"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests;
