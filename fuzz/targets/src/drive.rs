//! The driver: runs a target on inputs made from its corpus by a seeded generator, without a nightly compiler.
//!
//! The target runs in a process of its own, the worker, because a stack overflow or an exhausted memory ends the process.
//! Input `n` follows from the seed, `n` and the corpus, so that the worker need not write its inputs down: when it dies,
//! a careful worker repeats the inputs since the last report, each announced before it runs.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Target;
use crate::mutate::Inputs;

/// An execution that takes longer hangs.
pub const HANG: Duration = Duration::from_secs(120);
/// Time between two reports of a worker.
const REPORT: Duration = Duration::from_millis(250);

/// The inputs that a worker runs.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Seed of the inputs.
    pub seed: u64,
    /// Number of the first input.
    pub from: u64,
    /// Most inputs.
    pub executions: u64,
    /// Most seconds.
    pub seconds: u64,
    /// Whether each input is announced before it runs.
    pub careful: bool,
}

/// Result of the driver's run of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driven {
    /// Inputs run.
    pub executions: u64,
    /// The input at which the target died, if it did.
    pub offending: Option<Vec<u8>>,
    /// The end of the worker's standard error.
    pub said: String,
}

#[expect(clippy::disallowed_methods, reason = "the time that a fuzzing run takes; no result depends on it")]
fn now() -> Instant {
    Instant::now()
}

/// Runs a worker in this process: prints the number of inputs that are done, again and again. Ends the process where an
/// input hangs.
///
/// # Errors
/// If standard output cannot be written.
pub fn work(target: &Target, corpus: &[Vec<u8>], work: Work) -> io::Result<()> {
    let (done, stop, ended) = (AtomicU64::new(work.from), AtomicBool::new(false), AtomicBool::new(false));
    let inputs = Inputs::new(target, corpus, work.seed);
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&done, &stop, &ended, work));
        let _end = End(&ended);
        let mut input = vec![];
        let end = work.from.saturating_add(work.executions);
        let mut result = Ok(());
        for number in work.from..end {
            if stop.load(Ordering::Relaxed) || result.is_err() {
                break;
            }
            if work.careful {
                result = report(number);
            }
            inputs.make(number, &mut input);
            (target.run)(&input);
            done.store(number + 1, Ordering::Relaxed);
        }
        result
    })?;
    report(done.into_inner())
}

/// Ends the watch when the work is over, also by a panic.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reports progress, notices an input that hangs, and stops the worker when its time is over.
fn watch(done: &AtomicU64, stop: &AtomicBool, ended: &AtomicBool, work: Work) {
    let begin = now();
    let (mut last, mut since) = (work.from, begin);
    while !ended.load(Ordering::Relaxed) {
        std::thread::sleep(REPORT.min(Duration::from_millis(20)));
        let number = done.load(Ordering::Relaxed);
        if number != last && now().duration_since(since) >= REPORT {
            (last, since) = (number, now());
            if !work.careful && report(number).is_err() {
                stop.store(true, Ordering::Relaxed);
            }
        } else if number == last && now().duration_since(since) >= HANG {
            eprintln!("the input hangs: it has run for {} s", HANG.as_secs());
            std::process::abort();
        }
        if begin.elapsed().as_secs() >= work.seconds {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

fn report(number: u64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{number}")?;
    out.flush()
}

/// Runs workers, made by `worker`, until the work is done or the target dies; `progress` hears the number of executions.
///
/// # Errors
/// If a worker cannot be started or heard.
pub fn drive(
    target: &Target,
    corpus: &[Vec<u8>],
    work: Work,
    worker: impl Fn(Work) -> Command,
    mut progress: impl FnMut(u64),
) -> io::Result<Driven> {
    let (done, died) = hear(worker(work), |number| progress(number - work.from))?;
    let done = done.unwrap_or(work.from);
    let Some(said) = died else {
        return Ok(Driven { executions: done - work.from, ..Driven::default() });
    };
    let again = Work { from: done, careful: true, executions: u64::MAX, ..work };
    let (number, died) = hear(worker(again), |_| {})?;
    let number = number.ok_or_else(|| io::Error::other(format!("the worker does not start:\n{said}")))?;
    let mut offending = vec![];
    Inputs::new(target, corpus, work.seed).make(number, &mut offending);
    let said = died.unwrap_or_else(|| format!("{said}\nthe target died once and not again"));
    Ok(Driven { executions: number + 1 - work.from, offending: Some(offending), said })
}

/// Runs a worker: the last number that it reported, if any, and its last words if it failed.
fn hear(mut worker: Command, mut progress: impl FnMut(u64)) -> io::Result<(Option<u64>, Option<String>)> {
    let mut child = worker.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let errors = BufReader::new(child.stderr.take().expect("piped"));
    let tail = std::thread::spawn(move || {
        let mut tail: Vec<String> = vec![];
        for line in errors.split(b'\n').map_while(Result::ok) {
            if tail.len() == 100 {
                tail.remove(0);
            }
            tail.push(String::from_utf8_lossy(&line).into_owned());
        }
        tail.join("\n")
    });
    let mut last = None;
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        if let Ok(number) = line?.parse() {
            last = Some(number);
            progress(number);
        }
    }
    let status = child.wait()?;
    let said = tail.join().expect("the reader of the worker's errors does not panic");
    Ok((last, (!status.success()).then_some(said)))
}
