//! The one setting that a server should have, with what it gains, what it costs and how sure that is.
//!
//! The rule is that of the candidate for all sizes ([`super::for_all_sizes`]), with two differences: only settings that the server's stack can
//! have are candidates, and each size counts as often as it was transferred.

use firstflight_document::quantity::show_bytes;
use firstflight_results::{
    Answer, AnswerAtSize, Completion, NetworkResult, PairedDifference, ResearchStart, SchemeResult,
};
use firstflight_scenario::{Candidate, Profile, SchemeSpec, Settings, Threshold};

use super::cost::Verdict;
use super::{Field, Question, Standing};
use crate::how::{Route, change, deployable};
use crate::weights::Weights;

/// Departure of the re-runs above which an answer is not sure.
const SURE_DEPARTURE: f64 = 0.1;

/// Starts of the literature that are named at most.
const MOST_RESEARCH: usize = 3;

/// Words of an order at most: a longer one is the label. With it, no sentence has more than 20 words.
const MOST_WORDS: usize = 10;

/// Origin of the path of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Given by the user, a preset or a scenario.
    Given,
    /// Inferred from a capture.
    Captured,
}

/// Facts beside the results that an answer needs.
pub(crate) struct Facts<'a> {
    pub(crate) weights: &'a Weights,
    /// Routes to the server's clients.
    pub(crate) routes: &'a [Route],
    pub(crate) profile: Profile,
    /// The scheme that the sender has now.
    pub(crate) present: SchemeSpec,
    pub(crate) origin: Origin,
    /// The stack whose start the captured sender has, as a phrase.
    pub(crate) starts_as: Option<String>,
    /// Median relative error of the re-runs of the captured connections.
    pub(crate) departure: Option<f64>,
    /// Names of the path's unknown values.
    pub(crate) unknown: &'a [String],
    pub(crate) groups: &'a [NetworkResult],
}

/// Rule that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Gain,
    NoGain,
    NoSetting,
    Harm,
    Drops,
    Costs,
    Later,
    HarmOpen,
    GainOpen,
    NoAnswer,
    NoEnd,
    NoReference,
}

impl Rule {
    const fn word(self) -> &'static str {
        match self {
            Self::Gain => "gain",
            Self::NoGain => "no-gain",
            Self::NoSetting => "no-setting",
            Self::Harm => "harm",
            Self::Drops => "drops",
            Self::Costs => "costs",
            Self::Later => "later",
            Self::HarmOpen => "harm-open",
            Self::GainOpen => "gain-open",
            Self::NoAnswer => "no-answer",
            Self::NoEnd => "no-end",
            Self::NoReference => "no-reference",
        }
    }
}

/// The answer from `results` at `sizes`, which are ascending. The question's replications carry the weights of `facts`.
pub(crate) fn answer(
    results: &[SchemeResult],
    sizes: &[u64],
    question: &Question<'_>,
    facts: &Facts<'_>,
) -> Answer {
    let answer = decided(results, sizes, question, facts);
    let setting = question.candidates.iter().find(|it| Some(it.label()) == answer.setting);
    Answer { cap: cap(facts.profile, sizes, setting), ..answer }
}

/// The phrase about the buffer that limits larger transfers of a stack.
fn cap(profile: Profile, sizes: &[u64], setting: Option<&Candidate>) -> Option<String> {
    let stack = profile.stack();
    let most = stack.send_buffer?;
    let raised = setting.is_some_and(|it| it.settings.buffer.is_some());
    if raised || sizes.iter().all(|&size| size <= most) {
        return None;
    }
    let named = stack.options.send_buffer.map(|option| option(most));
    let option = named.as_deref().and_then(|text| text.split(' ').next());
    let raises = option.map_or("no option raises it".into(), |option| format!("{option} raises it"));
    let (name, most) = (stack.options.stack, show_bytes(most));
    Some(format!("{name} has at most {most} in flight, whatever its window; {raises}"))
}

fn decided(results: &[SchemeResult], sizes: &[u64], question: &Question<'_>, facts: &Facts<'_>) -> Answer {
    if let Some(why) = question.no_answer {
        return cannot_tell(Rule::NoAnswer, why.into(), facts, vec![]);
    }
    let had = of_stack(results, question, facts.profile);
    let field = Field::of(&had, sizes, question);
    let all = Field::of(results, sizes, question);
    let now = |base: Option<&Standing<'_>>| times(question, base, None, (sizes, facts));
    let Some(base) = &field.base else {
        let why = "the scheme that the stack has now was not compared".to_owned();
        return cannot_tell(Rule::NoReference, why, facts, vec![]);
    };
    if !base.finished() {
        let why = "with the scheme that the stack has now no transfer of some size ends in the time allowed";
        return cannot_tell(Rule::NoEnd, why.into(), facts, now(Some(base)));
    }
    let choice = question.beside(&field, base, None);
    let Some(standing) = choice.standing else {
        let rule = kept_by(question, &field, base);
        let research = research(question, &all, base, &had, 0.0);
        // More replications do not move a harm that lies at the limit; another capture shows other paths.
        if rule == Rule::GainOpen || rule == Rule::HarmOpen && facts.origin == Origin::Captured {
            let why = open(rule, question, &field, base);
            return Answer { research, ..cannot_tell(rule, why, facts, now(Some(base))) };
        }
        let (trust, trust_why) = match rule {
            Rule::HarmOpen => ("likely", open(rule, question, &field, base)),
            _ => trust(facts, None),
        };
        return Answer {
            verdict: "keep".into(),
            sentence: kept(rule),
            sizes: now(Some(base)),
            drops_now: Some(drops(base, sizes, facts)),
            max_harm: field.costs[0].harm,
            research,
            trust: trust.into(),
            trust_why,
            ..empty(rule, facts)
        };
    };
    let sooner = choice.sooner;
    let [low, gain, high] = choice.gain.unwrap_or_default();
    let (trust, trust_why) = trust(facts, Some(low));
    let harm = most_harm(standing);
    let later_networks = later_networks(facts.groups, standing);
    let setting = question.candidates.iter().find(|it| it.label() == standing.label());
    let setting = setting.expect("results are of candidates");
    let sentence = format!(
        "{}: transfers end {} sooner; {}.",
        words(setting, (facts.profile, &facts.present)),
        percent(gain),
        others(harm, later_networks.len())
    );
    Answer {
        verdict: "change".into(),
        sentence,
        setting: Some(standing.label().into()),
        commands: change(setting, facts.routes, (facts.profile, &facts.present)).unwrap_or_default(),
        gain: Some(gain),
        gain_ci95: Some([low, high]),
        sooner,
        sizes: times(question, Some(base), Some(standing), (sizes, facts)),
        drops: Some(drops(standing, sizes, facts)),
        drops_now: Some(drops(base, sizes, facts)),
        harm,
        max_harm: field.costs[0].harm,
        later_networks,
        trust: trust.into(),
        trust_why,
        research: research(question, &all, base, &had, gain),
        ..empty(Rule::Gain, facts)
    }
}

/// The results of the candidates that a stack can have, and of the one from which gains are measured.
pub(super) fn of_stack(
    results: &[SchemeResult],
    question: &Question<'_>,
    profile: Profile,
) -> Vec<SchemeResult> {
    let base = question.present.or(question.baseline);
    let has = |row: &&SchemeResult| {
        let candidate = question.candidates.iter().find(|it| it.label() == row.scheme);
        base == Some(row.scheme.as_str()) || candidate.is_some_and(|it| deployable(it, profile))
    };
    results.iter().filter(has).cloned().collect()
}

/// An answer without content but the rule.
fn empty(rule: Rule, facts: &Facts<'_>) -> Answer {
    Answer {
        verdict: String::new(),
        starts_as: facts.starts_as.clone(),
        cap: None,
        sentence: String::new(),
        setting: None,
        commands: vec![],
        gain: None,
        gain_ci95: None,
        sooner: None,
        sizes: vec![],
        uncounted: facts.weights.uncounted,
        drops: None,
        drops_now: None,
        harm: None,
        max_harm: None,
        later_networks: vec![],
        decided_by: rule.word().into(),
        trust: String::new(),
        trust_why: String::new(),
        capture_more: None,
        research: vec![],
    }
}

fn cannot_tell(rule: Rule, why: String, facts: &Facts<'_>, sizes: Vec<AnswerAtSize>) -> Answer {
    let more = capture_more(rule, facts);
    let sentence = match (&more, rule) {
        (_, Rule::NoEnd) => {
            "Cannot tell: transfers do not end in the time allowed; compare smaller ones (--size).".into()
        }
        (_, Rule::NoReference) => "Cannot tell: compare the scheme that the server has now, too.".into(),
        (Some(more), _) => format!("Cannot tell: capture {more}."),
        (None, _) => "Cannot tell: the runs do not decide; repeat with more of them (--runs).".into(),
    };
    Answer {
        verdict: "cannot-tell".into(),
        sentence,
        sizes,
        trust: "cannot tell".into(),
        trust_why: why,
        capture_more: more,
        ..empty(rule, facts)
    }
}

/// Capture that would help; `None` if the path was given, or if no capture helps.
fn capture_more(rule: Rule, facts: &Facts<'_>) -> Option<String> {
    if facts.origin == Origin::Given || matches!(rule, Rule::NoReference | Rule::NoEnd) {
        return None;
    }
    let unknown = |field: &str| facts.unknown.iter().any(|it| it == field);
    let more = if unknown("rate_bit_s") {
        "longer transfers, of 1 MB or more, from their first packet"
    } else if unknown("buffer_packets") {
        "transfers that fill the path, of 3 MB or more"
    } else {
        "more connections, from their first packet"
    };
    Some(more.into())
}

/// Rule by which no setting is recommended although `base` is known.
fn kept_by(question: &Question<'_>, field: &Field<'_>, base: &Standing<'_>) -> Rule {
    let others: Vec<&Standing<'_>> = field.standings.iter().filter(|it| it.label() != base.label()).collect();
    if others.is_empty() {
        return Rule::NoSetting;
    }
    let finished = || others.iter().copied().filter(|it| it.finished() && it.completes(base));
    let rules: Vec<Rule> = finished()
        .filter(|it| question.gains_together(it, base))
        .map(|it| match field.verdict(it) {
            _ if question.loss(it, base).is_some() => Rule::Later,
            Verdict::Open(_) => Rule::HarmOpen,
            _ if field.drops_more(it) => Rule::Drops,
            _ => Rule::Harm,
        })
        .collect();
    if rules.contains(&Rule::HarmOpen) {
        return Rule::HarmOpen;
    }
    match rules.split_first() {
        Some((first, others)) if others.iter().all(|rule| rule == first) => return *first,
        Some(_) => return Rule::Costs,
        None => {}
    }
    // A gain that is worth having if it is one.
    let perhaps = |it: &&Standing<'_>| {
        let worth = |[_, gain, _]: [f64; 3]| gain >= PairedDifference::WORTH_HAVING;
        question.gain(it, base).is_some_and(worth) && field.admits(it)
    };
    if finished().any(|it| perhaps(&it)) { Rule::GainOpen } else { Rule::NoGain }
}

/// Reason why `rule` leaves the gain or the harm of a candidate open.
fn open(rule: Rule, question: &Question<'_>, field: &Field<'_>, base: &Standing<'_>) -> String {
    let gains = |it: &&Standing<'_>| {
        question.gain(it, base).is_some_and(|gain| gain[1] >= PairedDifference::WORTH_HAVING)
    };
    let mut gaining = field.standings.iter().filter(gains);
    if rule == Rule::HarmOpen {
        let phrase = |it: &Standing<'_>| match field.verdict(it) {
            Verdict::Open(why) => Some(format!("{} ends sooner, but {why}", it.label())),
            _ => None,
        };
        return gaining.find_map(phrase).expect("a candidate whose harm is open");
    }
    let first = gaining.find(|it| field.admits(it)).expect("a candidate whose gain is open");
    let [low, _, high] = question.gain(first, base).expect("a gain");
    let later = percent((-low).max(0.0));
    format!("{} may end transfers from {later} later to {} sooner", first.label(), percent(high))
}

fn kept(rule: Rule) -> String {
    let why = match rule {
        Rule::NoSetting => "no other setting was compared that this stack has",
        Rule::Harm => "every faster setting makes others wait too long",
        Rule::Drops => "every faster setting loses too many packets",
        Rule::Costs => "every faster setting costs too much",
        Rule::HarmOpen => "a faster setting may make others wait too long",
        Rule::Later => "every faster setting delays transfers of some size",
        _ => {
            return format!(
                "Leave it as it is: no setting ends transfers {} sooner.",
                percent(PairedDifference::WORTH_HAVING)
            );
        }
    };
    format!("Leave it as it is: {why}.")
}

/// The setting as an order: `Set the initial window to 20 and pace it`.
fn words(candidate: &Candidate, (profile, present): (Profile, &SchemeSpec)) -> String {
    let Candidate { scheme, settings } = candidate;
    // Each setting is named, so that none is passed over. The pace of a plan is of no operator.
    let Settings { initial_window, ssthresh, paced, pace: _, keeps_window, buffer } = *settings;
    let (present, label) = (present.label(), scheme.label());
    let mut parts: Vec<String> = vec![];
    if label != present {
        parts.push(match label.rsplit_once('+') {
            Some(("slow-start", avoidance)) if present.ends_with(&format!("+{avoidance}")) => {
                "turn HyStart off".into()
            }
            // The stack has this start before this avoidance scheme by itself.
            Some((startup, avoidance)) if profile.stack().startup_before(avoidance) == startup => {
                format!("use {avoidance}")
            }
            _ => format!("use {label}"),
        });
    }
    if let Some(packets) = initial_window {
        parts.push(format!("set the initial window to {packets}"));
    }
    match ssthresh {
        None => {}
        Some(Threshold::Packets(packets)) => parts.push(format!("set the slow-start threshold to {packets}")),
        Some(Threshold::Bdp) => {
            parts.push("set the slow-start threshold to the bandwidth-delay product".into())
        }
    }
    if paced {
        parts.push(if initial_window.is_some() { "pace it" } else { "pace what is sent" }.into());
    }
    if keeps_window {
        parts.push("keep the window after idle times".into());
    }
    if let Some(bytes) = buffer {
        parts.push(format!("set the send buffer to {}", show_bytes(bytes)));
    }
    let mut text = parts.join(" and ");
    if text.split(' ').count() > MOST_WORDS {
        text = format!("use {}", candidate.label());
    }
    let mut letters = text.chars();
    letters.next().map_or(text.clone(), |first| first.to_uppercase().chain(letters).collect())
}

/// The effect on others, for the sentence.
fn others(harm: Option<f64>, later_networks: usize) -> String {
    let wait = |harm: f64| harm >= 1.0 + PairedDifference::WORTH_HAVING;
    match (harm, later_networks) {
        (_, 1) => "one network waits longer".into(),
        (_, 2..) => "some networks wait longer".into(),
        (None, 0) => "the harm is not measured".into(),
        (Some(harm), 0) if wait(harm) => "others wait a little longer".into(),
        (Some(_), 0) => "nobody else waits longer".into(),
    }
}

/// Largest harm of a candidate over the sizes; `None` if it was not measured at each.
fn most_harm(standing: &Standing<'_>) -> Option<f64> {
    let each: Option<Vec<f64>> = standing.rows.iter().map(|row| Some(row.harm?.deciding(None).0)).collect();
    each?.into_iter().reduce(f64::max)
}

fn later_networks(groups: &[NetworkResult], standing: &Standing<'_>) -> Vec<String> {
    let later = |group: &&NetworkResult| {
        let at = |row: &&SchemeResult| {
            let own = group.result(&row.scheme, row.size_bytes);
            own.and_then(SchemeResult::against).is_some_and(PairedDifference::worth_avoiding)
        };
        group.no_answer.is_none() && standing.rows.iter().any(at)
    };
    groups.iter().filter(later).map(|group| group.network.clone()).collect()
}

/// Weighed mean of the packets that a transfer drops.
fn drops(standing: &Standing<'_>, sizes: &[u64], facts: &Facts<'_>) -> f64 {
    standing.rows.iter().map(|row| facts.weights.share(row.size_bytes, sizes) * row.drops.mean).sum()
}

fn times(
    question: &Question<'_>,
    base: Option<&Standing<'_>>,
    standing: Option<&Standing<'_>>,
    (sizes, facts): (&[u64], &Facts<'_>),
) -> Vec<AnswerAtSize> {
    let row = |of: Option<&Standing<'_>>, at: usize| of.map(|it| it.rows[at].clone());
    let at = |(place, &size): (usize, &u64)| {
        let (now, then) = (row(base, place), row(standing, place));
        let time = |row: &Option<SchemeResult>, of: fn(Completion) -> f64| {
            row.as_ref().and_then(|it| it.completion_s).map(of)
        };
        let (now_s, then_s) = (time(&now, |it| it.median), time(&then, |it| it.median));
        let labels = now.as_ref().zip(then.as_ref()).map(|(now, then)| (&now.scheme, &then.scheme));
        let sooner = |(now, then): (&String, &String)| question.replications.sooner(then, now, &[size]);
        AnswerAtSize {
            size_bytes: size,
            weight: facts.weights.share(size, sizes),
            now_s,
            now_p95_s: time(&now, |it| it.p95),
            then_s,
            then_p95_s: time(&then, |it| it.p95),
            gain: now_s.zip(then_s).filter(|(now, _)| *now > 0.0).map(|(now, then)| 1.0 - then / now),
            sooner: labels.and_then(sooner),
            harm: then.and_then(|it| it.harm).map(|harm| harm.deciding(None).0),
        }
    };
    sizes.iter().enumerate().map(at).collect()
}

/// Starts that are not among `had`, and gain more than `gain` by a difference worth having.
fn research(
    question: &Question<'_>,
    all: &Field<'_>,
    base: &Standing<'_>,
    had: &[SchemeResult],
    gain: f64,
) -> Vec<ResearchStart> {
    let new = all.standings.iter().filter(|it| !had.iter().any(|row| row.scheme == it.label()));
    let first = new
        .filter(|it| it.finished() && it.completes(base) && it.rows.iter().any(|row| row.same_as.is_none()));
    let start = |it: &Standing<'_>| {
        let [_, own, _] = question.gain(it, base)?;
        (own >= gain + PairedDifference::WORTH_HAVING).then(|| ResearchStart {
            scheme: it.label().into(),
            gain: own,
            harm: most_harm(it),
            within_limits: all.admits(it),
        })
    };
    let mut starts: Vec<ResearchStart> = first.filter_map(start).collect();
    starts.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    starts.truncate(MOST_RESEARCH);
    starts
}

/// Word of trust and its reason. `low` is the lower end of the interval of the gain; `None` if nothing changes.
fn trust(facts: &Facts<'_>, low: Option<f64>) -> (&'static str, String) {
    if facts.origin == Origin::Given {
        return ("likely", "the path is given, not captured; the answer holds for it".into());
    }
    if let Some(why) = unknown_path(facts.unknown) {
        return ("likely", why.into());
    }
    let Some(departure) = facts.departure else {
        return ("likely", "no captured connection could be compared with its re-run".into());
    };
    let rerun = format!("re-runs of the captured connections are off by {}", percent(departure));
    if departure > SURE_DEPARTURE {
        return ("likely", rerun);
    }
    match low {
        Some(low) if low < PairedDifference::WORTH_HAVING => {
            ("likely", format!("the gain may be as small as {}", percent(low.max(0.0))))
        }
        Some(low) => ("sure", format!("{rerun}, and the gain is at least {}", percent(low))),
        None => ("sure", rerun),
    }
}

/// Reason why no answer is sure, if the rate or the round trip is among the `unknown` values: other ones that fit the capture may have other answers.
fn unknown_path(unknown: &[String]) -> Option<&'static str> {
    let has = |field: &str| unknown.iter().any(|it| it == field);
    match (has("rate_bit_s"), has("rtt_ms")) {
        (true, true) => Some("the path's rate and round-trip time are not known"),
        (true, false) => Some("the path's rate is not known"),
        (false, true) => Some("the path's round-trip time is not known"),
        (false, false) => None,
    }
}

/// A share in per cent, for a sentence: one decimal below ten.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() < 9.95 && (value - value.round()).abs() > 0.05 {
        format!("{value:.1} %")
    } else {
        format!("{value:.0} %")
    }
}

impl Field<'_> {
    /// Whether a candidate is known to drop more packets than it may at some size.
    fn drops_more(&self, standing: &Standing<'_>) -> bool {
        standing.rows.iter().zip(&self.costs).any(|(row, cost)| cost.drops_more(row).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::present;

    #[test]
    fn a_setting_is_an_order_in_words() {
        let linux = present(Profile::Linux);
        let said = |label: &str| words(&Candidate::parse(label).expect(label), (Profile::Linux, &linux));
        assert_eq!(said("hystart-linux+cubic@iw20"), "Set the initial window to 20");
        assert_eq!(said("hystart-linux+cubic@iw30+paced"), "Set the initial window to 30 and pace it");
        assert_eq!(said("hystart-linux+cubic@paced"), "Pace what is sent");
        assert_eq!(said("slow-start+cubic"), "Turn HyStart off");
        assert_eq!(said("bbr"), "Use bbr");
        assert_eq!(said("slow-start+reno@ssthresh=50"), "Use reno and set the slow-start threshold to 50");
        assert_eq!(
            said("hystart-linux+cubic@ssthresh=bdp"),
            "Set the slow-start threshold to the bandwidth-delay product"
        );
        let nginx = Candidate::parse("slow-start+reno@buffer=1MB").expect("a candidate");
        assert_eq!(
            words(&nginx, (Profile::Nginx126, &present(Profile::Nginx126))),
            "Set the send buffer to 1 MB"
        );
        // A server that runs reno changes to cubic, and not away from it.
        let reno = SchemeSpec::parse("slow-start+reno").expect("a scheme");
        let cubic = Candidate::parse("hystart-linux+cubic@iw20").expect("a candidate");
        assert_eq!(words(&cubic, (Profile::Linux, &reno)), "Use cubic and set the initial window to 20");
        // A longer order is the label.
        assert_eq!(said("bbr@iw60+paced+idle=keep"), "Use bbr@iw60+paced+idle=keep");
    }

    #[test]
    fn a_buffer_that_limits_larger_transfers_is_named_with_its_option() {
        let of = |profile, sizes: &[u64]| cap(profile, sizes, None);
        let nginx = "nginx 1.26 has at most 65.536 KB in flight, whatever its window; http3_stream_buffer_size raises it";
        assert_eq!(of(Profile::Nginx126, &[30_000, 1_000_000]).as_deref(), Some(nginx));
        assert_eq!(of(Profile::Nginx126, &[30_000, 65_536]), None);
        let haproxy = of(Profile::Haproxy34, &[1_000_000]).expect("a buffer");
        assert!(haproxy.ends_with("; no option raises it"), "{haproxy}");
        assert_eq!(of(Profile::Linux, &[1_000_000_000]), None);
        let larger = Candidate::parse("slow-start+reno@buffer=1MB").expect("a candidate");
        assert_eq!(cap(Profile::Nginx126, &[1_000_000], Some(&larger)), None);
    }

    #[test]
    fn a_sentence_with_the_longest_order_and_effect_has_20_words() {
        let order = "Set the initial window to 30 and pace it";
        let effects =
            [others(Some(1.0), 0), others(Some(1.5), 0), others(None, 0), others(None, 1), others(None, 2)];
        let longest = effects.iter().map(|effect| effect.split(' ').count()).max().expect("effects");
        let gain = "transfers end 9.5 % sooner".split(' ').count();
        assert!(
            order.split(' ').count() <= MOST_WORDS && MOST_WORDS + gain + longest <= 20,
            "{gain} {longest}"
        );
    }

    #[test]
    fn no_answer_is_sure_whose_path_has_an_unknown_rate_or_round_trip() {
        let of =
            |fields: &[&str]| unknown_path(&fields.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["buffer_packets", "rate_bit_s"]), Some("the path's rate is not known"));
        assert_eq!(of(&["rtt_ms"]), Some("the path's round-trip time is not known"));
        assert_eq!(
            of(&["rate_bit_s", "rtt_ms", "loss"]),
            Some("the path's rate and round-trip time are not known")
        );
        assert_eq!(of(&["buffer_packets", "loss", "initial_window_packets"]), None);
    }

    #[test]
    fn a_share_reads_with_one_decimal_below_ten_per_cent() {
        assert_eq!(percent(0.0934), "9.3 %");
        assert_eq!(percent(0.02), "2 %");
        assert_eq!(percent(0.2349), "23 %");
    }

    #[test]
    fn others_wait_longer_from_a_difference_worth_having_on() {
        assert_eq!(others(Some(1.019), 0), "nobody else waits longer");
        assert_eq!(others(Some(1.02), 0), "others wait a little longer");
        assert_eq!(others(Some(1.0), 2), "some networks wait longer");
        assert_eq!(others(None, 0), "the harm is not measured");
    }
}
