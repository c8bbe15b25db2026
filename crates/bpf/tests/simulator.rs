//! Objects in the simulator, over its Linux sender.

mod common;

use common::{RENO, only};
use firstflight::results::RunResult;
use firstflight::scheme::Schemes;
use firstflight::{Run, Scenario};
use firstflight_bpf::KernelScheme;

/// Paths and flows: no losses; a full queue; random losses with timeouts; ECN marks; an application that pauses.
const SCENARIOS: [(&str, &str, &str); 5] = [
    ("rate = \"100 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"4 BDP\"", "size = \"300 KB\"", ""),
    ("rate = \"20 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"0.5 BDP\"", "size = \"20 MB\"", ""),
    (
        "rate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\nloss = 0.03",
        "size = \"3 MB\"",
        "timeouts",
    ),
    (
        "rate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"200 packets\"\nqueue = \"codel\"\necn = true",
        "size = \"10 MB\"\necn = true",
        "marks",
    ),
    ("rate = \"20 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"1 BDP\"", "size = \"5 MB\"\nprofile = \"linux\"", ""),
];

fn run(schemes: &Schemes, path: &str, flow: &str, chain: &str) -> RunResult {
    let profile = if flow.contains("profile") { "" } else { "profile = \"linux\"\n" };
    let text = format!("[path]\n{path}\n[[flow]]\n{flow}\n{profile}{chain}\n");
    let scenario = Scenario::from_text_with(&text, schemes).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Run::of(scenario).execute().unwrap_or_else(|error| panic!("{error}"))
}

fn with(scheme: &KernelScheme) -> Schemes {
    Schemes::built_in().with(scheme.clone()).expect("a new label")
}
