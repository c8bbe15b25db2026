//! The answer of a comparison: the one setting that a server should have.

use crate::object::object;
use crate::values::Ci95;

object! {
    /// The one setting that a server should have, as its connections of every size share one. Candidates are those that the stack can
    /// have; each size counts as `sizes` weighs it.
    pub struct Answer = "answer" {
        /// Kind of the answer: `change`, `keep` or `cannot-tell`.
        verdict: String,
        /// The stack whose start that of the captured sender resembles, as a phrase: `nginx 1.26`. Null without a capture, and if none does.
        starts_as: Option<String>,
        /// Buffer of the stack that limits its larger transfers, as a phrase that names its option: `nginx 1.26 has at most 65.536 KB in flight,
        /// whatever its window; http3_stream_buffer_size raises it`. Null if the stack has none, if no size exceeds the buffer, and if the setting changes it.
        @(default) cap: Option<String>,
        /// The answer in at most 20 words.
        sentence: String,
        /// Chain of labels of the setting to have; null unless the verdict is `change`.
        setting: Option<String>,
        /// Commands or options that set it, one after another; empty unless the verdict is `change`.
        commands: Vec<String> => nested,
        /// Share by which transfers end sooner than now, as the weighed geometric mean of their times: 0.23 for 23 %. Null unless the verdict
        /// is `change`, and without a scheme to gain over.
        gain: Option<f64> [""; Any],
        /// 95 % interval of `gain`; null without it.
        gain_ci95: Option<Ci95> [""; Any] => nested,
        /// Probability that a transfer ends sooner than now on the same path, the weighed mean over the sizes: the share of the replications whose
        /// times differ; a size without any does not count. Null unless the verdict is `change`.
        @(default) sooner: Option<f64> [""; Share],
        /// Times at each size, ascending; empty without an answer.
        sizes: Vec<AnswerAtSize> => nested,
        /// Share of the captured transfers that no size stands for: a transfer counts at the nearest size, if theirs is within a factor of
        /// the square root of ten. Null unless captured transfers weigh the sizes.
        uncounted: Option<f64> [""; Share],
        /// Packets that a transfer loses with the setting, as the weighed mean; null unless the verdict is `change`.
        drops: Option<f64> ["packets"],
        /// The same now; null without the scheme that the stack has now.
        drops_now: Option<f64> ["packets"],
        /// Time of the bystander that is harmed most at any size, over its time beside the scheme that the stack has now; null unless the
        /// verdict is `change`, and if harm was not measured.
        harm: Option<f64>,
        /// Largest harm that a setting may do; null without a limit.
        max_harm: Option<f64>,
        /// Networks of clients whose transfers end later at some size; empty for a single path.
        later_networks: Vec<String> => nested,
        /// Rule that decided: `gain` (the best setting within the limits), `no-gain` (none is worth having), `no-setting` (the stack has none of
        /// the others), `harm`, `drops`, `costs` (every gain has one of these costs or the next), `later` (every
        /// gain is a loss at some size), `harm-open` (the harm
        /// of a gain may exceed the limit), `gain-open` (a gain may be a loss), `no-answer` (the results are none), `no-end` (transfers do not end in the time
        /// allowed), `no-reference` (the scheme that the stack has now was not
        /// compared).
        decided_by: String,
        /// Trust in the answer: `sure`, `likely` or `cannot tell`.
        trust: String,
        /// Reason for `trust`: a sentence without its full stop.
        trust_why: String,
        /// Capture that would help, as a phrase: `more connections, from their first packet`. Null unless the verdict is `cannot-tell`, and if the path
        /// was given.
        capture_more: Option<String>,
        /// Starts that this stack cannot have, which would gain more than `gain`: the best first.
        research: Vec<ResearchStart> => nested,
    }
}

object! {
    /// Times of transfers of one size, now and with the setting of the answer.
    pub struct AnswerAtSize: Copy = "size of the answer" {
        /// Transfer size in application bytes.
        size_bytes: u64 ["bytes"],
        /// Weight of the size; those of all sizes add up to one.
        weight: f64 [""; Share],
        /// Median time now; null without the scheme that the stack has now, or if no transfer ended.
        now_s: Option<f64> ["s"],
        /// 95th percentile now.
        now_p95_s: Option<f64> ["s"],
        /// Median time with the setting; null unless the verdict is `change`.
        then_s: Option<f64> ["s"],
        /// 95th percentile with the setting.
        then_p95_s: Option<f64> ["s"],
        /// Share by which the median ends sooner; null without both.
        gain: Option<f64> [""; Any],
        /// Probability that a transfer of this size ends sooner with the setting than now; null without both, and if all times are equal.
        @(default) sooner: Option<f64> [""; Share],
        /// Harm of the setting at this size; null if it was not measured.
        harm: Option<f64>,
    }
}

object! {
    /// A start that the stack cannot have.
    pub struct ResearchStart = "research start" {
        /// Chain of labels.
        scheme: String,
        /// Share by which transfers end sooner than now, as for the answer's `gain`.
        gain: f64 [""; Any],
        /// Largest harm at any size; null if it was not measured.
        harm: Option<f64>,
        /// Whether its costs are within the limits.
        within_limits: bool,
    }
}
