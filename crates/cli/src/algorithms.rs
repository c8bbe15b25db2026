//! `firstflight algorithms`: the list of schemes and queues.

use clap::Args;
use firstflight_contract::Signals;
use firstflight_net::catalogue::DISCIPLINES;
use firstflight_schemes::not_implemented::{NOT_IMPLEMENTED, PLANNED, Unimplemented};
use firstflight_schemes::registry::SCHEMES;
use firstflight_study::host::Host;
use firstflight_study::simulator::Simulator;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;
use crate::table::{Align, table};

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

#[derive(Serialize)]
struct Algorithm {
    label: &'static str,
    role: &'static str,
    source: &'static str,
    needs: Vec<&'static str>,
    hosts: Vec<&'static str>,
    #[serde(skip)]
    summary: &'static str,
}

const SIMULATOR: &str = "simulator";

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let all = algorithms();
    if options.json {
        return output::print_json(&all);
    }
    let rows: Vec<_> =
        all.iter().map(|a| [a.label, a.role, a.summary, a.source].map(str::to_owned)).collect();
    let columns = ["label", "role", "summary", "source"].map(|name| (name, Align::Left));
    let implemented = table(columns, &rows);
    let planned = unimplemented(["planned", "summary", "source"], PLANNED);
    let not_implemented = unimplemented(["not implemented", "reason", "mentioned in"], NOT_IMPLEMENTED);
    output::show(&format!("{implemented}\n{planned}\n{not_implemented}"))
}

/// Table of algorithms that cannot be chosen.
fn unimplemented(columns: [&str; 3], entries: &[Unimplemented]) -> String {
    let rows: Vec<_> =
        entries.iter().map(|entry| [entry.name, entry.why, entry.source].map(str::to_owned)).collect();
    table(columns.map(|name| (name, Align::Left)), &rows)
}

fn algorithms() -> Vec<Algorithm> {
    let schemes = SCHEMES.iter().map(|info| Algorithm {
        label: info.label,
        role: info.role.label(),
        source: info.source,
        needs: info.needs.names().collect(),
        hosts: if info.needs.without(Simulator.offers()) == Signals::NONE { vec![SIMULATOR] } else { vec![] },
        summary: info.summary,
    });
    let disciplines = DISCIPLINES.iter().map(|info| Algorithm {
        label: info.label,
        role: info.role.label(),
        source: info.source,
        needs: vec![],
        hosts: vec![SIMULATOR],
        summary: info.summary,
    });
    schemes.chain(disciplines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_scenario::parse;

    #[test]
    fn scenarios_accept_exactly_the_listed_queues() {
        let takes = |kind: &str| {
            let text = format!(
                "[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\nbuffer = \"9 packets\"\nqueue = \"{kind}\"\n"
            );
            parse(&text, "test").map_err(|error| error.expected.clone().unwrap_or_default())
        };
        let words: Vec<_> = DISCIPLINES.iter().map(|info| info.label).collect();
        for label in &words {
            takes(label).expect("a queue");
        }
        let expected = takes("no-such-queue").expect_err("no queue");
        assert!(expected.contains(&words.join(", ")), "{expected}");
    }
}
