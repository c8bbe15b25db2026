//! Objects for the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use firstflight::Run;
use firstflight::results::RunResult;
use firstflight::scheme::Schemes;
use firstflight_bpf::KernelScheme;

/// The object of `objects/reno.bpf.c`.
#[allow(dead_code, reason = "each test file uses a part of these")]
pub(crate) const RENO: &[u8] = include_bytes!("../objects/reno.bpf.o");

/// The object of `objects/faults.bpf.c`.
#[allow(dead_code, reason = "each test file uses a part of these")]
pub(crate) const FAULTS: &[u8] = include_bytes!("../objects/faults.bpf.o");

/// The only congestion control of an object.
#[allow(dead_code, reason = "each test file uses a part of these")]
pub(crate) fn only(object: &[u8]) -> KernelScheme {
    let mut all = firstflight_bpf::read(object).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// The compiler of eBPF; the reason if there is none.
#[allow(dead_code, reason = "each test file uses a part of these")]
pub(crate) fn clang() -> Result<&'static str, String> {
    let runs =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|run| run.status.success());
    ["clang-19", "clang"].into_iter().find(runs).ok_or_else(|| "clang is missing".into())
}

/// Compiles a file with these additional arguments.
#[allow(dead_code, reason = "each test file uses a part of these")]
pub(crate) fn compile(source: &Path, arguments: &[&str]) -> Result<Vec<u8>, String> {
    let name = source.file_name().expect("a file").to_string_lossy();
    let object = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}.o", std::process::id()));
    let run = Command::new(clang()?)
        .args(["-O2", "-g", "--target=bpf", "-mcpu=v3", "-c"])
        .arg(source)
        .arg("-o")
        .arg(&object)
        .args(arguments)
        .output()
        .map_err(|error| error.to_string())?;
    if !run.status.success() {
        let errors = String::from_utf8_lossy(&run.stderr).into_owned();
        return Err(errors.lines().find(|line| line.contains("error")).unwrap_or("clang fails").to_owned());
    }
    let bytes = std::fs::read(&object).map_err(|error| error.to_string());
    let _ = std::fs::remove_file(&object);
    bytes
}

/// Runs one flow of profile linux over a path, with the schemes of objects beside the built-in ones.
#[allow(dead_code, reason = "each test file uses a part of these")]
pub(crate) fn run(schemes: &[&KernelScheme], path: &str, flow: &str, chain: &str) -> RunResult {
    let text = format!("[path]\n{path}\n[[flow]]\nprofile = \"linux\"\n{flow}\n{chain}\n");
    let add = |known: Schemes, scheme: &&KernelScheme| known.with((*scheme).clone()).expect("a new label");
    let known = schemes.iter().fold(Schemes::built_in(), add);
    let scenario =
        firstflight_scenario::parse_with(&text, "test", &known).unwrap_or_else(|error| panic!("{error}"));
    let mut result = Run::of(scenario).execute().unwrap_or_else(|error| panic!("{error}"));
    // The time that the run took is not part of the result.
    (result.engine.wall_s, result.engine.cpu_s) = (None, None);
    result
}
