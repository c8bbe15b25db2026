//! Results of comparisons: the object of `firstflight compare --json`.

use firstflight_contract::Exit;

use crate::answer::Answer;
use crate::object::object;
use crate::path::{ConnectionResult, Copies, PassedOver, PathResult};
use crate::values::{Ci95, Mean, exit_word};

object! {
    /// Result of a comparison.
    pub struct Comparison = "comparison" {
        /// Title of the scenario, name of the preset or file name of the capture.
        title: String,
        /// The path on which the schemes were compared.
        path: PathResult => nested,
        /// Captured connections and their re-runs; empty without a capture.
        connections: Vec<ConnectionResult> => nested,
        /// Packets of the capture that were left out because it contains them another time; absent without any.
        @(default, skip_serializing_if = "Option::is_none") copies: Option<Copies> => nested,
        /// Result of every scheme at every size, by size and, within a size, by rank.
        results: Vec<SchemeResult> => nested,
        /// The one setting that the server should have; null in results of programs that had none.
        @(default) answer: Option<Answer> => nested,
        /// Recommendation at each size, ascending.
        @(default) recommended: Vec<Recommended> => nested,
        /// The one candidate for transfers of every size, as a server has one setting for all its connections; null for a single
        /// size, without a scheme to gain over, and without an answer.
        @(default) for_all_sizes: Option<ForAllSizes> => nested,
        /// The networks of clients that a capture holds, each with its own path and results; those with most data first. The
        /// results above are then those of their mix. Absent unless there are several.
        @(default, skip_serializing_if = "Vec::is_empty") groups: Vec<NetworkResult> => nested,
        /// Reason why the results are no answer, and nothing is recommended: a sentence without its full stop; null if they
        /// are one.
        @(default) no_answer: Option<String>,
        /// Median relative error of the times of the re-runs of captured connections; null without a capture, or if no
        /// connection can be compared with its re-run.
        @(default) departure: Option<f64>,
        /// Schemes in the order in which they were asked for.
        schemes: Vec<String> => nested,
        /// The one of `schemes` against which the others are measured: slow start with their avoidance; null without it.
        baseline: Option<String>,
        /// The one of `schemes` that is the default of the stack; null if it is not among them.
        @(default) present: Option<String>,
        /// Groups of two or more of `schemes` whose replications are equal at every size.
        @(default) same: Vec<Vec<String>> => nested,
        /// Origin of the numbers, and the way to get them again.
        provenance: Provenance => nested,
        /// Facts that limit the trust in the numbers, most important first.
        warnings: Vec<String> => nested,
        /// Packets of the capture that may have carried TCP and could not be read, by file and reason; absent if there are none.
        @(default, skip_serializing_if = "Vec::is_empty") passed_over: Vec<PassedOver> => nested,
    }
}

object! {
    /// Result of one scheme at one size, over all replications.
    pub struct SchemeResult = "scheme" {
        /// Chain of labels: `slow-start+reno`.
        scheme: String,
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Distribution of the completion times; null if no replication finished.
        completion_s: Option<Completion> ["s"] => nested,
        /// Mean packets retransmitted.
        retransmits_mean: f64 ["packets"],
        /// Typical end of start-up; null if start-up outlasted the transfer in more than half the replications.
        startup_exit: Option<TypicalExit> => nested,
        /// Rank by median completion time at this size; 1 is the smallest.
        rank: u32,
        /// Scheme that stands for this one in tables, because all its replications at this size are equal: `present`, the
        /// baseline, or the first by rank. Null if no other has the same, and for that scheme itself.
        @(default) same_as: Option<String>,
        /// Whether the difference from rank 1 is not worth having: below 2 % of the time of rank 1, or with an interval that
        /// contains zero.
        ties_with_best: bool,
        /// Replications run.
        replications: u32,
        /// Replications that did not finish in the time allowed.
        unfinished: u32,
        /// Paired difference from the baseline under common random numbers; null for the baseline itself, without one, or if its
        /// transfers take no time.
        against_baseline: Option<PairedDifference> => nested,
        /// Difference from `present`, as `against_baseline` is from the baseline; null for `present` itself and without it.
        @(default) against_present: Option<PairedDifference> => nested,
        /// TCP data packets of all flows lost on the path during the transfer.
        drops: Mean ["packets"] => nested,
        /// Mean of the lost packets of other flows, which `drops` contains; zero on a path without cross traffic.
        others_drops_mean: f64 ["packets"],
        /// Mean retransmission timeouts.
        timeouts_mean: f64,
        /// Names of the unknown path values over whose range the intervals of this result extend.
        widened_by: Vec<String> => nested,
        /// Initial window in which the candidate differs from the stack; null if it is the stack's own.
        @(default) initial_window_packets: Option<u64> ["packets"],
        /// Harm to others that share the bottleneck; null if it was not measured, or if they did not end.
        @(default) harm: Option<Harm> => nested,
        /// Commands or options by which the candidate is had today, one text for each stack; empty if this stack does not have it.
        @(default) how: Vec<String> => nested,
        /// Rare events that would delay a further transfer beyond the range of `completion_s.quantiles`, and that the input
        /// cannot exclude.
        @(default) risks: Vec<Risk> => nested,
    }
}

object! {
    /// Distribution of completion times.
    pub struct Completion: Copy = "completion" {
        /// Median.
        median: f64 ["s"],
        /// 95th percentile.
        p95: f64 ["s"],
        /// Interval of the median, 95 %. On a path inferred from a capture it extends over the unknown values of the path.
        ci95: Ci95 ["s"] => each("ci95_low", "ci95_high"),
        /// 95 % interval of the 95th percentile.
        p95_ci95: Ci95 ["s"] => each("p95_ci95_low", "p95_ci95_high"),
        /// Range of a further transfer: the times before which it ends with probability 5, 25, 50, 75 and 95 %.
        quantiles: [f64; 5] ["s"] => each("q5", "q25", "q50", "q75", "q95"),
        /// Mean.
        mean: f64 ["s"],
        /// 95 % interval of the mean.
        mean_ci95: Ci95 ["s"; Any] => each("mean_ci95_low", "mean_ci95_high"),
    }
}

object! {
    /// Harm to bystanders: their time beside the candidate, over their time beside the scheme that the stack has now. 1 is
    /// none, 1.1 a tenth later.
    pub struct Harm: Copy = "harm" {
        /// A bulk flow by Cubic.
        bulk: f64,
        /// 95 % interval of `bulk` over its replications.
        bulk_ci95: Ci95 [""] => each("bulk_ci95_low", "bulk_ci95_high"),
        /// A connection of short requests and responses.
        request_response: f64,
        /// 95 % interval of `request_response` over its replications.
        request_response_ci95: Ci95 [""] => each("request_response_ci95_low", "request_response_ci95_high"),
        /// Replications with bystanders: more for a candidate whose harm is near the limit.
        replications: u32,
    }
}

object! {
    /// Event that would delay a further transfer.
    pub struct Risk = "risk" {
        /// Event: a noun phrase.
        what: String,
        /// Probability that a transfer meets it.
        probability: f64 [""; Share],
        /// Median completion time of the transfers that meet it.
        completion_s: f64 ["s"],
    }
}

object! {
    /// Recommendation at one size.
    pub struct Recommended = "recommendation" {
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Chain of labels; null if no difference from the baseline is worth having, or if there is no answer.
        scheme: Option<String>,
        /// Initial window of the recommended candidate; null if it is the stack's own, or if nothing is recommended.
        initial_window_packets: Option<u64> ["packets"],
        /// Lower end, value and upper end of the gain over `present`, or over the baseline without it: the share of its median
        /// time by which the median ends sooner, 0.23 for 23 %, negative if later; the ends are those of its 95 % interval. Another statistic than
        /// the geometric mean in `provenance.chosen_by` takes the place of the median. If
        /// no difference is worth having, the gain of the fastest scheme within the limits. Null without either or an answer.
        gain: Option<[f64; 3]> [""; Any] => nested,
        /// Probability that a transfer ends sooner with it than with `present`, or the baseline without it, on the same path: the share of the
        /// replications whose times differ. Null without a scheme to compare with, without such replications, or if nothing is recommended.
        @(default) sooner: Option<f64> [""; Share],
        /// Largest harm to either bystander that a recommended candidate may do; null without a limit.
        @(default) max_harm: Option<f64>,
        /// Largest mean number of dropped packets that it may cause; null without a limit.
        @(default) max_drops: Option<f64> ["packets"],
        /// Other candidates within the limits that are as fast as the fastest of them: the replications do not show that they take longer
        /// by as much as a difference worth having. By rank.
        @(default) as_fast: Vec<String> => nested,
        /// Criteria that chose `scheme` before those of `as_fast`, in their order: `harm` (it is among those that do the least harm),
        /// `all-sizes` (it is the candidate for all sizes, and one setting is less change than several), `change` (it is the smallest
        /// change), `time` (it is the fastest of equal changes). Empty without `as_fast`.
        @(default) chosen_by: Vec<String> => nested,
        /// Candidates that are not recommended because their harm may exceed `max_harm`: those that end sooner than `scheme` or may be as
        /// fast; without `scheme` those whose gain is worth having. By rank.
        @(default) undecided: Vec<String> => nested,
        /// Reason: a sentence without its full stop.
        why: String,
    }
}

object! {
    /// The candidate that serves every size best, each size counting alike. Its gain at each size is `against_present` of its results.
    pub struct ForAllSizes = "one candidate for all sizes" {
        /// Chain of labels; null if no candidate has a gain that is worth having over all sizes together, within the limits and
        /// without loss of time at every size.
        scheme: Option<String>,
        /// Initial window of the candidate; null if it is the stack's own, or without a candidate.
        initial_window_packets: Option<u64> ["packets"],
        /// Lower end, value and upper end of the gain over `present`, or over the baseline without it, over all sizes together: the
        /// share by which the geometric mean of the times, or the statistic in `provenance.chosen_by`, is lower, 0.23 for 23 %; the ends are those of its 95 % interval. Null without
        /// a candidate.
        gain: Option<[f64; 3]> [""; Any] => nested,
        /// Probability that a transfer ends sooner with it, the mean over the sizes, as in a recommendation. Null without a candidate.
        @(default) sooner: Option<f64> [""; Share],
        /// Other candidates that could serve every size and are as fast over all sizes together, the fastest first.
        as_fast: Vec<String> => nested,
        /// Candidates that may be faster or as fast, but whose harm may exceed the limit at some size, the fastest first.
        undecided: Vec<String> => nested,
        /// Reason: a sentence without its full stop.
        why: String,
    }
}

object! {
    /// One network of clients of a capture, answered by itself.
    pub struct NetworkResult = "network" {
        /// Its address with the length of its prefix, and the number of its path if its connections crossed several.
        network: String,
        /// Captured connections that carried data. Those of a network with several paths are divided among the paths as their
        /// data is.
        connections: u64,
        /// Data bytes of all of them, in both directions.
        bytes: u64 ["bytes"],
        /// Its path.
        path: PathResult => nested,
        /// Recommendation at each size for this network alone, ascending.
        recommended: Vec<Recommended> => nested,
        /// Result of every scheme at every size, by size and, within a size, by rank.
        results: Vec<SchemeResult> => nested,
        /// Share of the network in the mix at each size, ascending.
        mix: Vec<MixShare> => nested,
        /// Reason why it has no answer and is no part of the mix: a sentence without its full stop; null if it has one.
        no_answer: Option<String>,
        /// Median relative error of the times of the re-runs of its connections; null if none can be compared.
        departure: Option<f64>,
        /// Facts that limit the trust in its numbers, most important first.
        warnings: Vec<String> => nested,
    }
}

object! {
    /// Share of a network in the mix at one size.
    pub struct MixShare: Copy = "share" {
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Captured transfers to the network whose size is within a factor of the square root of ten of this one.
        transfers: u64,
        /// Share of the network in the mix; 0 without an answer.
        share: f64 [""; Share],
    }
}

object! {
    /// Difference between the median completion times of two schemes whose replications met the same randomness. It is the
    /// difference of the two medians that the results list.
    pub struct PairedDifference: Copy = "difference" {
        /// Median time of this scheme minus that of the baseline; negative is sooner.
        seconds: f64 ["s"; Any],
        /// 95 % interval of that difference.
        seconds_ci95: Ci95 ["s"; Any] => each("seconds_ci95_low", "seconds_ci95_high"),
        /// The difference as a share of the baseline's median, at least -1: -0.23 is 23 % sooner.
        relative: f64 [""; Any],
        /// 95 % interval of that share.
        relative_ci95: Ci95 [""; Any] => each("relative_ci95_low", "relative_ci95_high"),
    }
}

object! {
    /// Typical end of start-up over the replications.
    pub struct TypicalExit: Copy = "typical exit" {
        /// Median time since the flow's start.
        time_s: f64 ["s"],
        /// Median congestion window at the exit, before any reduction.
        cwnd_packets: f64 ["packets"],
        /// Most frequent reason.
        @(with = "exit_word") reason: Exit,
        /// Bandwidth-delay product: bottleneck rate times two-way propagation, without the buffer.
        bdp_packets: f64 ["packets"],
        /// Median of window minus bandwidth-delay product minus buffer, each at least 0.
        overshoot_packets: f64 ["packets"],
        /// Median of the packets lost of those first sent before the exit.
        lost_before_exit_packets: f64 ["packets"],
        /// Share of the replications whose start-up ended, 0 to 1.
        exited: f64 [""; Share],
        /// Share of those whose start-up ended for `reason`, 0 to 1.
        agreed: f64 [""; Share],
    }
}

object! {
    /// Origin of the numbers, and the way to get them again.
    pub struct Provenance: Default = "provenance" {
        /// Version of the program: `0.1.0`.
        version: String,
        /// Source from which the program was built, as `git describe` names it; equal to `version` outside a repository.
        revision: String,
        /// Seed from which all random streams are derived.
        seed: u64,
        /// Replications of each scheme at each size.
        replications: u32,
        /// SHA-256 of `scenario`, in hexadecimal.
        scenario_sha256: String,
        /// The scenario that was run, complete, as TOML.
        scenario: String,
        /// Command line, quoted so that it can be pasted into a shell.
        command: String,
        /// Host that ran the schemes: `simulator`.
        host: String,
        /// Operating system and processor of the machine: `linux x86_64`.
        machine: String,
        /// Method of the intervals: a sentence without its full stop.
        interval_method: String,
        /// Statistic of the times by which candidates are chosen: `geometric-mean`, `mean`, or a percentile such as `p95`. Empty in older results.
        @(default) chosen_by: String,
        /// Input files.
        inputs: Vec<InputFile> => nested,
    }
}

object! {
    /// An input file.
    pub struct InputFile: Eq = "input" {
        /// File name without folders.
        name: String,
        /// Length.
        bytes: u64 ["bytes"],
        /// SHA-256 of the content, in hexadecimal.
        sha256: String,
    }
}

impl PairedDifference {
    /// Least difference worth having, as a share of the baseline's time. Over an exactly known path, the forecast of a median
    /// may be off by 0.5 % (`docs/predictions.md`). The forecast of the baseline may be off by as much. A difference below 1 %
    /// may thus be none. The other 1 % pays for the change to a server.
    pub const WORTH_HAVING: f64 = 0.02;

    /// Whether this scheme is sooner by at least [`WORTH_HAVING`](Self::WORTH_HAVING), and its whole interval is sooner.
    pub fn worth_having(&self) -> bool {
        self.relative <= -Self::WORTH_HAVING && self.relative_ci95[1] < 0.0
    }

    /// Whether this scheme is later by at least [`WORTH_HAVING`](Self::WORTH_HAVING), and its whole interval is later.
    pub fn worth_avoiding(&self) -> bool {
        self.relative >= Self::WORTH_HAVING && self.relative_ci95[0] > 0.0
    }

    /// Lower end, value and upper end of the gain: the share of the baseline's time by which this scheme is sooner.
    pub fn gain(&self) -> [f64; 3] {
        let [low, high] = self.relative_ci95;
        // Zero minus, so that no gain is 0 and not -0.
        [high, self.relative, low].map(|later| 0.0 - later)
    }
}

impl Harm {
    /// The harm to each bystander, and its interval.
    pub fn each(&self) -> [(f64, Ci95); 2] {
        [(self.bulk, self.bulk_ci95), (self.request_response, self.request_response_ci95)]
    }

    /// The harm to the bystander that decides on `limit`, and its interval: the one whose interval begins highest if that is above
    /// it, the one whose interval ends highest if the replications do not decide, and else the one that is harmed more.
    pub fn deciding(&self, limit: Option<f64>) -> (f64, Ci95) {
        let [bulk, requests] = self.each();
        let key = |(value, [low, high]): (f64, Ci95)| match limit.map(|limit| self.within(limit)) {
            Some(Some(false)) => low,
            Some(None) => high,
            None | Some(Some(true)) => value,
        };
        if key(bulk) >= key(requests) { bulk } else { requests }
    }

    /// Largest upper end of an interval whose value is within `limit`: above the limit by less than a difference worth having. A limit
    /// is a round number, and a difference below that is worth nothing.
    pub fn most(limit: f64) -> f64 {
        limit * (1.0 + PairedDifference::WORTH_HAVING)
    }

    /// Whether the harm to both bystanders is within `limit`: yes if both values are, and neither interval extends beyond it by as
    /// much as a difference worth having ([`most`](Self::most)); no if one interval begins above it; and `None` if the replications do not
    /// decide.
    pub fn within(&self, limit: f64) -> Option<bool> {
        let each = self.each();
        if each.iter().any(|(_, [low, _])| *low > limit) {
            return Some(false);
        }
        each.iter().all(|(value, [_, high])| *value <= limit && *high <= Self::most(limit)).then_some(true)
    }
}

impl NetworkResult {
    /// The row of a scheme at a size.
    pub fn result(&self, scheme: &str, size_bytes: u64) -> Option<&SchemeResult> {
        self.results.iter().find(|it| it.size_bytes == size_bytes && it.scheme == scheme)
    }
}

/// The networks of a mix that lose by a scheme: its difference is [`worth_avoiding`](PairedDifference::worth_avoiding) there.
#[derive(Clone, Debug, PartialEq)]
pub struct Losers<'a> {
    /// Networks with an answer in which the scheme can be compared.
    pub compared: usize,
    /// Number of those that lose.
    pub count: usize,
    /// The one that loses most, and the share of its time by which it ends later.
    pub most: Option<(&'a str, f64)>,
}

impl<'a> Losers<'a> {
    /// The losers at one size; `None` if there is no network in which the scheme can be compared.
    pub fn of(groups: &'a [NetworkResult], scheme: &str, size_bytes: u64) -> Option<Self> {
        let answered = groups.iter().filter(|it| it.no_answer.is_none());
        let difference =
            |it: &'a NetworkResult| Some((&*it.network, it.result(scheme, size_bytes)?.against()?));
        let compared: Vec<(&str, &PairedDifference)> = answered.filter_map(difference).collect();
        let lose = compared.iter().filter(|(_, difference)| difference.worth_avoiding());
        let lose: Vec<(&str, f64)> = lose.map(|(name, difference)| (*name, difference.relative)).collect();
        let most = lose.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        (!compared.is_empty()).then_some(Self { compared: compared.len(), count: lose.len(), most })
    }
}

impl std::fmt::Display for Losers<'_> {
    /// A clause: `2 of 12 networks lose by it, most of all 203.0.113.0/24, by 12 %`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { compared, count, most } = *self;
        let networks = if compared == 1 { "network" } else { "networks" };
        match most {
            None => write!(f, "none of {compared} {networks} loses by it"),
            Some((name, by)) => {
                let lose = if count == 1 { "loses" } else { "lose" };
                let percent = by * 100.0;
                write!(
                    f,
                    "{count} of {compared} {networks} {lose} by it, most of all {name}, by {percent:.0} %"
                )
            }
        }
    }
}

impl SchemeResult {
    /// Difference of a scheme other than the present one from it, or from the baseline where the present one was not compared.
    pub fn against(&self) -> Option<&PairedDifference> {
        self.against_present.as_ref().or(self.against_baseline.as_ref())
    }
}

impl Comparison {
    /// The scheme from which differences are shown: the one that the stack has now, or the baseline where that was not compared.
    pub fn reference(&self) -> Option<&String> {
        self.present.as_ref().or(self.baseline.as_ref())
    }

    /// Difference of a result from the [reference](Self::reference); `None` for the reference itself and without one.
    pub fn difference(&self, result: &SchemeResult) -> Option<PairedDifference> {
        let other = self.reference().is_some_and(|reference| *reference != result.scheme);
        let from = if self.present.is_some() { result.against_present } else { result.against_baseline };
        from.filter(|_| other)
    }

    /// The sizes compared, ascending, each once.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.results.iter().map(|r| r.size_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The results at one size, by rank.
    pub fn ranked(&self, size_bytes: u64) -> Vec<&SchemeResult> {
        let mut of_size: Vec<_> = self.results.iter().filter(|r| r.size_bytes == size_bytes).collect();
        of_size.sort_by_key(|r| r.rank);
        of_size
    }
}

#[cfg(test)]
mod tests;
