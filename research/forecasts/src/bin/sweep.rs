//! Speed of sweeps: comparisons of three schemes at 300 KB over sampled paths, with one and with two threads.
//!
//! `cargo run --release -p research-forecasts --bin sweep -- 20000`

use std::path::Path;
use std::time::Instant;

use firstflight_hosts::memory;
use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_sweep::{Dataset, Grid, Plan, totals, version};

/// The grid, without the number of points.
const GRID: &str = r#"
base = "cable"
schemes = ["slow-start+cubic", "hystart-linux+cubic", "jump-start+cubic"]
sizes = ["300 KB"]
[[sample.range]]
key = "path.rate"
low = "5 Mbit/s"
high = "200 Mbit/s"
scale = "log"
[[sample.range]]
key = "path.rtt"
low = "10 ms"
high = "200 ms"
scale = "log"
[[sample.range]]
key = "path.buffer"
low = "0.25 BDP"
high = "2 BDP"
[[sample.range]]
key = "path.loss"
low = 0.0
high = 0.005
[sample]
kind = "latin-hypercube"
points = "#;

#[expect(clippy::disallowed_methods, reason = "a benchmark prints elapsed times")]
fn main() {
    let comparisons = std::env::args().nth(1).unwrap_or_else(|| "20000".into());
    let text = GRID.to_owned() + &comparisons + "\n";
    let grid =
        Grid::parse(&text, "grid", &|_| Err("not a preset".into())).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(grid).unwrap_or_else(|error| panic!("{error}"));
    let observe = totals(memory::DEFAULT);
    println!("{comparisons} comparisons, {} runs in {} parts", plan.runs(), plan.parts());
    for threads in [1, 2] {
        let folder = std::env::temp_dir().join(format!("firstflight-sweep-{}-{threads}", std::process::id()));
        let made = (|| {
            reset_peak();
            let dataset = Dataset::open(&folder, &plan, &version(&Simulator, &observe))?;
            let parts: Vec<u64> = (0..plan.parts()).collect();
            let begin = Instant::now();
            dataset.make(&plan, &parts, (&Simulator, &observe, threads), &Silent)?;
            let seconds = begin.elapsed().as_secs_f64();
            Ok::<_, firstflight_sweep::Error>((seconds, dataset.state(parts)?.bytes))
        })();
        let _ = std::fs::remove_dir_all(&folder);
        let (seconds, bytes) = made.unwrap_or_else(|error| panic!("{error}"));
        println!(
            "{threads} threads: {seconds:.2} s, {:.0} runs/s, {:.1} bytes/run, peak memory {}",
            plan.runs() as f64 / seconds,
            bytes as f64 / plan.runs() as f64,
            peak(),
        );
    }
}

/// Lets the peak memory of this process be measured anew. Only Linux has it.
fn reset_peak() {
    let _ = std::fs::write(Path::new("/proc/self/clear_refs"), "5");
}

/// Peak memory of this process.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or("unknown".into(), |peak| peak.trim().to_owned())
}
