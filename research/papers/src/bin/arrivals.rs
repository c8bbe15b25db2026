//! The connections of a run of an experiment as text, so that another simulator can replay them: `arrivals PAPER EXPERIMENT SEED
//! [POINT...]` prints a line for each with its name, start (s), lifetime (s; - without one) and the propagation delay of the links that
//! it has for itself (ms, both ways together). Points are those of the experiment's axes, such as `LISS "500 ms"`; all cells with these
//! points must have the same connections, or the first ones of the cell that has most.

use std::process::ExitCode;

use firstflight_contract::Nanos;
use firstflight_document::nearest;
use firstflight_hosts::network::build;
use firstflight_reproduce::library::Library;
use firstflight_scenario::Scenario;
use firstflight_sweep::{Axis, Sweep};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [paper, experiment, seed, points @ ..] = &arguments[..] else {
        eprintln!("usage: arrivals PAPER EXPERIMENT SEED [POINT...]");
        return ExitCode::from(2);
    };
    match list(paper, experiment, seed, points) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("arrivals: {why}");
            ExitCode::from(2)
        }
    }
}

fn list(paper: &str, experiment: &str, seed: &str, points: &[String]) -> Result<String, String> {
    let library = Library::built_in().map_err(|error| error.to_string())?;
    let known = library.papers.iter().map(|one| one.folder.as_str());
    let unknown = |what: &str, name: &str, known: &[&str]| {
        let near = nearest(name, known.iter().copied())
            .map_or_else(String::new, |near| format!("; nearest: {near}"));
        format!("no {what} \"{name}\"; expected {}{near}", known.join(", "))
    };
    let paper = library
        .papers
        .iter()
        .find(|one| one.folder == paper)
        .ok_or_else(|| unknown("paper", paper, &known.collect::<Vec<_>>()))?;
    let names: Vec<&str> = paper.experiments.keys().map(String::as_str).collect();
    let definition =
        paper.experiments.get(experiment).ok_or_else(|| unknown("experiment", experiment, &names))?;
    let seed = seed.parse().map_err(|error| format!("SEED {seed}: {error}"))?;
    let names_of = |axis: &Axis| axis.points.iter().map(|point| point.name.clone()).collect::<Vec<_>>();
    let known: Vec<String> = definition.axes.iter().flat_map(names_of).collect();
    // `axis=point`, or a point alone.
    let points: Vec<&str> = points
        .iter()
        .map(|point| match point.split_once('=') {
            Some((axis, name)) if definition.axes.iter().any(|one| one.name == axis) => name,
            _ => point.as_str(),
        })
        .collect();
    if let Some(point) = points.iter().find(|point| known.iter().all(|one| one != *point)) {
        return Err(unknown("point", point, &known.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    let text = &paper.scenarios[&definition.scenario];
    let sweep = Sweep::new(text, &definition.scenario).map_err(|error| error.to_string())?;
    let sweep = definition.axes.iter().cloned().fold(sweep, Sweep::crossed);
    let cells = sweep.cells().map_err(|error| error.to_string())?;
    let mut lists = cells
        .iter()
        .filter(|cell| points.iter().all(|point| cell.point.iter().any(|one| one == point)))
        .map(|cell| Ok((cell.point.join(", "), connections(&cell.scenario, seed)?)))
        .collect::<Result<Vec<_>, String>>()?;
    lists.sort_by_key(|(_, list)| list.len());
    let (at, all) = lists.pop().ok_or("two of the points are of one axis")?;
    match lists.iter().find(|(_, list)| !all.starts_with(list.as_str())) {
        Some((other, _)) => {
            Err(format!("\"{at}\" and \"{other}\" have different connections; name more points"))
        }
        None => Ok(all),
    }
}

fn connections(scenario: &Scenario, seed: u64) -> Result<String, String> {
    let built = build(scenario, seed, Nanos(1_000_000_000))
        .map_err(|refusal| format!("{}: {}", refusal.key, refusal.why))?;
    let seconds = |ns: u64| format!("{:.9}", ns as f64 / 1e9);
    let mut out = String::new();
    for flow in &built.network.flows {
        // A connection has four links for itself, two in each direction, with equal delays.
        let access = format!("{}.in", flow.name);
        let own =
            built.network.links.iter().find(|link| link.name == access).map_or(0, |link| 4 * link.delay.0);
        let lifetime = flow.app.lifetime.map_or("-".into(), seconds);
        out += &format!("{} {} {lifetime} {:.6}\n", flow.name, seconds(flow.app.start), own as f64 / 1e6);
    }
    Ok(out)
}
