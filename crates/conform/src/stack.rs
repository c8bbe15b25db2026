//! Somebody else's controller, driven over its standard input and output: the controller protocol of docs/conform.md, version 1.
//!
//! Each line of standard input is a JSON object; the program answers each with one line on standard output.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::controller::{Answer, Broken, Call, Controller, Packet};

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of the longest answer.
const LONGEST: u64 = 1 << 16;

const EXPECTED: &str = "expected an answer to each line until standard input ends";

/// A line to the program.
#[derive(Debug, Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Line<'a> {
    Start {
        protocol: u32,
        mss: u64,
        initial_window: u64,
    },
    Sent {
        at_us: f64,
        packets: &'a [(u64, u64, f64)],
        in_flight: u64,
    },
    Ack {
        at_us: f64,
        acked: Vec<(u64, u64, f64)>,
        lost: Vec<(u64, u64, f64)>,
        in_flight: u64,
        rtt_us: Option<f64>,
        min_rtt_us: f64,
        srtt_us: f64,
        app_limited: bool,
        persistent_congestion: bool,
    },
}

/// A line from the program.
#[derive(Debug, Deserialize)]
struct Said {
    /// Congestion window, bytes.
    cwnd: u64,
    /// Version of the protocol, in the answer to the first line.
    protocol: Option<u32>,
    /// Name and version of the controller, in the answer to the first line.
    name: Option<String>,
    /// Whether the start-up is over, where the controller says it.
    over: Option<bool>,
}

/// A running program.
#[derive(Debug)]
pub struct Stack {
    command: String,
    child: Child,
    /// Lines to the program. A thread writes them, as a program that does not read would stop the writer.
    input: Sender<String>,
    lines: Receiver<std::io::Result<String>>,
    /// Name and version, if the program states them.
    pub name: Option<String>,
}

fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

fn shown(packets: &[Packet]) -> Vec<(u64, u64, f64)> {
    packets.iter().map(|packet| (packet.number, packet.bytes, micros(packet.sent_at))).collect()
}

/// The beginning of an answer, for errors.
fn start(said: &str) -> String {
    said.trim_end().chars().take(60).collect()
}

impl Stack {
    /// Starts a shell command and opens a flow of packets of `mss` bytes.
    ///
    /// # Errors
    /// [`Broken`] if the command cannot be started, or gives no right answer to the first line.
    pub fn start(command: &str, mss: u64, initial_window: u64) -> Result<Self, Broken> {
        let spawned = Command::new("sh")
            .arg("-c")
            .arg(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|error| Broken(format!("{command}: cannot be started: {error}")))?;
        let (Some(mut stdin), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Broken(format!("{command}: has no standard input and output")));
        };
        let (input, written) = mpsc::channel::<String>();
        thread::spawn(move || {
            while let Ok(line) = written.recv() {
                if writeln!(stdin, "{line}").and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        });
        // One answer at most waits: a program that answers without end is held by its own output.
        let (sender, lines) = mpsc::sync_channel(1);
        thread::spawn(move || {
            use std::io::Read as _;
            let mut output = BufReader::new(output);
            loop {
                let mut line = String::new();
                let read = output.by_ref().take(LONGEST).read_line(&mut line).map(|_| line);
                let ended = !matches!(&read, Ok(line) if !line.is_empty());
                if sender.send(read).is_err() || ended {
                    break;
                }
            }
        });
        let mut stack = Self { command: command.to_owned(), child, input, lines, name: None };
        let said = stack.ask(&Line::Start { protocol: PROTOCOL, mss, initial_window })?;
        match said.protocol {
            Some(PROTOCOL) => {}
            Some(other) => {
                return Err(
                    stack.broken(&format!("speaks version {other} of the protocol; expected {PROTOCOL}"))
                );
            }
            None => {
                return Err(stack.broken(&format!("states no `protocol`; expected \"protocol\": {PROTOCOL}")));
            }
        }
        stack.name = said.name;
        Ok(stack)
    }

    fn broken(&self, why: &str) -> Broken {
        Broken(format!("{}: {why}", self.command))
    }

    /// Checks that the program waits for a line.
    fn is_waiting(&self) -> Result<(), Broken> {
        match self.lines.try_recv() {
            Ok(Ok(said)) if !said.is_empty() => {
                Err(self.broken(&format!("answered {:?} before it was asked; {EXPECTED}", start(&said))))
            }
            Ok(_) => Err(self.broken(&format!("ended; {EXPECTED}"))),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Ok(()),
        }
    }

    fn ask(&mut self, line: &Line<'_>) -> Result<Said, Broken> {
        if !matches!(line, Line::Start { .. }) {
            self.is_waiting()?;
        }
        let text = serde_json::to_string(line).map_err(|error| self.broken(&error.to_string()))?;
        if self.input.send(text).is_err() {
            // Its standard input is closed: the program has ended, or takes no more lines.
            return Err(self.broken(&format!("ended; {EXPECTED}")));
        }
        let said = match self.lines.recv_timeout(PATIENCE) {
            Ok(Ok(said)) if said.is_empty() => return Err(self.broken(&format!("ended; {EXPECTED}"))),
            Ok(Ok(said)) => said,
            Ok(Err(error)) => return Err(self.broken(&format!("its answer cannot be read: {error}"))),
            Err(RecvTimeoutError::Timeout) => {
                return Err(self.broken(&format!("gave no answer within {} s", PATIENCE.as_secs())));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(self.broken(&format!("ended; {EXPECTED}"))),
        };
        serde_json::from_str(&said).map_err(|error| {
            self.broken(&format!(
                "answered {:?}: {error}; expected an object such as {{\"cwnd\": 12000}}",
                start(&said)
            ))
        })
    }
}

impl Controller for Stack {
    fn answer(&mut self, call: &Call) -> Result<Answer, Broken> {
        if !call.sent.is_empty() {
            let at_us = call.sent.last().map_or(0.0, |packet| micros(packet.sent_at));
            self.ask(&Line::Sent { at_us, packets: &shown(&call.sent), in_flight: call.before })?;
        }
        let said = self.ask(&Line::Ack {
            at_us: micros(call.at),
            acked: shown(&call.acked),
            lost: shown(&call.lost),
            in_flight: call.after,
            rtt_us: call.rtt.map(micros),
            min_rtt_us: micros(call.min_rtt),
            srtt_us: micros(call.srtt),
            app_limited: call.limited,
            persistent_congestion: call.persistent,
        })?;
        Ok(Answer { cwnd: said.cwnd, over: said.over })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // A program that does not end with its input is ended, with the programs that it started; either is enough.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reason why a program gives no answer to the first acknowledgement.
    fn broken(command: &str) -> String {
        let broken = Stack::start(command, 1200, 12_000).and_then(|mut stack| {
            // A program that answers unasked has done so by then.
            thread::sleep(Duration::from_millis(200));
            stack.answer(&Call::default())
        });
        let broken = broken.expect_err("it is at fault").to_string();
        broken.strip_prefix(&format!("{command}: ")).expect("the command is named").to_owned()
    }

    #[test]
    fn each_fault_of_a_program_is_one_line() {
        let right = r#"{"cwnd": 12000, "protocol": 1}"#;
        let asked = "expected an answer to each line until standard input ends";
        for (command, why) in [
            ("exit 3".to_owned(), format!("ended; {asked}")),
            ("no-such-program-here 2>/dev/null".to_owned(), format!("ended; {asked}")),
            (format!("read line; echo '{right}'; read line; exit 0"), format!("ended; {asked}")),
            (format!("read line; echo '{right}'"), format!("ended; {asked}")),
            (
                r#"read line; echo '{"cwnd": 1, "protocol": 2}'"#.to_owned(),
                "speaks version 2 of the protocol; expected 1".to_owned(),
            ),
            (
                r#"read line; echo '{"cwnd": 1}'"#.to_owned(),
                "states no `protocol`; expected \"protocol\": 1".to_owned(),
            ),
            (
                format!("echo '{right}'; echo '{{\"cwnd\": 12001}}'; sleep 9"),
                format!("answered \"{{\\\"cwnd\\\": 12001}}\" before it was asked; {asked}"),
            ),
        ] {
            assert_eq!(broken(&command), why, "{command}");
        }
        let word = broken(&format!("read line; echo '{right}'; read line; echo soon; sleep 9"));
        assert!(
            word.starts_with("answered \"soon\": ") && word.contains("expected an object such as"),
            "{word}"
        );
        let negative =
            broken(&format!("read line; echo '{right}'; read line; echo '{{\"cwnd\": -1}}'; sleep 9"));
        assert!(negative.contains("expected an object such as"), "{negative}");
    }

    #[test]
    fn programs_that_a_program_started_end_with_it() {
        // The grandchild holds the output open; its number is the window.
        let command = r#"sleep 99 & read line; echo "{\"cwnd\": $!, \"protocol\": 1}"; read line; echo "{\"cwnd\": $!}"; wait"#;
        let mut stack = Stack::start(command, 1200, 12_000).expect("it answers");
        let number = stack.answer(&Call::default()).expect("it answers").cwnd;
        let grandchild = Pid::from_raw(i32::try_from(number).expect("a number")).expect("a program");
        rustix::process::test_kill_process(grandchild).expect("it runs");
        drop(stack);
        // A program that was killed is gone soon, or waits for its parent to take note.
        let state = || std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let ended = || state().is_empty() || state().contains(") Z ");
        for _ in 0..500 {
            if ended() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{}", state());
    }

    #[test]
    fn a_program_that_does_not_read_is_not_waited_for() {
        let command = "echo '{\"cwnd\": 12000, \"protocol\": 1}'; sleep 9";
        let mut stack = Stack::start(command, 1200, 12_000).expect("it answers the first line");
        // Megabytes, where a pipe holds 64 KiB.
        let sent = (0..200_000).map(|number| Packet { number, bytes: 1200, sent_at: Nanos::ZERO }).collect();
        let broken = stack.answer(&Call { sent, ..Call::default() }).expect_err("no answer");
        assert_eq!(broken.to_string(), format!("{command}: gave no answer within 5 s"));
    }
}
