//! `firstflight algorithms`: the list of schemes and queues.

use clap::Args;
use firstflight::{Algorithm, algorithms};
use firstflight_schemes::not_implemented::{NOT_IMPLEMENTED, PLANNED, Unimplemented};

use crate::failure::Failure;
use crate::output;
use crate::table::{Align, fitted, terminal_columns};

/// List all schemes and queues with the paper or RFC of each, and those that are not implemented
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight algorithms
  firstflight algorithms --json | jq -r '.[] | select(.role == \"startup\") | .label'")]
pub(crate) struct Options {
    /// Print JSON: label, role, source, needs and hosts of each algorithm
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let all = algorithms();
    if options.json {
        return output::print_json(&all);
    }
    output::show(&text(&all, terminal_columns()))
}

/// Narrowest terminal in which a summary and its source have a column each.
const TWO_COLUMNS: usize = 100;

/// The tables of all algorithms for a terminal of `width` columns.
fn text(all: &[Algorithm], width: usize) -> String {
    let rows = all.iter().map(|a| [a.label, a.role, a.summary, a.source]);
    let implemented = listed(["label", "role", "summary", "source"], rows, width);
    let planned = unimplemented(["planned", "summary", "source"], PLANNED, width);
    let not_implemented =
        unimplemented(["not implemented", "reason", "mentioned in"], NOT_IMPLEMENTED, width);
    format!("{implemented}\n{planned}\n{not_implemented}")
}

/// Table of algorithms that cannot be chosen.
fn unimplemented(columns: [&str; 3], entries: &[Unimplemented], width: usize) -> String {
    listed(columns, entries.iter().map(|entry| [entry.name, entry.why, entry.source]), width)
}

/// A table whose last two columns are texts. In a narrow terminal the two share a column.
fn listed<const N: usize>(
    columns: [&str; N],
    rows: impl Iterator<Item = [&'static str; N]>,
    width: usize,
) -> String {
    if width >= TWO_COLUMNS {
        let rows: Vec<_> = rows.map(|row| row.map(str::to_owned)).collect();
        return fitted(columns.map(|name| (name, Align::Left)), &rows, width);
    }
    // The names of all columns but the last two share one column, too.
    let merged = |cells: [&str; N]| {
        let [names @ .., text, source] = &cells[..] else { unreachable!("two texts") };
        [names.join(", "), format!("{text} ({source})")]
    };
    let heading = merged(columns);
    let rows: Vec<_> = rows.map(merged).collect();
    fitted(heading.each_ref().map(|name| (&**name, Align::Left)), &rows, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_net::queue::Discipline;
    use firstflight_scenario::parse;

    #[test]
    fn the_signals_of_the_other_hosts_are_those_that_they_offer() {
        #[cfg(feature = "lab")]
        assert_eq!(firstflight::KERNEL, firstflight_kernel::SIGNALS);
        #[cfg(feature = "lab")]
        assert_eq!(firstflight::QUIC, firstflight_quic::OFFERED);
    }

    #[test]
    fn the_list_fits_terminals_of_60_80_and_120_columns_and_has_every_word() {
        let all = algorithms();
        for width in [60, 80, 120] {
            let text = text(&all, width);
            let widest = text.lines().max_by_key(|line| line.chars().count()).expect("lines");
            assert!(widest.chars().count() <= width, "more than {width} columns: {widest}");
            assert!(text.lines().all(|line| line == line.trim_end()));
            let words = |text: &str| -> usize { text.split_whitespace().count() };
            let given =
                all.iter().map(|a| words(a.label) + words(a.role) + words(a.summary) + words(a.source));
            let others = PLANNED.iter().chain(NOT_IMPLEMENTED);
            let others = others.map(|entry| words(entry.name) + words(entry.why) + words(entry.source));
            let headings = words("label role summary source planned summary source")
                + words("not implemented reason mentioned in");
            assert_eq!(words(&text), given.chain(others).sum::<usize>() + headings, "{text}");
            // Each entry begins a line of its own.
            assert!(all.iter().all(|a| text.lines().any(|line| line.starts_with(a.label))));
        }
    }

    #[test]
    fn a_scheme_is_listed_with_the_hosts_that_offer_what_it_needs() {
        for (label, hosts) in [
            ("slow-start", vec!["simulator", "kernel", "quic"]),
            ("hystart++", vec!["simulator", "kernel", "quic"]),
            // quinn takes no pacing rate.
            ("jump-start", vec!["simulator", "kernel"]),
            ("bbr", vec!["simulator", "kernel"]),
            // Neither the kernel nor quinn reports each lost segment.
            ("bbr3", vec!["simulator"]),
            ("xcp", vec!["simulator"]),
        ] {
            let listed = algorithms().into_iter().find(|entry| entry.label == label).expect("a label");
            assert_eq!(listed.hosts, hosts, "{label}");
        }
    }

    #[test]
    fn scenarios_accept_exactly_the_listed_queues() {
        let takes = |kind: &str| {
            // A policer has values without defaults.
            let more = if kind == "policer" { ", rate = \"1 Mbit/s\", burst = \"9 KB\"" } else { "" };
            let text = format!(
                "[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\nbuffer = \"9 packets\"\nqueue = {{ kind = \"{kind}\"{more} }}\n"
            );
            parse(&text, "test").map_err(|error| error.expected.clone().unwrap_or_default())
        };
        let words: Vec<_> = Discipline::INFO.iter().map(|info| info.label).collect();
        for label in &words {
            takes(label).expect("a queue");
        }
        let expected = takes("no-such-queue").expect_err("no queue");
        assert!(expected.contains(&words.join(", ")), "{expected}");
    }
}
