//! The answer for a server: the mix of the networks of its clients.
//!
//! Each network is answered by itself. The mix at a size then draws replications from the networks by their share of the
//! captured transfers of about that size, the same draws for all schemes: a further transfer of the server is one to a network
//! drawn so, over a path drawn for that network.

mod whole;

use std::collections::BTreeMap;

use firstflight_document::Error;
use firstflight_hosts::host::Host;
use firstflight_hosts::parallel::try_map;
use firstflight_hosts::progress::Progress;
use firstflight_quantile::type_7;
use firstflight_results::{
    CapturedTrace, CompareReport, ConnectionResult, Harm, Losers, MixShare, NetworkResult, PathResult,
    Provenance, Recommended, Risk, SchemeResult,
};
use firstflight_scenario::Candidate;

use crate::bench::Bench;
use crate::captured::Captured;
use crate::costs::Costs;
use crate::differences::{Differences, References};
use crate::draw::{Draw, Traffic, draws, harm, risks, shares};
use crate::halt::{Halt, failed};
use crate::harm::{Part, settle};
use crate::how::{Route, how_on};
use crate::inferred::mixed_path;
use crate::input::Input;
use crate::measured::{self, Extent, Measured};
use crate::networks::{Network, Networks};
use crate::path::Subject;
use crate::recommended::{Facts, Origin, Question, Recommendation, answer, contests};
use crate::replication::Replication;
use crate::reply::{Parts, provenance, reply};
use crate::request::Request;
use crate::transfers::{Cell, TransferRun};
use crate::weights::Weights;
use whole::Whole;

/// A network with what was measured on its path, or the reason why nothing was.
struct Outcome<'a> {
    network: &'a Network<'a>,
    measured: Result<Measured<'a>, Error>,
}

impl<'a> Outcome<'a> {
    /// Measurements of a network that is part of the mix; `None` of another one.
    fn usable(&self) -> Option<&Measured<'a>> {
        let usable = |it: &&Measured<'a>| it.no_answer.is_none() && !it.runs.is_empty();
        self.measured.as_ref().ok().filter(usable)
    }

    /// Reason why it is no part of the mix.
    fn no_answer(&self) -> Option<String> {
        match &self.measured {
            Ok(measured) => measured.no_answer.clone(),
            Err(error) => Some(error.to_string()),
        }
    }

    fn traffic(&self, size: u64) -> Traffic {
        match self.usable() {
            Some(_) => self.network.traffic(size),
            None => Traffic::default(),
        }
    }

    /// Result of the network by itself, with its shares in the mix.
    fn result(&self, request: &Request, mix: Vec<MixShare>) -> NetworkResult {
        let measured = self.measured.as_ref().ok();
        let (results, recommended, warnings) = match measured.map(|it| it.outcome(request)) {
            Some(measured::Outcome { results, recommendation, warnings }) => {
                (results, recommendation.at_each_size, warnings)
            }
            None => (vec![], vec![], vec![]),
        };
        NetworkResult {
            network: self.network.name.clone(),
            connections: self.network.count,
            bytes: self.network.bytes,
            path: measured.map_or_else(PathResult::default, |it| it.subject.path_result()),
            recommended,
            results,
            mix,
            no_answer: self.no_answer(),
            departure: measured.and_then(|it| it.captured.departure),
            warnings,
        }
    }
}

/// Compares the schemes for each network and for the mix of all. If the progress is stopped, the answer is for the networks that
/// were answered until then, at least one.
///
/// # Errors
/// As [`crate::compare`], if no network can be compared.
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
        let measured = subject.map_err(Halt::from).and_then(|it| Measured::of(request, it, extent, &whole));
        let Ok(measured) = failed(measured) else { break };
        let outcome = Outcome { network, measured };
        whole.end_network(outcome.usable().is_some());
        outcomes.push(outcome);
        if whole.stopped() {
            break;
        }
    }
    progress.finish();
    if outcomes.iter().all(|it| it.measured.is_err())
        && let Some(Outcome { measured: Err(error), .. }) = outcomes.pop()
    {
        return Err(error);
    }
    Ok(Mix { request, networks, outcomes }.reply(progress)?)
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
    fn reply(mut self, progress: &dyn Progress) -> Result<CompareReport, Halt> {
        let request = self.request;
        let sizes: Vec<AtSize> = request.ascending().into_iter().map(|size| self.at(size)).collect();
        let runs: Vec<(&AtSize, &Candidate, Vec<TransferRun>)> =
            sizes.iter().enumerate().flat_map(|(number, at)| self.drawn(number, at)).collect();
        let cells: Vec<Cell<'_>> =
            runs.iter().map(|(at, scheme, runs)| Cell { scheme, size: at.size, runs }).collect();
        let departures: BTreeMap<u64, f64> =
            sizes.iter().map(|at| (at.size, self.departure(&at.drawn))).collect();
        let references = References::of(request);
        let differences = Differences::of(
            &cells,
            references,
            &self.uncertain_fields(),
            departures,
            (request.by, request.seed),
        );
        let no_answer = self.no_answer();
        let question = Question::of(request, &differences, self.payload(), no_answer.as_deref());
        let weights = request.weights();
        self.settle(&differences.rows, &sizes, (&question, &weights), progress);
        let groups = self.groups(&sizes);
        let results = differences.with_costs(|row, _| {
            let at = sizes.iter().find(|at| at.size == row.size_bytes).expect("a size of the request");
            self.costs(row, &at.shares, &groups)
        });
        let recommendation = self.recommendation(&results, &question, &groups);
        let facts = Facts {
            weights: &weights,
            routes: &self.routes(),
            profile: request.stack(),
            origin: Origin::Captured,
            present: request.present(),
            starts_as: request.starts_as(),
            departure: self.measured_departure(),
            unknown: &[],
            groups: &groups,
        };
        let answer = answer(&results, &request.ascending(), &question.weighed(&weights), &facts);
        let traces = try_map(&differences.order, |&cell| {
            let drawn = &runs[cell].0.drawn;
            cells[cell].trace(|index| self.place(drawn[index]))
        })?;
        let (connections, captured) = self.shown().unzip();
        let parts = Parts {
            title: self.file().into(),
            path: self.path(),
            departure: self.measured_departure(),
            provenance: self.provenance(),
            warnings: self.warnings(),
            connections,
            captured,
            sequence: None,
            results,
            differences,
            recommendation,
            answer,
            groups,
            no_answer,
            traces,
        };
        Ok(reply(request, parts))
    }

    fn file(&self) -> &str {
        self.networks.answered.first().map_or("", |network| network.file)
    }

    /// Path of the mix.
    fn path(&self) -> PathResult {
        let paths: Vec<(PathResult, f64)> =
            self.usable().map(|(network, it)| (it.subject.path_result(), network.data())).collect();
        mixed_path(&paths, self.file())
    }

    /// Connections of each network that are shown, and their series.
    fn shown(&self) -> impl Iterator<Item = (ConnectionResult, CapturedTrace)> {
        let of_network = |Outcome { network, measured }: &Outcome<'_>| {
            let captured = measured.as_ref().ok().map(|it| &it.captured);
            let shown = |captured: &Captured| {
                let series =
                    |index: usize| (captured.connections[index].clone(), captured.traces[index].clone());
                network.shown().into_iter().map(series).collect::<Vec<_>>()
            };
            captured.map_or_else(Vec::new, shown)
        };
        self.outcomes.iter().flat_map(of_network)
    }

    /// Networks that are part of the mix.
    fn usable(&self) -> impl Iterator<Item = (&Network<'_>, &Measured<'_>)> {
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
            self.measured(*draw).runs[cell * each + draw.replication as usize]
        };
        let of = |(index, scheme)| (at, scheme, at.drawn.iter().map(|draw| run(draw, index)).collect());
        if at.drawn.is_empty() { vec![] } else { schemes.iter().enumerate().map(of).collect() }
    }

    fn measured(&self, draw: Draw) -> &Measured<'_> {
        self.outcomes[draw.network].usable().expect("networks without an answer have no share")
    }

    /// The path of a draw.
    fn place(&self, draw: Draw) -> (&Subject<'_>, Replication) {
        let (of, seed) = (self.outcomes[draw.network].network.runs, self.request.seed);
        (&self.measured(draw).subject, Replication { index: draw.replication, of, seed })
    }

    /// Mean departure of the drawn networks.
    fn departure(&self, drawn: &[Draw]) -> f64 {
        let of = |draw: &Draw| self.measured(*draw).captured.widening();
        drawn.iter().map(of).sum::<f64>() / drawn.len().max(1) as f64
    }

    /// Median departure of the networks.
    fn measured_departure(&self) -> Option<f64> {
        let measured = self.usable().filter_map(|(_, it)| it.captured.departure);
        let mut measured: Vec<f64> = measured.collect();
        measured.sort_by(f64::total_cmp);
        (!measured.is_empty()).then(|| type_7(&measured, 0.5))
    }

    fn uncertain_fields(&self) -> Vec<String> {
        let mut fields: Vec<String> = vec![];
        for field in self.usable().flat_map(|(_, it)| it.subject.uncertain_fields()) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        fields
    }

    /// Payload of a full packet, bytes.
    fn payload(&self) -> u64 {
        self.usable().next().map_or(1, |(_, it)| it.subject.payload().into())
    }

    /// Further replications with bystanders where the harm in the mix is near the limit. The answers of the networks then have them,
    /// too.
    fn settle(
        &mut self,
        rows: &[SchemeResult],
        sizes: &[AtSize],
        (question, weights): (&Question<'_>, &Weights),
        progress: &dyn Progress,
    ) {
        let request = self.request;
        let Some(limit) = request.limits.most_harm().filter(|_| request.harm) else { return };
        let all: Vec<u64> = sizes.iter().map(|at| at.size).collect();
        let contests = contests(rows, &all, question, (weights, request.stack()));
        let outcomes = self.outcomes.iter_mut().enumerate().filter(|(_, it)| it.usable().is_some());
        let parts = outcomes.filter_map(|(place, outcome)| {
            let Measured { subject, bystanders, .. } = outcome.measured.as_mut().ok()?;
            let shares = sizes.iter().map(|at| at.shares[place]).collect();
            let bench = Bench::new(subject, request.seed);
            Some(Part { shares, bench, bystanders: bystanders.as_mut().ok()? })
        });
        let mut parts: Vec<Part<'_>> = parts.collect();
        // Replications before a stop count.
        let _ = settle(&mut parts, &request.schemes, limit, &contests, progress);
        progress.finish();
    }

    /// Costs of a scheme in the mix, from those in the networks.
    fn costs(&self, row: &SchemeResult, shares: &[f64], groups: &[NetworkResult]) -> Costs {
        let mut harms: Vec<(f64, Option<Harm>)> = vec![];
        let mut of_networks: Vec<(f64, &[Risk])> = vec![];
        for ((outcome, group), &share) in self.outcomes.iter().zip(groups).zip(shares) {
            let own = outcome.usable().and_then(|_| group.result(&row.scheme, row.size_bytes));
            let Some(own) = own else { continue };
            of_networks.push((share, &own.risks));
            let mut of_size = group.results.iter().filter(|it| it.size_bytes == row.size_bytes);
            // Harm that was not measured in a network is not known to be any.
            if of_size.any(|it| it.harm.is_some()) {
                harms.push((share, own.harm));
            }
        }
        let place = self.request.place(&row.scheme).expect("results are of candidates");
        Costs {
            harm: harm(&harms),
            risks: risks(&of_networks),
            how: how_on(&self.request.schemes[place], &self.routes(), self.request.stack()),
        }
    }

    /// The routes to the networks; the default route if none has one of its own.
    fn routes(&self) -> Vec<Route> {
        let bdp = |it: &Measured<'_>| it.subject.bdp_packets().unwrap_or(1);
        let own = self
            .usable()
            .filter_map(|(network, it)| Some(Route { to: Some(network.route.clone()?), bdp: bdp(it) }));
        let own: Vec<Route> = own.collect();
        if own.is_empty() {
            let bdp = self.usable().next().map_or(1, |(_, it)| bdp(it));
            return vec![Route { to: None, bdp }];
        }
        own
    }

    /// The recommendation for the mix, with the networks that lose by it.
    fn recommendation(
        &self,
        results: &[SchemeResult],
        question: &Question<'_>,
        groups: &[NetworkResult],
    ) -> Recommendation {
        let with_losers = |one: Recommended| {
            let losers = one.scheme.as_deref().and_then(|scheme| Losers::of(groups, scheme, one.size_bytes));
            let why = losers.map_or_else(|| one.why.clone(), |losers| format!("{}; {losers}", one.why));
            Recommended { why, ..one }
        };
        let Recommendation { at_each_size, for_all_sizes } =
            Recommendation::of(results, &self.request.ascending(), question);
        Recommendation { at_each_size: at_each_size.into_iter().map(with_losers).collect(), for_all_sizes }
    }

    fn groups(&self, sizes: &[AtSize]) -> Vec<NetworkResult> {
        let group = |(place, outcome): (usize, &Outcome<'_>)| {
            let mix = |at: &AtSize| MixShare {
                size_bytes: at.size,
                transfers: outcome.network.transfers_near(at.size).round() as u64,
                share: at.shares[place],
            };
            outcome.result(self.request, sizes.iter().map(mix).collect())
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
        warnings.extend(self.request.stands_in());
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
        let first = self.outcomes.iter().find_map(|it| Some((it.network, it.measured.as_ref().ok()?)));
        let (network, measured) = first.expect("a network that was compared");
        let own = provenance(self.request, &measured.subject, self.request.runs.max(1) as usize);
        let scenario =
            format!("# The network {}; each network has its own path.\n{}", network.name, own.scenario);
        Provenance { scenario, ..own }
    }
}
