//! Fuzz targets: functions that take any bytes and panic if the program breaks a promise of `docs/reliability.md`.
//!
//! Three programs call them: cargo-fuzz (the folder above), a [driver](drive) of this package that needs no nightly
//! compiler, and a test that replays every file of `fuzz/corpus`.

mod access_log;
mod any_scenario;
mod arithmetic;
mod bpf_object;
mod capture;
mod compare_capture;
mod compare_scenario;
mod draw;
pub mod drive;
mod finite;
mod gateway_canary;
mod gateway_configuration;
mod gateway_log;
mod gateway_orders;
mod gateway_record;
mod gateway_snapshot;
mod gateway_state;
mod gateways;
mod graphml;
mod grid;
mod link_rates;
mod link_trace;
mod mutate;
pub mod page;
mod qlog;
mod results;
mod scenario;
mod scratch;
mod script;
mod sender;
mod small;
mod store;
pub mod tally;

use std::path::{Path, PathBuf};

/// One function under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target, of its corpus folder and of its cargo-fuzz program.
    pub name: &'static str,
    /// Description of one execution, for the documentation.
    pub about: &'static str,
    /// Executes one input.
    pub run: fn(&[u8]),
    /// Longest input, bytes.
    pub longest: usize,
    /// Changes that the driver makes to inputs.
    pub form: Form,
}

/// Form of a target's inputs.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Any bytes make an input: numbers are drawn from them.
    Numbers,
    /// A binary format.
    Binary,
    /// Lines of text, with these words.
    Text(&'static [&'static str]),
}

/// Every target, in alphabetical order.
pub const TARGETS: &[Target] = &[
    access_log::TARGET,
    any_scenario::TARGET,
    arithmetic::TARGET,
    bpf_object::TARGET,
    capture::TARGET,
    compare_capture::TARGET,
    compare_scenario::TARGET,
    gateway_canary::TARGET,
    gateway_configuration::TARGET,
    gateway_log::TARGET,
    gateway_orders::TARGET,
    gateway_record::TARGET,
    gateway_snapshot::TARGET,
    gateway_state::TARGET,
    graphml::TARGET,
    grid::TARGET,
    link_rates::TARGET,
    link_trace::TARGET,
    qlog::TARGET,
    results::TARGET,
    scenario::TARGET,
    script::TARGET,
    sender::TARGET,
    store::TARGET,
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Executes one input of the target of this name.
///
/// # Panics
/// If there is no such target, or the program breaks a promise.
pub fn execute(name: &str, bytes: &[u8]) {
    (target(name).expect("the name of a target").run)(bytes);
}

/// The folder `fuzz` of the repository.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the folder fuzz").into()
}

/// The files of a target's corpus: name and content, in the order of names.
///
/// # Errors
/// If the folder or a file of it cannot be read.
pub fn corpus(target: &Target) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = vec![];
    for entry in std::fs::read_dir(folder().join("corpus").join(target.name))? {
        let entry = entry?;
        files.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
    }
    files.sort();
    Ok(files)
}

/// Inputs that are made, not found: target, file name and content.
pub fn seeds() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    vec![
        (store::TARGET.name, "every-run", store::every_run()),
        (results::TARGET.name, "measured", store::measured()),
        (gateway_canary::TARGET.name, "second-step", gateway_canary::second_step()),
        (gateway_orders::TARGET.name, "every-act", gateway_orders::every_act()),
        (gateway_snapshot::TARGET.name, "contents", gateway_snapshot::contents()),
        (gateway_snapshot::TARGET.name, "whole", gateway_snapshot::whole()),
        (gateway_log::TARGET.name, "every-event", gateway_log::every_event()),
        (gateway_log::TARGET.name, "whole", gateway_log::whole()),
        (gateway_record::TARGET.name, "content", gateway_record::content()),
        (gateway_record::TARGET.name, "signed", gateway_record::signed_record()),
        (gateway_state::TARGET.name, "contents", gateway_state::contents()),
        (gateway_state::TARGET.name, "whole", gateway_state::whole()),
    ]
}

/// The text of these bytes; bytes that are not UTF-8 are no input of a target that reads text.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// A refusal is one clear line.
fn refused(error: impl std::fmt::Display) {
    assert!(!error.to_string().is_empty(), "an error without a message");
}
