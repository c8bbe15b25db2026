//! The sweep of a start on a scenario.

use firstflight_document::Error;
use firstflight_sweep::Grid;
use toml::{Table, Value};

use crate::library::{League, Scenario, Start};
use crate::trace::place_trace;

/// Name of the flow that gets the start.
pub const TRANSFER: &str = "transfer";
/// Sizes of a quick league, bytes, where the scenario has them.
const QUICK: [&str; 4] = ["1 B", "30 KB", "300 KB", "3 MB"];
/// Most replications of a quick league.
const QUICK_REPLICATIONS: i64 = 8;
/// Points of a quick sample.
const QUICK_POINTS: i64 = 4;

/// The grid of `start` on `scenario`, as text that names no file. A quick one has fewer points and sizes.
///
/// # Errors
/// If the scenario names a trace that the league lacks, or has no flow `transfer`.
pub fn text(
    league: &League,
    scenario: (&str, &Scenario),
    start: &Start,
    quick: bool,
) -> Result<String, Error> {
    let (name, scenario) = scenario;
    let wrong = |why: String| Error::invalid(why).in_file(&format!("scenarios/{name}.toml"), None);
    let mut grid = scenario.grid.clone();
    let title = format!("{}: {}", scenario.title, start.title);
    grid.insert("title".into(), title.into());
    grid.insert("flow".into(), TRANSFER.into());
    place_trace(&mut grid, |file| {
        league.traces.get(file).cloned().ok_or_else(|| wrong(format!("there is no traces/{file}")))
    })?;
    let base = grid.get_mut("base").and_then(Value::as_table_mut);
    let base = base.ok_or_else(|| wrong("there is no table [grid.base]".into()))?;
    let first = scenario.grid.get("sizes").and_then(Value::as_array).and_then(|sizes| sizes.first());
    let flows = base.get_mut("flow").and_then(Value::as_array_mut).map_or(&mut [][..], Vec::as_mut_slice);
    for wanted in [TRANSFER].into_iter().chain(scenario.also.iter().map(String::as_str)) {
        let named = |flow: &&mut Value| flow.get("name").and_then(Value::as_str) == Some(wanted);
        let flow = flows.iter_mut().find(named).and_then(Value::as_table_mut);
        let flow =
            flow.ok_or_else(|| wrong(format!("there is no [[grid.base.flow]] with the name {wanted}")))?;
        flow.extend(start.flow.clone());
        // The sweep replaces the size.
        if let Some(size) = first
            && !flow.contains_key("size")
        {
            flow.insert("size".into(), size.clone());
        }
    }
    if quick {
        shorten(&mut grid);
    }
    Ok(grid.to_string())
}

/// The grid of `start` on `scenario`.
///
/// # Errors
/// As [`text`]; and if the start's keys and the scenario's make no grid.
pub fn grid(
    league: &League,
    scenario: (&str, &Scenario),
    start: (&str, &Start),
    quick: bool,
) -> Result<Grid, Error> {
    let file = format!("league: {} on {}", start.0, scenario.0);
    Grid::parse(&text(league, scenario, start.1, quick)?, &file, &|name| {
        Err(format!("a scenario of the league names no other file, such as {name}"))
    })
}

/// Leaves the points and sizes of a quick league.
fn shorten(grid: &mut Table) {
    if let Some(Value::Array(sizes)) = grid.get_mut("sizes")
        && sizes.len() > 1
    {
        let kept = |size: &Value| size.as_str().is_some_and(|size| QUICK.contains(&size));
        if sizes.iter().filter(|size| kept(size)).count() > 1 {
            sizes.retain(kept);
        }
    }
    if let Some(Value::Integer(replications)) = grid.get_mut("replications") {
        *replications = (*replications).min(QUICK_REPLICATIONS);
    }
    if let Some(points) = grid.get_mut("sample").and_then(|sample| sample.get_mut("points")) {
        *points = Value::Integer(QUICK_POINTS);
    }
}
