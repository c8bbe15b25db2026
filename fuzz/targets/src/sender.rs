//! A sender of every profile and scheme, driven by any script: the line protocol as a state machine, audited after every
//! line by rules that need only the script and the answers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::error::Error;

use firstflight_contract::{Nanos, Role};
use firstflight_hosts::driven::{Driven, Output};
use firstflight_hosts::network::build;
use firstflight_scenario::scheme::labels_of;
use firstflight_scenario::{Profile, parse};
use firstflight_script::{Event, Line};
use firstflight_sim::config::FlowConfig;

use crate::draw::Draw;
use crate::finite::assert_finite;
use crate::{Form, Target};

pub(crate) const TARGET: Target = Target {
    name: "sender",
    about: "a script for a sender of any profile and schemes, up to 64 lines, valid and broken: every answer audited",
    run,
    longest: 512,
    form: Form::Numbers,
};

const LINES: usize = 64;
const MSS: u64 = 1000;
/// Most bytes that a script writes: larger windows would make one execution slow.
const WRITTEN: u64 = 3_000_000;

/// Profile, start-up, avoidance and recovery, by place in their lists.
type Choice = (u8, u8, u8, u8);

fn run(bytes: &[u8]) {
    let mut draw = Draw::of(bytes);
    let choice = (draw.byte() % 3, draw.byte() % 216, draw.byte() % 16, draw.byte() % 4);
    let mss = |mss| flow(choice, mss);
    let mut sender = Driven::new(mss, Some(MSS as u32));
    let mut audit = Audit::default();
    let mut at_us = 0;
    let mut said = Said { choice, lines: vec![] };
    for number in 1..=LINES {
        if draw.is_empty() {
            break;
        }
        let text = line(&mut draw, number, &mut at_us, &audit);
        said.lines.push(text.clone());
        match sender.answer(number, &text) {
            Ok(Some(answer)) => audit.check(&text, &answer),
            Ok(None) => assert!(text.trim().is_empty(), "no answer to {text}"),
            Err(Refused(why)) => assert!(!why.is_empty(), "{text}"),
        }
    }
}

/// The script so far, printed if a panic passes it.
struct Said {
    choice: Choice,
    lines: Vec<String>,
}

impl Drop for Said {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let flow = text_of(self.choice, MSS as u32);
            eprintln!("flow:\n{flow}script:\n{}", self.lines.join("\n"));
        }
    }
}

/// A line, or a flow, that is refused.
#[derive(Clone, Debug)]
struct Refused(String);

impl<E: Error> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// The flow of a choice, as the command `sender` makes it.
fn flow(choice: Choice, mss: u32) -> Result<FlowConfig, Refused> {
    thread_local! {
        static MADE: RefCell<BTreeMap<(Choice, u32), Result<FlowConfig, Refused>>> =
            const { RefCell::new(BTreeMap::new()) };
    }
    MADE.with_borrow_mut(|made| made.entry((choice, mss)).or_insert_with(|| make(choice, mss)).clone())
}

fn make(choice: Choice, mss: u32) -> Result<FlowConfig, Refused> {
    let built = build(&parse(&text_of(choice, mss), "command line")?.scenario, 0, Nanos::from_secs(1))?;
    Ok(built.network.flows.into_iter().next().expect("the text has a flow"))
}

/// The scenario of a choice.
fn text_of(choice: Choice, mss: u32) -> String {
    let pick = |labels: &[&'static str], of: u8| labels[usize::from(of) % labels.len()];
    let all = |role: Role| labels_of(&[role]).collect::<Vec<_>>();
    let (profile, startup, avoidance, recovery) = choice;
    let profile = Profile::ALL[usize::from(profile) % Profile::ALL.len()];
    let scheme = match usize::from(startup).checked_sub(200) {
        Some(standalone) => {
            let labels = all(Role::Standalone);
            format!("startup = \"{}\"", labels[standalone % labels.len()])
        }
        None => format!(
            "startup = \"{}\"\navoidance = \"{}\"",
            pick(&all(Role::Startup), startup),
            pick(&all(Role::Avoidance), avoidance)
        ),
    };
    format!(
        "duration = \"1 s\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n[packet]\nsize = \"{} B\"\n\
         [[flow]]\nhandshake = true\nprofile = \"{}\"\nrecovery = \"{}\"\n{scheme}\n",
        mss + profile.stack().header,
        profile.word(),
        pick(&["sack", "newreno", "reno", "tahoe"], recovery),
    )
}

/// The next line of the script.
fn line(draw: &mut Draw<'_>, number: usize, at_us: &mut u64, audit: &Audit) -> String {
    *at_us += match draw.byte() {
        0..80 => 0,
        80..160 => draw.number(1) * 1000,
        160..230 => draw.number(2) * 10,
        _ => draw.number(4),
    };
    if number == 1 {
        let (sack, stamps, rtt) = (draw.byte() & 1 == 0, draw.byte() & 1 == 0, draw.number(3));
        let window = draw.number(4) % (65_535 << 14);
        return format!(
            "{{\"at_us\":{at_us},\"do\":\"established\",\"mss\":{MSS},\"window\":{window},\"sack\":{sack},\
             \"timestamps\":{stamps},\"rtt_us\":{rtt}}}"
        );
    }
    match draw.byte() {
        0..30 => {
            let bytes = 1 + draw.number(3) % (WRITTEN / 4);
            if audit.written + bytes > WRITTEN {
                return format!("{{\"at_us\":{at_us},\"do\":\"advance\"}}");
            }
            format!("{{\"at_us\":{at_us},\"do\":\"write\",\"bytes\":{bytes}}}")
        }
        30..40 => format!("{{\"at_us\":{at_us},\"do\":\"advance\"}}"),
        40..42 => format!("{{\"at_us\":{at_us},\"do\":\"close\"}}"),
        42..48 => String::from_utf8_lossy(draw.bytes(24)).into_owned(),
        48..60 => match audit.next_timer_us {
            Some(next) => {
                *at_us = next.max(*at_us).min(100_000_000_000_000);
                format!("{{\"at_us\":{at_us},\"do\":\"advance\"}}")
            }
            None => String::new(),
        },
        _ => ack(draw, *at_us, audit),
    }
}

/// An ACK: the next segments, a duplicate with blocks, or any number.
fn ack(draw: &mut Draw<'_>, at_us: u64, audit: &Audit) -> String {
    let una = audit.acked + 1;
    let ack = match draw.byte() {
        0..110 => una + MSS * (1 + draw.number(1) % 4),
        110..200 => una,
        200..235 => una + draw.number(2),
        _ => 1 + draw.number(3),
    };
    let mut text = format!("{{\"at_us\":{at_us},\"do\":\"ack\",\"ack\":{ack}");
    let blocks: Vec<String> = (0..draw.byte() % 5)
        .map(|_| {
            let from = ack + MSS * draw.number(1) + if draw.byte() < 16 { draw.number(1) } else { 0 };
            format!("[{from},{}]", from + 1 + MSS * (draw.number(1) % 16) + MSS - 1)
        })
        .collect();
    if !blocks.is_empty() {
        text += &format!(",\"sack\":[{}]", blocks.join(","));
    }
    match draw.byte() {
        0..32 => text += &format!(",\"window\":{}", draw.number(3)),
        32..40 => text += ",\"window\":0",
        40..48 => text += ",\"ece\":true",
        48..64 => text += ",\"echo\":\"first\"",
        _ => {}
    }
    text + "}"
}

/// The rules that hold for every script: what was sent follows from what was written, acknowledged and offered.
#[derive(Default)]
struct Audit {
    at_us: u64,
    /// Bytes written, the highest byte sent, and the highest byte acknowledged.
    written: u64,
    sent: u64,
    acked: u64,
    window: u64,
    /// The highest byte that the peer ever offered room for.
    offered: u64,
    next_timer_us: Option<u64>,
}

impl Audit {
    fn check(&mut self, text: &str, answer: &Output) {
        let line = Line::read(1, text).expect("answered");
        let (at_us, event) = line.event().expect("answered");
        let before = self.at_us;
        self.at_us = at_us;
        // The answer also has the segments that timers sent before the event.
        let sent =
            answer.answer.sent.iter().map(|sent| sent.seq + sent.len - 1).max().unwrap_or(0).max(self.sent);
        match &event {
            Event::Established(opening) => {
                self.window = opening.window;
                self.offered = opening.window;
            }
            Event::Write(bytes) => self.written += bytes,
            Event::Ack(ack) if ack.ack <= sent + 1 => {
                let window = ack.window.unwrap_or(self.window);
                if ack.ack > self.acked {
                    (self.acked, self.window) = (ack.ack - 1, window);
                }
                self.offered = self.offered.max(self.acked + window);
            }
            _ => {}
        }
        for sent in &answer.answer.sent {
            let end = sent.seq + sent.len - 1;
            assert!((before..=at_us).contains(&sent.at_us), "{sent:?} between {before} and {at_us}");
            assert!(sent.seq > 0 && sent.len > 0 && sent.len <= MSS, "{sent:?}");
            assert!(end <= self.written, "{sent:?}: {} bytes were written", self.written);
            assert_eq!(sent.retransmit, sent.seq <= self.sent, "{sent:?} after byte {}", self.sent);
            assert!(sent.seq <= self.sent + 1, "{sent:?} leaves a gap after byte {}", self.sent);
            self.sent = self.sent.max(end);
        }
        assert!(self.sent <= self.offered.max(self.acked) + MSS, "sent {} of {}", self.sent, self.offered);
        let info = &answer.answer.info;
        let flight =
            i64::from(info.unacked) - i64::from(info.sacked) - i64::from(info.lost) + i64::from(info.retrans);
        // After a timeout, segments reported by SACK may count as lost too.
        assert_eq!(info.in_flight, flight.max(0), "{info:?}");
        assert!(info.cwnd > 0.0 && info.cwnd.is_finite(), "{info:?}");
        self.next_timer_us = answer.next_timer_us;
        assert!(answer.next_timer_us.is_none_or(|next| next > at_us), "{answer:?} at {at_us}");
        if info.unacked > 0 {
            assert!(answer.next_timer_us.is_some(), "data in flight and no timer: {answer:?}");
        }
        assert_finite(answer);
    }
}
