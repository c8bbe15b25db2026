//! `firstflight-fuzz`: runs the fuzz targets under cargo-fuzz or under the driver of this package, and counts.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use firstflight_fuzz_targets::drive::{Work, drive, work};
use firstflight_fuzz_targets::tally::{Entry, add, grouped};
use firstflight_fuzz_targets::{Form, TARGETS, Target, corpus, folder, page, seeds, target};
use sha2::{Digest, Sha256};

#[derive(Debug, Parser)]
#[command(about = "Runs the fuzz targets and counts executions and crashes")]
enum Options {
    /// Run targets, one after the other
    Run(Run),
    /// Run a target on one file
    Replay {
        /// The target
        target: String,
        /// The input
        file: PathBuf,
    },
    /// Write the inputs that are made, not found: whole results and stores
    Seeds,
    /// One worker of the driver
    #[command(hide = true)]
    Work(Worker),
}

#[derive(Debug, Parser)]
struct Run {
    /// Targets; all if none is named
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The program that makes the inputs
    #[arg(long, value_enum, default_value_t = Engine::Driver)]
    engine: Engine,
    /// Seed of the first input
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Add the counts to fuzz/executions.json and docs/reliability.md
    #[arg(long)]
    tally: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// cargo-fuzz: inputs chosen by the code that they reach; needs a nightly compiler
    Libfuzzer,
    /// The driver of this package
    Driver,
}

#[derive(Debug, Parser)]
struct Worker {
    target: String,
    seed: u64,
    from: u64,
    executions: u64,
    seconds: u64,
    #[arg(long)]
    careful: bool,
}

fn main() -> ExitCode {
    let done = match Options::parse() {
        Options::Run(options) => run(&options),
        Options::Replay { target: name, file } => named(&name).and_then(|target| {
            (target.run)(&std::fs::read(file)?);
            Ok(true)
        }),
        Options::Seeds => write_seeds().map(|()| true),
        Options::Work(Worker { target: name, seed, from, executions, seconds, careful }) => {
            let target = target(&name).expect("started by this program");
            inputs_of(target)
                .and_then(|inputs| work(target, &inputs, Work { seed, from, executions, seconds, careful }))
                .map(|()| true)
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_seeds() -> io::Result<()> {
    for (target, name, bytes) in seeds() {
        let folder = folder().join("corpus").join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

fn inputs_of(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    Ok(corpus(target)?.into_iter().map(|(_, bytes)| bytes).collect())
}

#[expect(clippy::disallowed_methods, reason = "the time that a fuzzing run takes; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}

fn named(name: &str) -> io::Result<&'static Target> {
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    target(name)
        .ok_or_else(|| io::Error::other(format!("{name}: no such target; expected one of: {}", names())))
}

/// Runs the targets; true if no input made one fail.
fn run(options: &Run) -> io::Result<bool> {
    let mut targets: Vec<&Target> =
        options.targets.iter().map(|name| named(name)).collect::<Result<_, _>>()?;
    if targets.is_empty() {
        targets = TARGETS.iter().collect();
    }
    let mut clean = true;
    for (index, target) in targets.iter().enumerate() {
        let mut bar = Bar {
            target: target.name,
            begin: now(),
            shown: now(),
            seconds: options.seconds,
            after: (targets.len() - index - 1) as u64 * options.seconds,
        };
        let found = match options.engine {
            Engine::Driver => driver(target, options, &mut bar)?,
            Engine::Libfuzzer => libfuzzer(target, options, &mut bar)?,
        };
        bar.clear();
        let crashes = u64::from(found.offending.is_some());
        println!("{}: {} executions, {crashes} crashes", target.name, found.executions);
        if let Some(input) = &found.offending {
            clean = false;
            println!("{}: the input is {}\n{}", target.name, input.display(), found.said);
        }
        if options.tally {
            add(&[Entry {
                target: target.name.into(),
                engine: if options.engine == Engine::Driver { "driver" } else { "libfuzzer" }.into(),
                executions: found.executions,
                seconds: bar.begin.elapsed().as_secs(),
                crashes,
                commit: commit(),
            }])?;
        }
    }
    if options.tally {
        page::write()?;
    }
    Ok(clean)
}

/// Result of one target.
struct Found {
    executions: u64,
    offending: Option<PathBuf>,
    said: String,
}

fn driver(target: &Target, options: &Run, bar: &mut Bar) -> io::Result<Found> {
    let inputs = inputs_of(target)?;
    let program = std::env::current_exe()?;
    let worker = |work: Work| {
        let mut command = Command::new(&program);
        let Work { seed, from, executions, seconds, careful } = work;
        command.arg("work").arg(target.name);
        command.args([seed, from, executions, seconds].map(|number| number.to_string()));
        if careful {
            command.arg("--careful");
        }
        // One thread for each worker, as the other engine has.
        command.env("RAYON_NUM_THREADS", "1").env("RUST_BACKTRACE", "0");
        command
    };
    let whole =
        Work { seed: options.seed, from: 0, executions: u64::MAX, seconds: options.seconds, careful: false };
    let done = drive(target, &inputs, whole, worker, |executions| bar.show(executions))?;
    let offending = done.offending.map(|input| keep(target, &input)).transpose()?;
    Ok(Found { executions: done.executions, offending, said: done.said })
}

/// Writes an input into the folder of artifacts.
fn keep(target: &Target, input: &[u8]) -> io::Result<PathBuf> {
    let folder = folder().join("artifacts").join(target.name);
    std::fs::create_dir_all(&folder)?;
    let hash: String = Sha256::digest(input).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let file = folder.join(format!("crash-{hash}"));
    std::fs::write(&file, input)?;
    Ok(file)
}

/// Runs a target under cargo-fuzz. New inputs go to a folder of their own; the corpus of the repository stays as it is.
fn libfuzzer(target: &Target, options: &Run, bar: &mut Bar) -> io::Result<Found> {
    let folder = folder();
    let grown = folder.join("target/corpus").join(target.name);
    std::fs::create_dir_all(&grown)?;
    let mut command = Command::new("cargo");
    command
        .args(["+nightly", "fuzz", "run", target.name])
        .arg(&grown)
        .arg(folder.join("corpus").join(target.name));
    command.arg("--");
    command.args([
        format!("-max_total_time={}", options.seconds),
        format!("-max_len={}", target.longest),
        format!("-seed={}", options.seed),
        "-timeout=120".into(),
        "-rss_limit_mb=3000".into(),
        "-print_final_stats=1".into(),
    ]);
    if let Form::Text(words) = target.form {
        command.arg(format!("-dict={}", dictionary(&grown, words)?.display()));
    }
    command.current_dir(folder.parent().expect("the repository")).env("RAYON_NUM_THREADS", "1");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let (mut executions, mut said, mut offending) = (0, vec![], None);
    for line in BufReader::new(child.stderr.take().expect("piped")).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        let counted = line.strip_prefix('#').and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        let total =
            line.strip_prefix("stat::number_of_executed_units:").and_then(|rest| rest.trim().parse().ok());
        if let Some(number) = counted.or(total) {
            executions = number;
            bar.show(executions);
        }
        if let Some((_, file)) = line.split_once("Test unit written to ") {
            offending = Some(folder.join(file));
        }
        said.push(line);
    }
    let status = child.wait()?;
    let said = said[said.len().saturating_sub(40)..].join("\n");
    if !status.success() && offending.is_none() {
        return Err(io::Error::other(format!("cargo fuzz run {} failed:\n{said}", target.name)));
    }
    Ok(Found { executions, offending, said })
}

/// The words of a target in libFuzzer's notation, beside its grown corpus.
fn dictionary(grown: &Path, words: &[&str]) -> io::Result<PathBuf> {
    let file = grown.with_extension("dict");
    let escaped = |word: &str| -> String {
        let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' || byte == b' ';
        let shown = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("\\x{byte:02x}") };
        word.bytes().map(shown).collect()
    };
    let lines: Vec<String> = words.iter().map(|word| format!("\"{}\"\n", escaped(word))).collect();
    std::fs::write(&file, lines.concat())?;
    Ok(file)
}

/// The commit of the sources.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(folder()).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let head = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    let sources =
        ["status", "--porcelain", "--untracked-files=no", "--", "../crates", "targets", "../Cargo.lock"];
    let changed = git(&sources).is_some_and(|files| !files.is_empty());
    head + if changed { "+" } else { "" }
}

/// Progress on standard error: a line that is rewritten on a terminal, or one line a minute.
struct Bar {
    target: &'static str,
    begin: Instant,
    shown: Instant,
    seconds: u64,
    /// Seconds of the targets that follow.
    after: u64,
}

impl Bar {
    fn show(&mut self, executions: u64) {
        let terminal = io::stderr().is_terminal();
        let pause = if terminal { Duration::from_millis(200) } else { Duration::from_secs(60) };
        if self.shown.elapsed() < pause {
            return;
        }
        self.shown = now();
        let spent = self.begin.elapsed().as_secs();
        let left = self.seconds.saturating_sub(spent) + self.after;
        let text = format!(
            "{}: {} executions in {spent} s of {} s; all targets end in {} min",
            self.target,
            grouped(executions),
            self.seconds,
            left.div_ceil(60)
        );
        let (before, after) = if terminal { ("\r", "\x1b[K") } else { ("", "\n") };
        eprint!("{before}{text}{after}");
        let _ = io::stderr().flush();
    }

    fn clear(&self) {
        if io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
    }
}
