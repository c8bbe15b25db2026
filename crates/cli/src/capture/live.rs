//! `firstflight capture --run`: tcpdump, whose capture goes to standard output.

use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::{Failure, wrong_at};
use crate::interrupt;
use crate::output::complain;

/// Exit code of `timeout` when the time is over, when the program cannot be run, and when there is none.
const OVER: i32 = 124;
const NOT_RUN: [i32; 2] = [126, 127];

/// Bytes that are read at most after tcpdump got the signal to end. Its buffer has this size (`-B 16384`).
const REST: u64 = 16 << 20;

/// A capture to make.
pub(super) struct Live<'a> {
    /// Words of the command: `timeout` and tcpdump.
    pub(super) words: &'a [String],
    /// The same with sudo, for the message if tcpdump may not capture.
    pub(super) privileged: &'a str,
    /// Length after which the capture ends, bytes.
    pub(super) most: u64,
}

impl Live<'_> {
    /// Runs tcpdump to its end.
    pub(super) fn run(&self) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            let place = "standard output";
            let expected =
                "a pipe or a file, as in: firstflight capture --run --for 60s | firstflight compare -";
            return Err(wrong_at(place, "is a terminal, and a capture is no text")
                .expecting(expected)
                .into());
        }
        let [program, arguments @ ..] = self.words else { unreachable!("a command has words") };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => absent(program, "coreutils"),
            _ => wrong_at(program, error).into(),
        })?;
        complain(format_args!("capturing: {}", self.words.join(" ")));
        let mut said = child.stderr.take().expect("a pipe");
        let said = thread::spawn(move || {
            let mut text = String::new();
            let _ = said.read_to_string(&mut text);
            text
        });
        // Ctrl-C ends tcpdump, too, whose last packets are then still written.
        let copied = interrupt::while_stoppable(|| self.copy(&mut child));
        let status = child.wait().map_err(|error| wrong_at("tcpdump", error))?;
        let said = said.join().unwrap_or_default();
        let copied = copied?;
        self.judge(status, &copied, &said)?;
        for line in said.lines().filter(|line| line.contains(" packets ") || line.contains(" packet ")) {
            complain(line);
        }
        if copied.full {
            let most = self.most / 1_000_000;
            complain(format_args!(
                "warning: the capture was ended at {most} MB; --files N allows N times 100 MB"
            ));
        }
        Ok(())
    }

    /// Copies the capture to standard output, until it ends or is as long as allowed.
    fn copy(&self, child: &mut Child) -> Result<Copied, Failure> {
        let end = child_ender(child);
        let mut input = child.stdout.take().expect("a pipe");
        let mut out = io::stdout().lock();
        let mut buffer = vec![0; 1 << 16];
        let mut copied = Copied::default();
        let mut ended = false;
        loop {
            let read = match input.read(&mut buffer) {
                Ok(0) => return Ok(copied),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    end();
                    return Err(wrong_at("tcpdump", error).into());
                }
            };
            if let Err(error) = out.write_all(&buffer[..read]).and_then(|()| out.flush()) {
                end();
                return Err(Failure::from_stdout(error));
            }
            copied.bytes += read as u64;
            copied.full |= copied.bytes >= self.most;
            if copied.bytes >= self.most.saturating_add(REST) {
                return Ok(copied);
            }
            // tcpdump writes the packets that it has, and ends.
            if !ended && (copied.full || interrupt::stopped()) {
                ended = true;
                end();
            }
        }
    }

    /// Fails if tcpdump did.
    fn judge(&self, status: ExitStatus, copied: &Copied, said: &str) -> Result<(), Failure> {
        let code = status.code();
        if copied.full || matches!(code, Some(0 | OVER)) {
            return Ok(());
        }
        if code.is_some_and(|code| NOT_RUN.contains(&code)) {
            return Err(absent("tcpdump", "tcpdump"));
        }
        let last = said.lines().rev().find(|line| line.starts_with("tcpdump: ")).or(said.lines().last());
        let why =
            last.map_or_else(|| status.to_string(), |line| line.trim_start_matches("tcpdump: ").to_owned());
        let refused = ["permission", "permitted"].iter().any(|word| why.contains(word));
        let wrong = wrong_at("tcpdump", why);
        Err(match refused {
            true => wrong.expecting(format!("root or CAP_NET_RAW, as in: {}", self.privileged)).into(),
            false => wrong.into(),
        })
    }
}

/// Length of the copy so far.
#[derive(Default)]
struct Copied {
    bytes: u64,
    /// Whether the capture was ended because of its length.
    full: bool,
}

/// Ends a child in order. `timeout` hands the signal on to tcpdump.
fn child_ender(child: &Child) -> impl Fn() + use<> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    move || {
        // The child has not been waited for, so that its number is its own.
        let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
    }
}

fn absent(program: &str, package: &str) -> Failure {
    let wrong = wrong_at(program, "not installed on this machine");
    wrong.expecting(format!("the package {package}, as in: sudo apt install {package}")).into()
}
