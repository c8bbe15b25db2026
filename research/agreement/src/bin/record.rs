//! Records the answers of this machine's kernel to conformance scripts.
//!
//!     cargo run --release -p research-agreement --bin record -- [--check] FILE.script…
//!
//! Writes FILE.kernel beside each: a line of provenance, then one answer for each line of the script. With `--check`
//! nothing is written, and lines whose registers or segments differ from the recording are printed; then the exit code
//! is 1. A run in which a line was more than 3 ms late does not count; three such runs are a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use firstflight_lab::{Played, Script, play};
use firstflight_script::Answer;
use serde_json::{Value, json};

const LATE: Duration = Duration::from_millis(3);
const TRIES: usize = 3;

fn main() -> ExitCode {
    let mut check = false;
    let mut differ = false;
    for argument in std::env::args().skip(1) {
        if argument == "--check" {
            check = true;
            continue;
        }
        let path = PathBuf::from(&argument);
        match handle(&path, check) {
            Ok(same) => differ |= !same,
            Err(why) => {
                eprintln!("{}: {why}", path.display());
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::from(u8::from(differ))
}

/// Records or checks one script; returns whether it agrees with the recording.
fn handle(path: &Path, check: bool) -> Result<bool, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let script = Script::read(&text).map_err(|wrong| wrong.to_string())?;
    let played = on_time(&script)?;
    let to = path.with_extension("kernel");
    if check {
        return Ok(compare(path, &played, &fs::read_to_string(&to).map_err(|error| error.to_string())?));
    }
    let mut lines = provenance(&script, &played).to_string();
    for answer in &played.answers {
        lines.push('\n');
        lines.push_str(&serde_json::to_string(answer).map_err(|error| error.to_string())?);
    }
    lines.push('\n');
    fs::write(&to, lines).map_err(|error| format!("{}: {error}", to.display()))?;
    println!("{}: latest line {:?} late", to.display(), played.lateness);
    Ok(true)
}

/// Plays until a run is on time.
fn on_time(script: &Script) -> Result<Played, String> {
    let mut lateness = vec![];
    for _ in 0..TRIES {
        let played = play(script).map_err(|failure| failure.to_string())?;
        if played.lateness <= LATE {
            return Ok(played);
        }
        lateness.push(played.lateness);
    }
    Err(format!(
        "this machine was too busy: {TRIES} runs, their latest lines {lateness:?} late, {LATE:?} allowed"
    ))
}

fn provenance(script: &Script, played: &Played) -> Value {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({ "kernel": release.trim(), "hz": hz(), "congestion_control": script.setup.congestion_control,
        "slow_start_after_idle": script.setup.idle_restart, "lateness_us": played.lateness.as_micros() as u64 })
}

/// Ticks a second, where the kernel keeps its configuration.
fn hz() -> Option<u32> {
    let config = Command::new("zcat").arg("/proc/config.gz").output().ok()?;
    let config = String::from_utf8_lossy(&config.stdout).into_owned();
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?.parse().ok()
}

/// Prints the differences between a run and the recording, without times and values measured from them.
fn compare(path: &Path, played: &Played, recorded: &str) -> bool {
    let recorded: Vec<Answer> =
        recorded.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut same = recorded.len() == played.answers.len();
    for (number, (was, is)) in recorded.iter().zip(&played.answers).enumerate() {
        let [was, is] = [was, is].map(timeless);
        if was != is {
            same = false;
            println!("{}: line {}\n  was {was}\n  is  {is}", path.display(), number + 1);
        }
    }
    println!("{}: {}", path.display(), if same { "as recorded" } else { "not as recorded" });
    same
}

fn timeless(answer: &Answer) -> Value {
    let sent: Vec<_> = answer.sent.iter().map(|sent| json!([sent.seq, sent.len, sent.retransmit])).collect();
    let info = &answer.info;
    json!({ "sent": sent, "cwnd": info.cwnd, "ssthresh": info.ssthresh, "state": info.state, "unacked": info.unacked,
        "sacked": info.sacked, "lost": info.lost, "retrans": info.retrans, "reordering": info.reordering })
}
