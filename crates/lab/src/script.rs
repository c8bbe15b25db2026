//! Scripts: the input of `firstflight sender`, and the options it is run with.
//!
//! A script is a text file. Lines that begin with `#` are comments; among them one begins with `# options:` and holds
//! the options of `firstflight sender` beside `--profile linux`. Every other line is one JSON object.

use core::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::segment::MAX_BLOCKS;

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// How the socket is set up.
    pub setup: Setup,
    /// What the handshake says; it is done at time zero.
    pub opening: Opening,
    /// What happens afterwards, in order.
    pub lines: Vec<Line>,
}

/// How the kernel's socket is set up to be the sender that the options describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The kernel's congestion control.
    pub congestion_control: String,
    /// Whether an idle time restarts slow start.
    pub idle_restart: bool,
}

/// What happens when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Microseconds since the handshake was done.
    pub at_us: u64,
    /// What.
    pub event: Event,
}

/// What the peer's side of the handshake says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// Receive window, bytes.
    pub window: u32,
    /// Whether it reports blocks.
    #[serde(default)]
    pub sack: bool,
    /// Whether it sends timestamps.
    #[serde(default = "yes")]
    pub timestamps: bool,
    /// How long the handshake takes.
    #[serde(default)]
    pub rtt_us: u64,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Event {
    /// The handshake is done.
    Established(Opening),
    /// The application writes.
    Write {
        /// How much.
        bytes: usize,
    },
    /// An ACK arrives.
    Ack {
        /// The next byte expected.
        ack: u64,
        /// The receive window from there, bytes; as before if not said.
        window: Option<u32>,
        /// SACK blocks `[from, to)` in the order of the option: a DSACK first, then the newest.
        #[serde(default)]
        sack: Vec<(u64, u64)>,
        /// Which transmission of the segment at the left edge the timestamp echoes.
        #[serde(default)]
        echo: Echo,
    },
    /// The application writes no more.
    Close,
    /// Nothing but time.
    Advance,
}

/// Which transmission of the segment at the window's left edge caused an ACK that advances: its timestamp is echoed, as
/// RFC 7323 section 4.3 has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Echo {
    /// The first.
    First,
    /// The last until then.
    #[default]
    Last,
}

fn yes() -> bool {
    true
}

/// Why a text is no script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    line: usize,
    why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.why)
    }
}

impl core::error::Error for Wrong {}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Where a line is none, the first is not `established` at zero, time goes back, or a peer could not say it.
    pub fn read(text: &str) -> Result<Self, Wrong> {
        let mut setup = None;
        let mut lines: Vec<Line> = vec![];
        for (index, text) in text.lines().enumerate() {
            let wrong = |why: String| Wrong { line: index + 1, why };
            if let Some(comment) = text.strip_prefix('#') {
                if let Some(options) = comment.trim().strip_prefix("options:") {
                    setup = Some(Setup::of(options).map_err(wrong)?);
                }
                continue;
            }
            if text.trim().is_empty() {
                continue;
            }
            let line = Line::read(text).map_err(wrong)?;
            if lines.last().is_some_and(|before| before.at_us > line.at_us) {
                return Err(wrong("time goes back".into()));
            }
            if lines.is_empty() != matches!(line.event, Event::Established(_)) {
                return Err(wrong("\"established\" is the first line and no other".into()));
            }
            lines.push(line);
        }
        let setup = setup.ok_or(Wrong { line: 1, why: "a comment \"# options: …\" is missing".into() })?;
        match lines.first() {
            Some(Line { at_us: 0, event: Event::Established(opening) }) => {
                Ok(Self { setup, opening: *opening, lines: lines.split_off(1) })
            }
            _ => Err(Wrong { line: 1, why: "a script begins with \"established\" at 0".into() }),
        }
    }

    /// The smallest window scale of RFC 7323 that every window of the script fits.
    pub(crate) fn window_scale(&self) -> u8 {
        let windows = self.lines.iter().filter_map(|line| match line.event {
            Event::Ack { window, .. } => window,
            _ => None,
        });
        let largest = windows.chain([self.opening.window]).max().unwrap_or(0);
        (0..14).find(|scale| largest >> scale <= u32::from(u16::MAX)).unwrap_or(14)
    }
}

impl Line {
    fn read(text: &str) -> Result<Self, String> {
        let mut value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let members = value.as_object_mut().ok_or("not a JSON object")?;
        let at_us =
            members.remove("at_us").and_then(|at| at.as_u64()).ok_or("at_us: a whole number expected")?;
        let event = serde_json::from_value(value).map_err(|error| error.to_string())?;
        if let Event::Ack { sack, .. } = &event
            && sack.len() > MAX_BLOCKS
        {
            return Err(format!("sack: a header has room for {MAX_BLOCKS} blocks beside timestamps"));
        }
        Ok(Self { at_us, event })
    }
}

impl Setup {
    /// What the options of `firstflight sender` mean for a socket.
    fn of(options: &str) -> Result<Self, String> {
        let mut setup = Self { congestion_control: String::new(), idle_restart: true };
        let mut startup = "";
        let mut avoidance = "";
        let mut words = options.split_whitespace();
        while let Some(option) = words.next() {
            let value = words.next().ok_or_else(|| format!("{option} has no value"))?;
            match option {
                "--startup" => startup = value,
                "--avoidance" => avoidance = value,
                "--idle-restart" => {
                    setup.idle_restart = match value {
                        "restart" => true,
                        "keep" => false,
                        _ => return Err(format!("--idle-restart {value}: the kernel has restart and keep")),
                    }
                }
                _ => return Err(format!("{option}: the kernel has no such option")),
            }
        }
        setup.congestion_control = match (startup, avoidance) {
            ("slow-start", "reno") | ("hystart-linux", "cubic") => avoidance.to_owned(),
            ("bbr", "") => startup.to_owned(),
            _ => return Err(format!("the kernel has no {startup}+{avoidance}")),
        };
        Ok(setup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# Words\n# options: --startup slow-start --avoidance reno --idle-restart keep\n\
         {\"at_us\":0,\"do\":\"established\",\"mss\":1000,\"window\":1000000,\"sack\":true,\"rtt_us\":100000}\n";

    fn read(rest: &str) -> Result<Script, String> {
        Script::read(&format!("{HEAD}{rest}")).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn a_script_is_the_input_of_the_sender_with_its_options_in_a_comment() {
        let script =
            read("{\"at_us\":5,\"do\":\"ack\",\"ack\":1001,\"sack\":[[2001,3001]],\"echo\":\"first\"}\n");
        let script = script.expect("a script");
        assert_eq!(script.setup, Setup { congestion_control: "reno".into(), idle_restart: false });
        assert_eq!((script.opening.mss, script.opening.timestamps), (1000, true));
        let ack = Event::Ack { ack: 1001, window: None, sack: vec![(2001, 3001)], echo: Echo::First };
        assert_eq!(script.lines, [Line { at_us: 5, event: ack }]);
        // 1 000 000 >> 3 is 125 000, >> 4 is 62 500.
        assert_eq!(script.window_scale(), 4);
    }

    #[test]
    fn what_no_peer_could_say_is_refused_with_its_line() {
        for (rest, why) in [
            ("{\"at_us\":5,\"do\":\"advance\"}\n{\"at_us\":4,\"do\":\"advance\"}", "5: time goes back"),
            ("{\"at_us\":5,\"do\":\"wait\"}", "4: unknown variant `wait`"),
            ("{\"at_us\":5,\"do\":\"write\",\"byte\":1}", "4: unknown field `byte`"),
            (
                "{\"at_us\":5,\"do\":\"ack\",\"ack\":1,\"sack\":[[1,2],[3,4],[5,6],[7,8]]}",
                "4: sack: a header",
            ),
            ("# options: --startup slow-start --avoidance cubic", "4: the kernel has no slow-start+cubic"),
        ] {
            let refused = read(rest).expect_err(rest);
            assert!(refused.starts_with(why), "{refused}");
        }
    }
}
