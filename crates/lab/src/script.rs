//! Scripts: the input of `firstflight sender`, and the options it is run with.
//!
//! A script is a text file. Lines that begin with `#` are comments; among them one begins with `# options:` and holds
//! the options of `firstflight sender` beside `--profile linux`. Every other line is one event of the line protocol.

use core::fmt;

use firstflight_script::{Event, Opening};

use crate::segment::MAX_BLOCKS;

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Options of the socket.
    pub setup: Setup,
    /// The handshake; it is done at time zero.
    pub opening: Opening,
    /// The events after it, in order.
    pub lines: Vec<Line>,
}

/// Options of the kernel's socket that make it the sender that the options of the script describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The kernel's congestion control.
    pub congestion_control: String,
    /// Whether an idle time restarts slow start.
    pub idle_restart: bool,
}

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Microseconds since the handshake was done.
    pub at_us: u64,
    /// The event.
    pub event: Event,
}

/// Reason why a text is not a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl core::error::Error for Wrong {}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// If a line is not an event, the first is not `established` at zero, time goes back, or no peer could send an ACK.
    pub fn read(text: &str) -> Result<Self, Wrong> {
        let mut setup = None;
        let mut lines: Vec<Line> = vec![];
        for (index, text) in text.lines().enumerate() {
            let wrong = |why: String| Wrong { why: format!("{}: {why}", index + 1) };
            if let Some(comment) = text.strip_prefix('#') {
                if let Some(options) = comment.trim().strip_prefix("options:") {
                    setup = Some(Setup::of(options).map_err(wrong)?);
                }
                continue;
            }
            if text.trim().is_empty() {
                continue;
            }
            let line = Line::read(index + 1, text)?;
            if lines.last().is_some_and(|before| before.at_us > line.at_us) {
                return Err(wrong("time goes back".into()));
            }
            if lines.is_empty() != matches!(line.event, Event::Established(_)) {
                return Err(wrong("\"established\" is the first line and no other".into()));
            }
            lines.push(line);
        }
        let setup = setup.ok_or(Wrong { why: "1: a comment \"# options: …\" is missing".into() })?;
        match lines.first() {
            Some(Line { at_us: 0, event: Event::Established(opening) }) => {
                Ok(Self { setup, opening: *opening, lines: lines.split_off(1) })
            }
            _ => Err(Wrong { why: "1: a script begins with \"established\" at 0".into() }),
        }
    }

    /// The smallest window scale of RFC 7323 that every window of the script fits.
    pub(crate) fn window_scale(&self) -> u8 {
        let windows = self.lines.iter().filter_map(|line| match &line.event {
            Event::Ack(ack) => ack.window,
            _ => None,
        });
        let largest = windows.chain([self.opening.window]).max().unwrap_or(0);
        (0..14).find(|scale| largest >> scale <= u64::from(u16::MAX)).unwrap_or(14)
    }
}

impl Line {
    fn read(number: usize, text: &str) -> Result<Self, Wrong> {
        let line = firstflight_script::Line::read(number, text)?;
        let (at_us, event) = line.event()?;
        match &event {
            Event::Established(Opening { mss: None, .. }) => {
                return Err(line.missing("mss", "payload bytes of a full segment").into());
            }
            Event::Ack(ack) if ack.blocks.len() > MAX_BLOCKS => {
                let why = format!("a header has room for {MAX_BLOCKS} blocks beside timestamps");
                return Err(line.impossible("sack", why).into());
            }
            Event::Ack(ack) if ack.ece => {
                return Err(line.impossible("ece", "the kernel's socket has no ECN").into());
            }
            _ => {}
        }
        Ok(Self { at_us, event })
    }
}

impl From<firstflight_script::Error> for Wrong {
    fn from(error: firstflight_script::Error) -> Self {
        Self { why: error.to_string() }
    }
}

impl Setup {
    /// The socket for the options of `firstflight sender`.
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
    use firstflight_script::{Ack, Echo};

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
        assert_eq!((script.opening.mss, script.opening.timestamps), (Some(1000), None));
        let blocks = vec![(2001, 3001)];
        let ack = Event::Ack(Ack { ack: 1001, window: None, blocks, echo: Echo::First, ece: false });
        assert_eq!(script.lines, [Line { at_us: 5, event: ack }]);
        // 1 000 000 >> 3 is 125 000, >> 4 is 62 500.
        assert_eq!(script.window_scale(), 4);
    }

    #[test]
    fn events_that_no_peer_could_cause_are_refused_with_their_line() {
        for (rest, why) in [
            ("{\"at_us\":5,\"do\":\"advance\"}\n{\"at_us\":4,\"do\":\"advance\"}", "5: time goes back"),
            ("{\"at_us\":5,\"do\":\"wait\"}", "4:12: do = \"wait\": there is no \"wait\""),
            ("{\"at_us\":5,\"do\":\"write\",\"byte\":1}", "4:25: byte = 1: no such key"),
            (
                "{\"at_us\":5,\"do\":\"ack\",\"ack\":1,\"sack\":[[1,2],[3,4],[5,6],[7,8]]}",
                "4:31: sack = [[1,2],[3,4],[5,6],[7,8]]: a header",
            ),
            ("# options: --startup slow-start --avoidance cubic", "4: the kernel has no slow-start+cubic"),
        ] {
            let refused = read(rest).expect_err(rest);
            assert!(refused.starts_with(why), "{refused}");
        }
    }
}
