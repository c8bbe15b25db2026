//! The connections of a run as text, so that another simulator can replay them: `arrivals SCENARIO SEED` prints a line for each
//! with its name, start (s), lifetime (s; - without one) and propagation delay beyond that of the links (ms, both ways together).

use std::process::ExitCode;

use firstflight_contract::Nanos;
use firstflight_scenario::Scenario;
use firstflight_study::network::build;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seed] = &arguments[..] else {
        eprintln!("usage: arrivals SCENARIO SEED");
        return ExitCode::from(2);
    };
    match list(file, seed) {
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

fn list(file: &str, seed: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let scenario = Scenario::from_text(&text).map_err(|error| error.to_string())?;
    let seed = seed.parse().map_err(|error| format!("SEED {seed}: {error}"))?;
    let built = build(&scenario, seed, Nanos(1_000_000_000))
        .map_err(|refusal| format!("{}: {}", refusal.key, refusal.why))?;
    let seconds = |ns: u64| format!("{:.9}", ns as f64 / 1e9);
    let mut out = String::new();
    for flow in &built.network.flows {
        // The simulator divides the extra delay among the four access links of a connection.
        let access = format!("{}.in", flow.name);
        let extra =
            built.network.links.iter().find(|link| link.name == access).map_or(0, |link| 4 * link.delay.0);
        let lifetime = flow.app.lifetime.map_or("-".into(), seconds);
        out += &format!("{} {} {lifetime} {:.6}\n", flow.name, seconds(flow.app.start), extra as f64 / 1e6);
    }
    Ok(out)
}
