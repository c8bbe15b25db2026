//! `firstflight doctor`: the commands that work on this machine, and remedies for those that do not.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{print_json, show};

/// The version and, if it is known, the revision of the source.
pub(crate) const VERSION: &str = env!("FIRSTFLIGHT_VERSION");

/// Report which commands work on this machine, and what the others need
///
/// Nothing is changed: namespaces that the examination makes are gone when it ends. Exits 0 also where abilities are missing;
/// `firstflight lab check` measures the accuracy of real time, and fails where `lab run` cannot work.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight doctor
  sudo firstflight doctor
  firstflight doctor --json | jq '.checks[] | select(.ok | not)'")]
pub(crate) struct Options {
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// A command, and whether it works here.
#[derive(Debug, Serialize)]
struct Check {
    command: &'static str,
    ok: bool,
    found: String,
    remedy: Option<String>,
}

impl Check {
    fn works(command: &'static str, found: impl Into<String>) -> Self {
        Self { command, ok: true, found: found.into(), remedy: None }
    }

    fn lacks(command: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { command, ok: false, found: found.into(), remedy: Some(remedy.into()) }
    }
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let checks = checks();
    match options.json {
        true => print_json(&json!({ "version": VERSION, "checks": checks })),
        false => show(&text(&checks)),
    }
}

fn checks() -> Vec<Check> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let simulations = if cfg!(feature = "papers") { "compare, run, reproduce" } else { "compare, run" };
    let mut all =
        vec![Check::works(simulations, format!("{cores} cores; these need nothing else")), capture()];
    #[cfg(all(target_os = "linux", feature = "lab"))]
    all.extend(lab());
    #[cfg(all(target_os = "linux", feature = "gateway"))]
    all.extend(gateway());
    all.extend([python(), completions()]);
    all
}

fn text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.command.len()).max().unwrap_or(0);
    let mut lines = format!("firstflight {VERSION}\n");
    for Check { command, ok, found, remedy } in checks {
        let word = if *ok { "yes" } else { "no" };
        write!(lines, "{word:<4}{command:<width$}  {found}").expect("text takes any amount");
        lines += &remedy.as_ref().map_or("\n".into(), |remedy| format!(". Remedy: {remedy}\n"));
    }
    lines
}

/// The program of this name, by the variable `PATH`.
fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    // Debian keeps some programs of root outside the path of other users.
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn capture() -> Check {
    match program("tcpdump") {
        Some(file) => Check::works("capture", format!("{}; captures need root", file.display())),
        None => Check::lacks(
            "capture",
            "the program tcpdump is missing",
            "install tcpdump on the host that sends the data; `compare` reads its files here",
        ),
    }
}

#[cfg(all(target_os = "linux", feature = "lab"))]
fn lab() -> [Check; 4] {
    let findings = firstflight_lab::check::abilities();
    let missing = |optional: bool| {
        let unmet = findings
            .iter()
            .find(|finding| !finding.ok && (finding.needed || optional && finding.what.contains("eBPF")));
        unmet.map(|finding| {
            (format!("{}: {}", finding.what, finding.found), finding.remedy.unwrap_or("run as root"))
        })
    };
    let lab = |command, optional, works: &str| match missing(optional) {
        Some((found, remedy)) => Check::lacks(command, found, remedy),
        None => Check::works(command, works),
    };
    [
        Check::works("lab run --host quic", "virtual time; it needs no privileges"),
        lab("lab run", false, "namespaces, TUN devices and real-time priority"),
        lab("lab run, other schemes", true, "eBPF"),
        lab("lab attach", true, "eBPF"),
    ]
}

#[cfg(all(target_os = "linux", feature = "gateway"))]
fn gateway() -> [Check; 3] {
    use firstflight_hooks::{Tier, Tiers};

    let Tiers { sock_ops, adoption, routes, .. } = Tiers::detect();
    let gateway = |command, tier, works: &str| match tier {
        Tier::Present => Check::works(command, works),
        Tier::Missing(why) => match why.split_once("; ") {
            Some((found, remedy)) => Check::lacks(command, found, remedy),
            None => Check::lacks(command, why, "`firstflight gateway run` says which way remains"),
        },
    };
    [
        gateway("gateway run", sock_ops, "new connections start by eBPF (sock_ops)"),
        gateway("gateway run, adoption", adoption, "older connections are read by eBPF (iter/tcp)"),
        gateway("gateway run, routes", routes, "without eBPF, routes set initial windows"),
    ]
}

/// Whether Python can import the package. Python starts without the user's own start-up file.
fn python() -> Check {
    const COMMAND: &str = "Python package";
    const INSTALL: &str = "`make python` builds the wheel; `pip install` installs it";
    let Some(python) = program("python3") else {
        return Check::lacks(COMMAND, "the program python3 is missing", "install Python 3.10 or later");
    };
    let imported = Command::new(&python)
        .args(["-c", "import firstflight; print(firstflight.__version__)"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match imported {
        Ok(output) if output.status.success() => {
            let version = String::from_utf8_lossy(&output.stdout).trim().escape_default().to_string();
            Check::works(COMMAND, format!("version {version} in {}", python.display()))
        }
        _ => Check::lacks(COMMAND, format!("{} does not have it", python.display()), INSTALL),
    }
}

/// Whether the user's shell completes the commands.
#[expect(clippy::disallowed_methods, reason = "the shell is the environment's; no result depends on it")]
fn completions() -> Check {
    const COMMAND: &str = "tab completion";
    let shell = env::var("SHELL").unwrap_or_default();
    let shell = Path::new(&shell).file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let files = match shell.as_str() {
        "bash" => vec![
            home.join(".local/share/bash-completion/completions/firstflight"),
            "/usr/share/bash-completion/completions/firstflight".into(),
        ],
        "zsh" => vec!["/usr/share/zsh/vendor-completions/_firstflight".into()],
        "fish" => vec![
            home.join(".config/fish/completions/firstflight.fish"),
            "/usr/share/fish/vendor_completions.d/firstflight.fish".into(),
        ],
        _ => {
            let found = "the variable SHELL names none of bash, zsh and fish";
            return Check::lacks(COMMAND, found, "`firstflight completions --help` lists the shells");
        }
    };
    match files.iter().find(|file| file.is_file()) {
        Some(file) => Check::works(COMMAND, file.display().to_string()),
        None => {
            let remedy = match shell.as_str() {
                "zsh" => "firstflight completions zsh, written to _firstflight in a folder of $fpath".into(),
                shell => format!("firstflight completions {shell} > {}", files[0].display()),
            };
            Check::lacks(COMMAND, format!("{shell} does not complete the commands yet"), remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_follows_only_a_missing_ability() {
        let checks = [Check::works("a", "there"), Check::lacks("longer", "it is missing", "install it")];
        let lines = text(&checks);
        assert_eq!(
            lines.lines().skip(1).collect::<Vec<_>>(),
            ["yes a       there", "no  longer  it is missing. Remedy: install it"]
        );
    }
}
