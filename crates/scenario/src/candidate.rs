//! A way to run a connection, as a comparison tries it: a scheme, and the settings in which it differs from the stack.
//!
//! Its label is the scheme's, and the settings behind an `@`, joined by `+`: `hystart-linux+cubic@iw30+paced`. The label of
//! a scheme without settings is that of the scheme.

use std::fmt::Write;

use firstflight_schemes::catalogue::Schemes;

use crate::choices::IdleRestart;
use crate::limits;
use crate::model::FlowGroup;
use crate::profile::Profile;
use crate::scheme::{BUILT_IN, SchemeSpec};
use firstflight_document::Error;
use firstflight_document::quantity::{parse_bytes, show_bytes};

/// A scheme, and the settings in which it differs from the stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The scheme.
    pub scheme: SchemeSpec,
    /// Settings that replace those of the stack.
    pub settings: Settings,
}

/// Settings that replace those of the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Initial window, packets; at least one.
    pub initial_window: Option<u64>,
    /// Initial slow-start threshold.
    pub ssthresh: Option<Threshold>,
    /// Whether the stack paces what it sends.
    pub paced: bool,
    /// Pace of the initial window, packets in a round-trip time, as a plan of the gateway has one; only of a paced candidate.
    pub pace: Option<u64>,
    /// Whether the window stays after an idle time.
    pub keeps_window: bool,
    /// Send buffer, bytes; only of stacks of QUIC.
    pub buffer: Option<u64>,
}

/// Initial slow-start threshold of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// This number of packets, at least one.
    Packets(u64),
    /// The bandwidth-delay product of the path: as many packets as are in flight without a queue.
    Bdp,
}

impl Threshold {
    /// The threshold in packets on a path with this bandwidth-delay product, packets; at least one.
    pub fn packets(self, bdp: u64) -> u64 {
        match self {
            Self::Packets(packets) => packets,
            Self::Bdp => bdp.clamp(1, limits::WINDOW),
        }
    }
}

/// One setting of each kind, as it is written.
pub const SETTINGS: [&str; 7] =
    ["iw30", "ssthresh=50", "ssthresh=bdp", "paced", "paced=40", "idle=keep", "buffer=1MB"];

impl Settings {
    /// Reads settings joined by `+`: `iw30+paced`.
    ///
    /// # Errors
    /// [`Error`] if a setting does not exist, has a number out of range, or is given twice.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut settings = Self::default();
        for word in text.split('+') {
            let again = settings.read(word)?;
            if again {
                return Err(Error::invalid(format!(
                    "the setting {word} is given twice, or another of its kind"
                )));
            }
        }
        Ok(settings)
    }

    /// Reads one setting; returns whether one of its kind was there before.
    fn read(&mut self, word: &str) -> Result<bool, Error> {
        if let Some(digits) = word.strip_prefix("iw") {
            return Ok(self.initial_window.replace(packets(word, digits)?).is_some());
        }
        match word.strip_prefix("ssthresh=") {
            Some("bdp") => return Ok(self.ssthresh.replace(Threshold::Bdp).is_some()),
            Some(digits) => {
                let threshold = Threshold::Packets(packets(word, digits)?);
                return Ok(self.ssthresh.replace(threshold).is_some());
            }
            None => {}
        }
        if let Some(digits) = word.strip_prefix("paced=") {
            self.pace = Some(packets(word, digits)?);
            return Ok(std::mem::replace(&mut self.paced, true));
        }
        if let Some(amount) = word.strip_prefix("buffer=") {
            let bytes = parse_bytes(amount).map_err(|error| {
                Error::invalid(format!("the setting {word:?} has no amount: {}", error.problem))
                    .expecting("an amount such as buffer=1MB")
            })?;
            return Ok(self.buffer.replace(bytes.max(1)).is_some());
        }
        match word {
            "paced" => Ok(std::mem::replace(&mut self.paced, true)),
            "idle=keep" => Ok(std::mem::replace(&mut self.keeps_window, true)),
            _ => Err(Error::unknown_name("setting", word, SETTINGS)),
        }
    }

    /// The settings as they are written, in a fixed order; empty if there is none.
    fn label(self) -> String {
        let mut words = vec![];
        words.extend(self.initial_window.map(|packets| format!("iw{packets}")));
        words.extend(self.ssthresh.map(|threshold| match threshold {
            Threshold::Packets(packets) => format!("ssthresh={packets}"),
            Threshold::Bdp => "ssthresh=bdp".into(),
        }));
        words.extend(self.paced.then(|| self.pace.map_or("paced".into(), |pace| format!("paced={pace}"))));
        words.extend(self.keeps_window.then(|| "idle=keep".into()));
        words.extend(self.buffer.map(|bytes| format!("buffer={}", show_bytes(bytes).replace(' ', ""))));
        words.join("+")
    }

    /// Number of settings that differ from the stack's.
    pub fn count(self) -> usize {
        usize::from(self.initial_window.is_some())
            + usize::from(self.ssthresh.is_some())
            + usize::from(self.paced)
            + usize::from(self.keeps_window)
            + usize::from(self.buffer.is_some())
    }
}

/// A number of packets behind the name of a setting.
fn packets(word: &str, digits: &str) -> Result<u64, Error> {
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    match number {
        Some(packets) if (1..=limits::WINDOW).contains(&packets) => Ok(packets),
        _ => Err(Error::invalid(format!("the setting {word:?} has no number of packets")).expecting(
            format!("a whole number from 1 to {}, such as iw30, ssthresh=50 or paced=40", limits::WINDOW),
        )),
    }
}

impl Candidate {
    /// Reads a chain of registered schemes with its settings, `hystart-linux+cubic@iw30+paced`.
    ///
    /// # Errors
    /// As [`SchemeSpec::parse`] and [`Settings::parse`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_on(text, BUILT_IN, Profile::Linux)
    }

    /// As [`Candidate::parse`], with the schemes of a catalogue, on the stack of `profile`: see [`SchemeSpec::parse_on`].
    ///
    /// # Errors
    /// As [`Candidate::parse`].
    pub fn parse_on(text: &str, schemes: &Schemes, profile: Profile) -> Result<Self, Error> {
        match split(text) {
            (chain, Some(settings)) => Ok(Self {
                scheme: SchemeSpec::parse_on(chain, schemes, profile)?,
                settings: Settings::parse(settings)?,
            }),
            (chain, None) => SchemeSpec::parse_on(chain, schemes, profile).map(Self::from),
        }
    }

    /// The label: `hystart-linux+cubic@iw30+paced`.
    pub fn label(&self) -> String {
        let mut label = self.scheme.label();
        if self.settings != Settings::default() {
            let _ = write!(label, "@{}", self.settings.label());
        }
        label
    }

    /// Gives the scheme and the settings to a flow whose packets carry `payload` bytes, on a path with a bandwidth-delay
    /// product of `bdp` packets.
    pub fn apply(&self, flow: &mut FlowGroup, payload: u32, bdp: u64) {
        let Settings { initial_window, ssthresh, paced, pace, keeps_window, buffer } = self.settings;
        let bytes = |packets: u64| packets * u64::from(payload);
        flow.scheme = self.scheme.clone();
        if let Some(packets) = initial_window {
            flow.initial_window = bytes(packets);
        }
        if let Some(threshold) = ssthresh {
            flow.initial_ssthresh = Some(bytes(threshold.packets(bdp)));
        }
        flow.paced |= paced;
        // The pace of another window is no longer one of this window.
        if initial_window.is_some() || pace.is_some() {
            flow.initial_pace = pace.map(bytes);
        }
        flow.send_buffer = buffer.or(flow.send_buffer);
        if keeps_window {
            flow.idle_restart = IdleRestart::Keep;
        }
    }
}

impl From<SchemeSpec> for Candidate {
    /// The scheme with the settings of the stack.
    fn from(scheme: SchemeSpec) -> Self {
        Self { scheme, settings: Settings::default() }
    }
}

/// The text before the `@`, and the text behind it.
pub fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once('@').map_or((text, None), |(chain, settings)| (chain, Some(settings)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{Flow, Path};
    use crate::model::Scenario;

    #[test]
    fn a_label_names_every_setting_in_a_fixed_order() {
        for (text, label) in [
            ("hystart-linux+cubic", "hystart-linux+cubic"),
            ("hystart-linux+cubic@iw30", "hystart-linux+cubic@iw30"),
            ("hystart+++cubic@paced+iw60", "hystart+++cubic@iw60+paced"),
            ("slow-start+reno@idle=keep+ssthresh=50+iw4", "slow-start+reno@iw4+ssthresh=50+idle=keep"),
            ("bbr@ssthresh=bdp", "bbr@ssthresh=bdp"),
            ("hystart-linux+cubic@paced=40+iw33", "hystart-linux+cubic@iw33+paced=40"),
        ] {
            let candidate = Candidate::parse(text).expect(text);
            assert_eq!(candidate.label(), label);
            assert_eq!(Candidate::parse(label), Ok(candidate));
        }
    }

    #[test]
    fn a_wrong_setting_is_refused_with_what_is_valid() {
        let why = |text: &str| Candidate::parse(text).expect_err(text).to_string();
        assert_eq!(
            why("slow-start+reno@pacd"),
            "there is no setting \"pacd\"; expected one of: iw30, ssthresh=50, ssthresh=bdp, paced, paced=40, idle=keep, buffer=1MB; did \
             you mean \"paced\"?"
        );
        assert!(why("slow-start+reno@").contains("there is no setting \"\""));
        assert!(why("slow-start+reno@iw30+iw60").contains("iw60 is given twice, or another of its kind"));
        assert!(why("slow-start+reno@paced+paced=9").contains("paced=9 is given twice"));
        assert!(why("slow-start+reno@ssthresh=bdp+ssthresh=9").contains("ssthresh=9 is given twice"));
        for text in [
            "iw",
            "iw0",
            "iw-1",
            "iw1e3",
            "iw99999999999999999999",
            "ssthresh=",
            "ssthresh=0",
            "paced=",
            "iw1000001",
        ] {
            let why = why(&format!("slow-start+reno@{text}"));
            assert!(
                why.contains("has no number of packets; expected a whole number from 1 to 1000000"),
                "{why}"
            );
        }
        assert!(why("slow-strat+reno@iw30").contains("did you mean \"slow-start\"?"));
    }

    #[test]
    fn settings_replace_those_of_the_flow_and_no_others() {
        let scenario = Scenario::builder()
            .path(Path::new("10 Mbit/s", "40 ms", "50 packets"))
            .flow(Flow::new().profile("linux").size("30 KB"));
        let scenario = scenario.build().expect("a scenario");
        let given = &scenario.flows[0];
        let with = |text: &str| {
            let mut flow = given.clone();
            Candidate::parse(text).expect(text).apply(&mut flow, 1448, 33);
            flow
        };
        let scheme = "hystart-linux+cubic";
        assert_eq!(with(scheme), *given, "the stack's own");
        let expected = FlowGroup { initial_window: 60 * 1448, paced: true, ..given.clone() };
        assert_eq!(with("hystart-linux+cubic@iw60+paced"), expected);
        let expected = FlowGroup {
            initial_window: 33 * 1448,
            paced: true,
            initial_pace: Some(40 * 1448),
            ..given.clone()
        };
        assert_eq!(with("hystart-linux+cubic@iw33+paced=40"), expected);
        // Another window has no pace of the one before.
        let mut flow = expected;
        Candidate::parse("hystart-linux+cubic@iw60").expect("a label").apply(&mut flow, 1448, 33);
        assert_eq!((flow.initial_window, flow.paced, flow.initial_pace), (60 * 1448, true, None));
        let expected = FlowGroup { initial_ssthresh: Some(33 * 1448), ..given.clone() };
        assert_eq!(with("hystart-linux+cubic@ssthresh=bdp"), expected);
        let expected =
            FlowGroup { initial_ssthresh: Some(50 * 1448), idle_restart: IdleRestart::Keep, ..given.clone() };
        assert_eq!(with("hystart-linux+cubic@ssthresh=50+idle=keep"), expected);
    }
}
