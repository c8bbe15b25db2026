//! The answer for a server: the mix of the networks of its clients.
//!
//! Each network is answered by itself. The mix at a size then draws replications from the networks by their share of the
//! captured transfers of about that size, the same draws for all schemes: a further transfer of the server is one to a network
//! drawn so, over a path drawn for that network.

pub(super) mod draw;
mod whole;

use std::collections::BTreeMap;

use firstflight_document::Error;
use firstflight_results::{
    CompareReport, Comparison, ForAllSizes, Losers, MixShare, NetworkResult, PathResult, Provenance,
    Recommended, Risk, SchemeResult, Trace,
};
use firstflight_scenario::Candidate;

use super::captured::widening;
use super::inferred::mixed_path;
use super::networks::{Network, Networks};
use super::path::Subject;
use super::recommended::{self, Facts, Origin, Question, for_all_sizes};
use super::replication::Replication;
use super::summary::{self, Cell, References, Replications};
use super::{
    Answer, Bench, Extent, Halt, Input, Request, TransferRun, advise, ascending, baseline, contests, failed,
    harm_sizes, present_label, provenance, share_harm, trace,
};
use crate::advice::harm::{Part, settle};
use crate::advice::how::{self, Route, how_on};
use draw::{Draw, Traffic, draws, harm, risks, shares};
use firstflight_hosts::host::Host;
use firstflight_hosts::parallel::try_map;
use firstflight_hosts::progress::Progress;
use firstflight_quantile::type_7;
use whole::Whole;

/// A network with its answer, or the reason why it has none.
struct Outcome<'a> {
    network: &'a Network<'a>,
    answer: Result<Answer<'a>, Error>,
}

impl<'a> Outcome<'a> {
    /// Its answer, if that is part of the mix.
    fn usable(&self) -> Option<&Answer<'a>> {
        let usable = |it: &&Answer<'a>| it.report.comparison.no_answer.is_none() && !it.runs.is_empty();
        self.answer.as_ref().ok().filter(usable)
    }

    /// Reason why it is no part of the mix.
    fn no_answer(&self) -> Option<String> {
        match &self.answer {
            Ok(answer) => answer.report.comparison.no_answer.clone(),
            Err(error) => Some(error.to_string()),
        }
    }

    fn traffic(&self, size: u64) -> Traffic {
        match self.usable() {
            Some(_) => self.network.traffic(size),
            None => Traffic::default(),
        }
    }
}

/// Compares the schemes for each network and for the mix of all. If the progress is stopped, the answer is for the networks that
/// were answered until then, at least one.
///
/// # Errors
/// As [`super::compare`], if no network can be compared.
pub(super) fn compare(
    host: &dyn Host,
    request: &Request,
    networks: &Networks<'_>,
    progress: &dyn Progress,
) -> Result<CompareReport, Error> {
    let all = &networks.answered;
    let whole = Whole::begin(progress, all.len());
    let mut outcomes: Vec<Outcome<'_>> = vec![];
    for network in all {
        let subject = Subject::of_network(host, request, network);
        let extent = Extent { settle: false, traces: false };
        let answer = subject.map_err(Halt::from).and_then(|it| Answer::of(request, it, extent, &whole));
        let Ok(answer) = failed(answer) else { break };
        let outcome = Outcome { network, answer };
        whole.end_network(outcome.usable().is_some());
        outcomes.push(outcome);
        if whole.stopped() {
            break;
        }
    }
    progress.finish();
    if outcomes.iter().all(|it| it.answer.is_err())
        && let Some(Outcome { answer: Err(error), .. }) = outcomes.pop()
    {
        return Err(error);
    }
    Ok(Mix { request, networks, outcomes }.report(progress)?)
}

/// The networks of a server, and what is asked of them together.
struct Mix<'a> {
    request: &'a Request,
    networks: &'a Networks<'a>,
    outcomes: Vec<Outcome<'a>>,
}

/// The network and its replication behind replication `number` of `of` of the mix of `groups` at a size. `networks` are those of the
/// request.
pub(super) fn drawn_from(
    networks: &[Network<'_>],
    groups: &[NetworkResult],
    size: u64,
    of: u32,
    number: u32,
) -> Option<(usize, u32)> {
    let share =
        |group: &NetworkResult| group.mix.iter().find(|it| it.size_bytes == size).map_or(0.0, |it| it.share);
    let shares: Vec<f64> = groups.iter().map(share).collect();
    let replications: Vec<u32> = networks.iter().map(|network| network.runs).collect();
    let draw = *draws(&shares, of, &replications).get(number as usize)?;
    Some((draw.network, draw.replication))
}

/// The mix at one size.
struct AtSize {
    size: u64,
    /// Share of each network.
    shares: Vec<f64>,
    drawn: Vec<Draw>,
}

impl<'a> Mix<'a> {
    fn report(mut self, progress: &dyn Progress) -> Result<CompareReport, Halt> {
        let request = self.request;
        let sizes: Vec<AtSize> = ascending(&request.sizes).into_iter().map(|size| self.at(size)).collect();
        let runs: Vec<(&AtSize, &Candidate, Vec<TransferRun>)> =
            sizes.iter().enumerate().flat_map(|(number, at)| self.drawn(number, at)).collect();
        let cells: Vec<Cell<'_>> =
            runs.iter().map(|(at, scheme, runs)| Cell { scheme, size: at.size, runs }).collect();
        let (baseline, present) = (baseline(request), present_label(request, request.profile));
        let references = References { baseline: baseline.as_deref(), present: present.as_deref() };
        let at = |size: u64| sizes.iter().find(|at| at.size == size).expect("a size of the request");
        let departures = sizes.iter().map(|at| (at.size, self.departure(&at.drawn)));
        let departures: BTreeMap<u64, f64> = departures.collect();
        let departure = |size: u64| departures.get(&size).copied();
        let (mut results, order) =
            summary::results(&cells, references, &self.uncertain_fields(), &departure, request.seed);
        let samples = summary::samples(&cells, &order);
        let replications =
            || Replications { samples: &samples, departures: departures.clone(), weights: BTreeMap::new() };
        self.settle(&results, &sizes, (references, replications()), progress);
        for row in &mut results {
            self.add_costs(row, &at(row.size_bytes).shares);
        }
        share_harm(&mut results);
        let traces = try_map(&order, |&cell| {
            let (at, scheme, runs) = &runs[cell];
            let nearest = summary::nearest_to_median(runs);
            let (subject, replication) = self.place(at.drawn[nearest]);
            let trace = trace(scheme, at.size, replication, subject)?;
            Ok::<_, Halt>(Trace { replication: nearest as u32, ..trace })
        })?;
        let (no_answer, groups) = (self.no_answer(), self.groups(&sizes));
        let schemes: Vec<String> = request.schemes.iter().map(Candidate::label).collect();
        let paths: Vec<(&PathResult, f64)> =
            self.usable().map(|(network, it)| (&it.report.comparison.path, network.data())).collect();
        let question = self.question(references, replications(), no_answer.as_deref());
        let of_all = for_all_sizes(&results, &request.sizes, &question);
        let departure = self.measured_departure();
        let (weights, routes) = (request.weights(), self.routes());
        let facts = Facts {
            weights: &weights,
            commands: &|candidate| how::change(candidate, &routes, request.profile),
            profile: request.profile,
            origin: Origin::Captured,
            departure,
            unknown: &[],
            groups: &groups,
        };
        let answer = recommended::answer(&results, &request.sizes, &question.weighed(&weights), &facts);
        let mut comparison = Comparison {
            title: self.file().into(),
            path: mixed_path(&paths, self.file()),
            connections: vec![],
            copies: super::copies(&self.request.input),
            recommended: self.recommended(&results, &question, of_all.as_ref(), &groups),
            answer: Some(answer),
            for_all_sizes: of_all,
            results,
            groups,
            no_answer,
            departure,
            same: summary::same(&schemes, &samples),
            schemes,
            baseline: baseline.clone(),
            present: present.clone(),
            provenance: self.provenance(),
            warnings: self.warnings(),
            passed_over: self.request.input.passed_over(),
        };
        let mut captured = vec![];
        for Outcome { network, answer } in self.outcomes {
            let Ok(Answer { report, .. }) = answer else { continue };
            for index in network.shown() {
                comparison.connections.extend(report.comparison.connections.get(index).cloned());
                captured.extend(report.captured.get(index).cloned());
            }
        }
        Ok(CompareReport { comparison, samples, traces, captured })
    }

    fn file(&self) -> &str {
        self.networks.answered.first().map_or("", |network| network.file)
    }

    /// Networks that are part of the mix.
    fn usable(&self) -> impl Iterator<Item = (&Network<'_>, &Answer<'_>)> {
        self.outcomes.iter().filter_map(|it| Some((it.network, it.usable()?)))
    }

    fn at(&self, size: u64) -> AtSize {
        let traffic: Vec<Traffic> = self.outcomes.iter().map(|it| it.traffic(size)).collect();
        let shares = shares(&traffic);
        let replications: Vec<u32> = self.outcomes.iter().map(|it| it.network.runs).collect();
        AtSize { size, drawn: draws(&shares, self.request.runs.max(1), &replications), shares }
    }

    /// The runs of every scheme that are drawn at a size, which is this one of all in ascending order.
    fn drawn<'s>(&self, number: usize, at: &'s AtSize) -> Vec<(&'s AtSize, &'a Candidate, Vec<TransferRun>)> {
        let schemes: &'a [Candidate] = &self.request.schemes;
        let run = |draw: &Draw, scheme: usize| {
            let cell = number * schemes.len() + scheme;
            let each = self.outcomes[draw.network].network.runs as usize;
            self.answer(*draw).runs[cell * each + draw.replication as usize]
        };
        let of = |(index, scheme)| (at, scheme, at.drawn.iter().map(|draw| run(draw, index)).collect());
        if at.drawn.is_empty() { vec![] } else { schemes.iter().enumerate().map(of).collect() }
    }

    fn answer(&self, draw: Draw) -> &Answer<'_> {
        self.outcomes[draw.network].usable().expect("networks without an answer have no share")
    }

    /// The path of a draw.
    fn place(&self, draw: Draw) -> (&Subject<'_>, Replication) {
        let (of, seed) = (self.outcomes[draw.network].network.runs, self.request.seed);
        (&self.answer(draw).subject, Replication { index: draw.replication, of, seed })
    }

    /// Mean departure of the drawn networks.
    fn departure(&self, drawn: &[Draw]) -> f64 {
        let of = |draw: &Draw| widening(self.answer(*draw).report.comparison.departure);
        drawn.iter().map(of).sum::<f64>() / drawn.len().max(1) as f64
    }

    /// Median departure of the networks.
    fn measured_departure(&self) -> Option<f64> {
        let measured = self.usable().filter_map(|(_, answer)| answer.report.comparison.departure);
        let mut measured: Vec<f64> = measured.collect();
        measured.sort_by(f64::total_cmp);
        (!measured.is_empty()).then(|| type_7(&measured, 0.5))
    }

    fn uncertain_fields(&self) -> Vec<String> {
        let mut fields: Vec<String> = vec![];
        for field in self.usable().flat_map(|(_, answer)| answer.subject.uncertain_fields()) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        fields
    }

    /// Further replications with bystanders where the harm in the mix is near the limit. The recommendations of the networks then
    /// have them, too.
    fn settle(
        &mut self,
        results: &[SchemeResult],
        sizes: &[AtSize],
        (references, replications): (References<'_>, Replications<'_>),
        progress: &dyn Progress,
    ) {
        let request = self.request;
        let Some(limit) = request.limits.most_harm().filter(|_| request.harm) else { return };
        let all: Vec<u64> = sizes.iter().map(|at| at.size).collect();
        let contests = contests(results, &all, &self.question(references, replications, None));
        let outcomes = self.outcomes.iter_mut().enumerate().filter(|(_, it)| it.usable().is_some());
        let parts = outcomes.filter_map(|(place, outcome)| {
            let Answer { subject, bystanders, .. } = outcome.answer.as_mut().ok()?;
            let shares = sizes.iter().map(|at| at.shares[place]).collect();
            Some(Part { shares, bench: Bench::new(subject, request.seed), bystanders: bystanders.as_mut()? })
        });
        let mut parts: Vec<Part<'_>> = parts.collect();
        // Replications before a stop count.
        let _ = settle(&mut parts, &request.schemes, limit, &contests, progress);
        progress.finish();
        for answer in self.outcomes.iter_mut().filter_map(|it| it.answer.as_mut().ok()) {
            let Answer { subject, report, bystanders: Some(bystanders), .. } = answer else { continue };
            let measured = harm_sizes(request, subject);
            advise(report, request, subject, &measured, Ok(bystanders.harm()));
        }
    }

    fn question<'q>(
        &self,
        references: References<'q>,
        replications: Replications<'q>,
        no_answer: Option<&'q str>,
    ) -> Question<'q>
    where
        'a: 'q,
    {
        Question {
            candidates: &self.request.schemes,
            present: references.present,
            baseline: references.baseline,
            limits: self.request.limits,
            payload: self.usable().next().map_or(1, |(_, answer)| answer.subject.payload().into()),
            no_answer,
            replications,
        }
    }

    /// Adds what a scheme costs others, what may delay it, and how it is had.
    fn add_costs(&self, row: &mut SchemeResult, shares: &[f64]) {
        let mut rows: Vec<(f64, &SchemeResult, bool)> = vec![];
        for (outcome, &share) in self.outcomes.iter().zip(shares) {
            let results = outcome.usable().map_or(&[][..], |it| &it.report.comparison.results);
            let mut of_size = results.iter().filter(|it| it.size_bytes == row.size_bytes);
            let measured = of_size.clone().any(|it| it.harm.is_some());
            rows.extend(of_size.find(|it| it.scheme == row.scheme).map(|own| (share, own, measured)));
        }
        let harms = rows.iter().filter(|(.., measured)| *measured).map(|(share, own, _)| (*share, own.harm));
        row.harm = harm(&harms.collect::<Vec<_>>());
        let of_networks: Vec<(f64, &[Risk])> =
            rows.iter().map(|(share, own, _)| (*share, &own.risks[..])).collect();
        row.risks = risks(&of_networks);
        let candidate = self.request.schemes.iter().find(|it| it.label() == row.scheme);
        row.how = candidate
            .map_or_else(Vec::new, |candidate| how_on(candidate, &self.routes(), self.request.profile));
    }

    /// The routes to the networks; the default route if none has one of its own.
    fn routes(&self) -> Vec<Route> {
        let bdp = |answer: &Answer<'_>| answer.subject.bdp_packets().unwrap_or(1);
        let own = self.usable().filter_map(|(network, answer)| {
            Some(Route { to: Some(network.route.clone()?), bdp: bdp(answer) })
        });
        let own: Vec<Route> = own.collect();
        if own.is_empty() {
            let bdp = self.usable().next().map_or(1, |(_, answer)| bdp(answer));
            return vec![Route { to: None, bdp }];
        }
        own
    }

    fn recommended(
        &self,
        results: &[SchemeResult],
        question: &Question<'_>,
        of_all: Option<&ForAllSizes>,
        groups: &[NetworkResult],
    ) -> Vec<Recommended> {
        let mut all = recommended::recommended(results, &self.request.sizes, question, of_all);
        for one in &mut all {
            let Some(scheme) = &one.scheme else { continue };
            if let Some(losers) = Losers::of(groups, scheme, one.size_bytes) {
                one.why = format!("{}; {losers}", one.why);
            }
        }
        all
    }

    fn groups(&self, sizes: &[AtSize]) -> Vec<NetworkResult> {
        let group = |(place, outcome): (usize, &Outcome<'_>)| {
            let Network { ref name, count, bytes, .. } = *outcome.network;
            let mix = |at: &AtSize| MixShare {
                size_bytes: at.size,
                transfers: outcome.network.transfers_near(at.size).round() as u64,
                share: at.shares[place],
            };
            let comparison = outcome.answer.as_ref().ok().map(|it| &it.report.comparison);
            NetworkResult {
                network: name.clone(),
                connections: count,
                bytes,
                path: comparison.map_or_else(PathResult::default, |it| it.path.clone()),
                recommended: comparison.map_or_else(Vec::new, |it| it.recommended.clone()),
                results: comparison.map_or_else(Vec::new, |it| it.results.clone()),
                mix: sizes.iter().map(mix).collect(),
                no_answer: outcome.no_answer(),
                departure: comparison.and_then(|it| it.departure),
                warnings: comparison.map_or_else(Vec::new, |it| it.warnings.clone()),
            }
        };
        self.outcomes.iter().enumerate().map(group).collect()
    }

    /// Reason why there is no answer for the mix.
    fn no_answer(&self) -> Option<String> {
        if self.usable().next().is_some() {
            return None;
        }
        let first = self.outcomes.iter().find_map(|it| Some((&it.network.name, it.no_answer()?)));
        let why = first.map_or_else(String::new, |(name, why)| format!("; {name}: {why}"));
        Some(format!("none of the {} networks with most data has an answer{why}", self.outcomes.len()))
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = match &self.request.input {
            Input::Capture { capture, .. } => capture.warnings.clone(),
            _ => vec![],
        };
        let (answered, all) = (self.outcomes.len(), self.networks.answered.len());
        if answered < all {
            // Networks that were drawn stand for others.
            let data = |of: &[Network<'_>]| of.iter().map(Network::data).sum::<f64>();
            let share = data(&self.networks.answered[..answered]) / data(&self.networks.answered);
            warnings.push(format!(
                "stopped after {answered} of {all} networks, which stand for {:.0} % of the data of all {all}: the others are no \
                 part of the mix",
                share * 100.0
            ));
        }
        for outcome in &self.outcomes {
            if let Some(why) = outcome.no_answer() {
                let name = &outcome.network.name;
                warnings.push(format!("{name} has no answer and is no part of the mix: {why}"));
            }
        }
        let ((further, share), drawn) = (self.networks.further, self.networks.drawn);
        if further > 0 {
            let why = match drawn {
                0 => format!("they have less data than the {all} that are"),
                _ => format!("{drawn} networks drawn from them by their transfers stand for them"),
            };
            warnings.push(format!(
                "{further} further networks or paths, with {:.1} % of the captured data, are not answered: {why}",
                share * 100.0
            ));
        }
        warnings
    }

    /// That of the network with most data, whose scenario stands for those of all.
    fn provenance(&self) -> Provenance {
        let first = self.outcomes.iter().find_map(|it| Some((it.network, it.answer.as_ref().ok()?)));
        let (network, answer) = first.expect("a network that was compared");
        let own = provenance(self.request, &answer.subject, self.request.runs.max(1) as usize);
        let scenario =
            format!("# The network {}; each network has its own path.\n{}", network.name, own.scenario);
        Provenance { scenario, ..own }
    }
}
