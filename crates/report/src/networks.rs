//! The networks of a mix: what the recommended scheme does in each.

use firstflight_results::{Comparison, NetworkResult, PairedDifference};

use crate::format::{bytes, count, percent, printable};
use crate::headline::recommended;
use crate::names::Names;
use crate::path::path_value;

/// Effect of the scheme recommended for the mix in one network, at one size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Nothing is recommended at this size.
    NoChange,
    /// It cannot be compared in this network.
    Unknown,
    /// Its difference from what the stack has now.
    Difference(PairedDifference),
}

/// The effect of what is recommended for the mix in a network, at each size, ascending.
pub(crate) fn effects(comparison: &Comparison, network: &NetworkResult) -> Vec<(u64, Effect)> {
    let of_size = |size: u64| {
        let effect = match recommended(comparison, size) {
            None => Effect::NoChange,
            Some(scheme) => {
                let difference = network.result(scheme, size).and_then(|it| it.against().copied());
                difference.map_or(Effect::Unknown, Effect::Difference)
            }
        };
        (size, effect)
    };
    comparison.sizes().into_iter().map(of_size).collect()
}

/// Rate and round-trip time of a network, as far as they are known.
pub(crate) fn rate_and_rtt(network: &NetworkResult) -> [Option<String>; 2] {
    let path = &network.path;
    [
        path.rate_bit_s.map(|rate| path_value("rate_bit_s", rate as f64)),
        path.rtt_ms.map(|rtt| path_value("rtt_ms", rtt)),
    ]
}

/// The table for a terminal.
pub(crate) struct Networks {
    pub(crate) heading: String,
    /// Each line, and whether its network loses by what is recommended.
    pub(crate) rows: Vec<(String, bool)>,
    /// Explanation.
    pub(crate) note: String,
}

/// Columns besides the network and the sizes.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Connections,
    Data,
    Rate,
    Rtt,
}

use Column::{Connections, Data, Rate, Rtt};

/// Columns from the widest table; the first that fits the terminal is used, or else the last.
const LAYOUTS: [&[Column]; 5] =
    [&[Connections, Data, Rate, Rtt], &[Data, Rate, Rtt], &[Data, Rate], &[Data], &[]];

const GAP: &str = "  ";

/// A row for each network, for a terminal of `width` columns.
pub(crate) fn table(comparison: &Comparison, names: &Names, width: usize) -> Networks {
    let grids = LAYOUTS.into_iter().map(|columns| cells(comparison, columns));
    let mut all: Vec<(Vec<Vec<String>>, usize)> = grids.map(|cells| (lines(&cells), wide(&cells))).collect();
    let fits = all.iter().position(|(_, wide)| *wide <= width).unwrap_or(all.len() - 1);
    let mut lines = all.swap_remove(fits).0.into_iter().map(|line| line.concat());
    let heading = lines.next().unwrap_or_default();
    let loses = |network: &NetworkResult| {
        effects(comparison, network)
            .iter()
            .any(|(_, effect)| matches!(effect, Effect::Difference(by) if by.worth_avoiding()))
    };
    let rows = lines.zip(&comparison.groups).map(|(line, network)| (line, loses(network))).collect();
    let present = comparison.reference();
    let from = present.map_or_else(String::new, |present| format!(" from {}", names.short(present)));
    let note = format!(
        "Sizes: difference{from} of what is recommended above, in the median of each network; !: the network loses by it; -: \
         nothing is recommended. The page has the recommendation for each network alone."
    );
    Networks { heading, rows, note }
}

/// The cells, with those of the heading first.
fn cells(comparison: &Comparison, columns: &[Column]) -> Vec<Vec<String>> {
    let head = |column: &Column| match column {
        Connections => "conns",
        Data => "data",
        Rate => "rate",
        Rtt => "RTT",
    };
    let sizes = comparison.sizes().into_iter().map(bytes);
    let heading = std::iter::once("network".to_owned())
        .chain(columns.iter().map(|column| head(column).to_owned()))
        .chain(sizes)
        .collect();
    let row = |network: &NetworkResult| {
        let [rate, rtt] = rate_and_rtt(network).map(|known| known.unwrap_or_else(|| "?".into()));
        let cell = |column: &Column| match column {
            Connections => count(network.connections as f64),
            Data => bytes_in_short(network.bytes),
            Rate => rate.clone(),
            Rtt => rtt.clone(),
        };
        let effects = effects(comparison, network);
        let effect = |(place, (_, effect)): (usize, &(u64, Effect))| match effect {
            _ if network.no_answer.is_some() => if place == 0 { "no answer" } else { "" }.to_owned(),
            Effect::NoChange => "-".into(),
            Effect::Unknown => "?".into(),
            Effect::Difference(by) => {
                format!("{}{}", percent(by.relative), if by.worth_avoiding() { "!" } else { "" })
            }
        };
        std::iter::once(printable(&network.network))
            .chain(columns.iter().map(cell))
            .chain(effects.iter().enumerate().map(effect))
            .collect()
    };
    std::iter::once(heading).chain(comparison.groups.iter().map(row)).collect()
}

/// Bytes with at most one decimal in the largest decimal unit.
pub(crate) fn bytes_in_short(all: u64) -> String {
    let (unit, name) = match all {
        0..1_000_000 => (1e3, "KB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        1_000_000_000..1_000_000_000_000 => (1e9, "GB"),
        _ => (1e12, "TB"),
    };
    let value = all as f64 / unit;
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$}\u{a0}{name}")
}

fn widths(cells: &[Vec<String>]) -> Vec<usize> {
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        cells.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    (0..columns).map(widest).collect()
}

fn wide(cells: &[Vec<String>]) -> usize {
    let widths = widths(cells);
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// The cells of each line, padded: names at the left, numbers at the right.
fn lines(cells: &[Vec<String>]) -> Vec<Vec<String>> {
    let widths = widths(cells);
    let pad = |(column, text): (usize, &String)| match column {
        0 => format!("{text:<width$}", width = widths[0]),
        _ => format!("{GAP}{text:>width$}", width = widths[column]),
    };
    cells.iter().map(|row| row.iter().enumerate().map(pad).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_unit_and_few_digits() {
        let all = [900, 15_300, 9_940_000, 9_960_000, 3_200_000_000, 4_000_000_000_000].map(bytes_in_short);
        let all = all.map(|text| text.replace('\u{a0}', " "));
        assert_eq!(all, ["0.9 KB", "15 KB", "9.9 MB", "10 MB", "3.2 GB", "4.0 TB"]);
    }
}
