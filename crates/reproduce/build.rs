//! Names the sources that measured values depend on, beyond those of a run's results, by the hash of their contents. And
//! builds again when a paper changes: the papers are built in.

include!("../sweep/sources.rs");

/// The files that make metrics of runs.
const FILES: [&str; 7] = ["cell.rs", "log.rs", "metric", "metric.rs", "number.rs", "observe.rs", "run.rs"];

fn main() {
    println!("cargo:rerun-if-changed=../../papers");
    let mut paths = vec![PathBuf::from("../accesslog/src")];
    paths.extend(FILES.map(|name| Path::new("src").join(name)));
    println!("cargo:rustc-env=FIRSTFLIGHT_METRIC_SOURCES={}", digest_of(&paths));
}
