//! A table of a paper, beside the measured values.

use firstflight_hosts::stats::mean_ci95;
use firstflight_reproduce::checked::first_seeds;
use firstflight_reproduce::figure::Table;
use firstflight_reproduce::judge::Bench;

use super::markdown::cell;

/// The table in Markdown. Each row has the printed values, those of ns-2 if known, beside them ours of the same seeds if ns-2 ran
/// fewer, and the measured ones with the half-width of their 95 % interval.
pub(super) fn markdown(table: &Table, bench: &Bench<'_>) -> Result<String, String> {
    let shown = table.show.as_ref().ok_or("a table that is shown needs `show`")?;
    let array = bench.ours().evaluate(&shown.chain.first)?;
    let ns2 = bench.ns2(&shown.chain.first).filter(|other| other.axes == array.axes);
    let paired = bench.paired(&shown.chain.first).filter(|other| other.axes == array.axes);
    let axis =
        |name: &str| array.axis(name).ok_or_else(|| format!("no axis \"{name}\" is open in {}", shown.text));
    let columns = if table.columns.is_empty() { None } else { Some(axis(&table.columns)?) };
    let rows = if table.rows.is_empty() { None } else { Some(axis(&table.rows)?) };
    let names =
        |axis: Option<usize>| axis.map_or(vec![String::new()], |axis| array.axes[axis].points.clone());
    let (row_names, column_names) = (names(rows), names(columns));
    if row_names.len() * column_names.len() != array.points() {
        return Err(format!("{}: axes beside rows and columns are open", shown.text));
    }
    let digits = table.digits;
    let number = |value: f64| if value.is_finite() { format!("{value:.digits$}") } else { "-".into() };
    // Index of the point at a row and a column.
    let index = |row: usize, column: usize| {
        (0..array.points())
            .find(|&index| {
                let place = array.place(index);
                rows.is_none_or(|axis| place[axis] == row) && columns.is_none_or(|axis| place[axis] == column)
            })
            .expect("every pair has a point")
    };
    let mut out =
        format!("| | | {} |\n", column_names.iter().map(|name| cell(name)).collect::<Vec<_>>().join(" | "));
    out += &format!("|---|---|{}\n", "--:|".repeat(column_names.len()));
    for (row, name) in row_names.iter().enumerate() {
        let mut line = |source: &str, values: Vec<String>| {
            out += &format!("| {} | {source} | {} |\n", cell(name), values.join(" | "));
        };
        if let Some(printed) = table.printed.get(name) {
            if printed.len() != column_names.len() {
                return Err(format!(
                    "{}: {} printed values for {} columns",
                    table.id,
                    printed.len(),
                    column_names.len()
                ));
            }
            line("paper", printed.iter().map(|value| number(*value)).collect());
        }
        if let Some(other) = &ns2 {
            let values: Vec<f64> =
                (0..column_names.len()).map(|column| other.at(index(row, column))[0]).collect();
            if values.iter().any(|value| value.is_finite()) {
                line("ns-2 today", values.into_iter().map(number).collect());
                if let Some(first) = &paired {
                    let values =
                        (0..column_names.len()).map(|column| mean_ci95(first.at(index(row, column))).0);
                    line(&format!("here, {}", first_seeds(first.samples)), values.map(number).collect());
                }
            }
        }
        let ours = |column: usize| {
            let (mean, ci95) = mean_ci95(array.at(index(row, column)));
            number(mean)
                + &ci95.map_or(String::new(), |[low, high]| format!(" ± {}", number((high - low) / 2.0)))
        };
        line("here", (0..column_names.len()).map(ours).collect());
    }
    Ok(out)
}
