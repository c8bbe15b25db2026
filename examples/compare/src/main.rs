//! Runs a scenario, then compares start-up schemes on its path.

use firstflight::{Error, Scenario, compare, run};

fn main() -> Result<(), Error> {
    let scenario = Scenario::from_text(include_str!("../scenario.toml"))?;
    let flow = &run(&scenario)?.flows[0];
    println!(
        "{}+{}: {:.3} s",
        flow.startup,
        flow.avoidance,
        flow.completion_s.expect("a finite transfer ends")
    );
    let schemes = ["slow-start+cubic", "hystart+++cubic", "jump-start+cubic"];
    for row in compare(&scenario).schemes(schemes)?.sizes(["100 KB"])?.execute()?.comparison.results {
        println!("{}. {}: {:.3} s", row.rank, row.scheme, row.completion_s.expect("it ends").median);
    }
    Ok(())
}
