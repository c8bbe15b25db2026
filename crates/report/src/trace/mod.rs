//! Traces of runs as files: one packet capture (pcapng) for each run, one qlog file for each connection.

mod packet;
mod pcapng;
mod qlog;

use std::collections::BTreeSet;
use std::io;

use firstflight_hosts::trace::record::{FlowRecording, Recording};

use crate::output::{Folder, OutputError};
pub use pcapng::pcapng;
pub use qlog::{Vantage, qlog};

/// Stages `<name>.pcapng` and a qlog file for each connection: `<name>.sqlog` if there is one connection, otherwise
/// `<name>.<connection>.sqlog`.
///
/// # Errors
/// [`OutputError`] if a file cannot be written.
pub fn stage_traces(folder: &mut Folder, recording: &Recording) -> Result<(), OutputError> {
    let run = file_name(&recording.name);
    folder.stage(&format!("{run}.pcapng"), |file| pcapng(recording, file))?;
    stage_logs(folder, "", recording, Vantage::SIMULATOR)
}

/// Stages the qlog files of [`stage_traces`] alone, with `place` before their names: `kernel/`.
///
/// # Errors
/// As [`stage_traces`].
pub fn stage_logs(
    folder: &mut Folder,
    place: &str,
    recording: &Recording,
    vantage: Vantage<'_>,
) -> Result<(), OutputError> {
    for (name, flow) in logs(recording) {
        folder.stage(&format!("{place}{name}"), |file| qlog(recording, flow, vantage, file))?;
    }
    Ok(())
}

/// Name and content of each file of [`stage_traces`].
///
/// # Errors
/// None, as memory takes every write; the writers of files have them.
pub fn trace_files(recording: &Recording) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = vec![(format!("{}.pcapng", file_name(&recording.name)), vec![])];
    pcapng(recording, &mut files[0].1)?;
    for (name, flow) in logs(recording) {
        let mut content = vec![];
        qlog(recording, flow, Vantage::SIMULATOR, &mut content)?;
        files.push((name, content));
    }
    Ok(files)
}

/// Name of the qlog file of each connection.
fn logs(recording: &Recording) -> impl Iterator<Item = (String, &FlowRecording)> {
    let run = file_name(&recording.name);
    let mut taken = BTreeSet::new();
    recording.flows.iter().map(move |flow| {
        let mut name = run.clone();
        if recording.flows.len() > 1 {
            name = format!("{run}.{}", file_name(&flow.name));
            // Two names may become equal when the characters that file systems refuse are replaced.
            while !taken.insert(name.to_lowercase()) {
                name.push('_');
            }
        }
        (format!("{name}.sqlog"), flow)
    })
}

/// `name` with only the characters that every file system accepts; `_` replaces the others.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_+.".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_have_only_characters_that_every_file_system_accepts() {
        assert_eq!(file_name("slow-start+cubic-30KB"), "slow-start+cubic-30KB");
        assert_eq!(file_name("a/b:c\u{e9} d.0"), "a_b_c__d.0");
    }
}
