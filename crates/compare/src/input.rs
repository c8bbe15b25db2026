//! Inputs of a comparison.

use std::sync::OnceLock;

use firstflight_capture::{Capture, infer_together, is_qlog, read_from};
use firstflight_contract::{Nanos, Rate};
use firstflight_document::Error;
use firstflight_hosts::simulator::Simulator;
use firstflight_identify::{Identified, Probable, identify};
use firstflight_scenario::preset::{Preset, preset};
use firstflight_scenario::{FlowGroup, Limit, Loaded, Profile, Scenario, SchemeSpec, Source, parse};
use sha2::{Digest, Sha256};

use crate::present::present;

use firstflight_results::{Copies, InputFile, PassedOver};

/// Origin of the path that schemes are compared on.
#[derive(Clone, Debug)]
pub enum Input {
    /// The values of the path.
    Given(Known),
    /// A scenario. Its first `[[flow]]` is the transfer that is compared; other traffic is the background.
    Scenario(Box<Loaded>),
    /// A named path.
    Preset(&'static Preset),
    /// A capture of real connections.
    Capture {
        /// The file, for provenance.
        file: InputFile,
        /// Its content.
        capture: Box<Capture>,
        /// Values that the user knows; each replaces the inferred one.
        known: Known,
        /// The stack of the sender.
        identity: Identity,
    },
}

/// The stack of a captured sender, identified when it is first asked for.
#[derive(Clone, Debug, Default)]
pub struct Identity(OnceLock<Option<Identified>>);

impl Identity {
    /// The stack of the connection with most data of those captured from their start; `None` if its packets show too little.
    fn of(&self, capture: &Capture) -> Option<&Identified> {
        /// Seed of the paths on which stacks are tried. It is no part of the request: another one would make another profile.
        const SEED: u64 = 1;
        let identified = || {
            let begun = capture.connections.iter().filter(|connection| connection.observed.handshake);
            let largest = begun.max_by_key(|connection| connection.observed.bytes)?;
            identify(&Simulator, largest, &infer_together(&[largest]), &[], SEED)
        };
        self.0.get_or_init(identified).as_ref()
    }
}

/// Values of a path that are known beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    /// Bottleneck rate.
    pub rate: Option<Rate>,
    /// Two-way propagation time.
    pub rtt: Option<Nanos>,
    /// Bottleneck buffer.
    pub buffer: Option<Limit>,
    /// Probability that a packet is lost for another reason than a full buffer.
    pub loss: Option<f64>,
}

impl Input {
    /// The transfer that a scenario has: its first flow.
    pub(super) fn transfer(&self) -> Option<&FlowGroup> {
        let Self::Scenario(loaded) = self else { return None };
        loaded.scenario.flows.first().filter(|flow| flow.source == Source::Flow)
    }

    /// The stack of the transfer: its own, or else `profile`; for a capture of QUIC one that speaks QUIC.
    pub fn profile(&self, profile: Profile) -> Profile {
        match self {
            Self::Capture { capture, identity, .. } => profile_of(capture, identity, profile),
            _ => self.transfer().map_or(profile, |flow| flow.profile),
        }
    }

    /// The stack of a captured sender; `None` without a capture, or if it shows too little.
    pub fn identified(&self) -> Option<&Identified> {
        let Self::Capture { capture, identity, .. } = self else { return None };
        identity.of(capture)
    }

    /// The scheme that the sender has now, in the stack `profile`: that of a captured sender whose start shows it beyond doubt, or else the default
    /// of the stack.
    pub fn present(&self, profile: Profile) -> SchemeSpec {
        /// Probability of the scheme above which there is no doubt.
        const SURE: f64 = 0.9;
        let (profile, own) = (self.profile(profile), present(self.profile(profile)));
        let alike = self.identified().map(Identified::alike).unwrap_or_default();
        let usual = |one: &&Probable| one.candidate.scheme == own;
        let shown = alike.first().filter(|one| one.profile == profile && one.probability > SURE);
        match shown {
            Some(one) if !alike.iter().any(usual) => one.candidate.scheme.clone(),
            _ => own,
        }
    }

    /// The preset of this name.
    ///
    /// # Errors
    /// [`Error`] with the nearest name if there is no such preset.
    pub fn preset(name: &str) -> Result<Self, Error> {
        preset(name).map(Self::Preset)
    }

    /// The same capture with the connection of this number alone, counted from 0 as by [`connections`](crate::connections).
    ///
    /// # Errors
    /// [`Error`] with the valid range if there is no such connection, or if the input is no capture.
    pub fn connection(self, number: u64) -> Result<Self, Error> {
        let Self::Capture { file, capture, known, .. } = self else {
            return Err(Error::invalid("the input is no capture, which alone has connections"));
        };
        let count = capture.connections.len();
        let only = usize::try_from(number).ok().filter(|index| *index < count);
        let only = only.and_then(|index| capture.only(index)).ok_or_else(|| {
            let expected = match count {
                0 => "a capture with a connection".to_owned(),
                1 => "0, the only connection".to_owned(),
                _ => format!("a number from 0 to {}, as `firstflight connections` lists them", count - 1),
            };
            Error::invalid(format!("{} has no such connection", file.name)).expecting(expected)
        })?;
        Ok(Self::Capture { file, capture: Box::new(only), known, identity: Identity::default() })
    }

    /// A capture, pcap or pcapng, from its bytes; `name` is its name in results and errors.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a capture with TCP connections that carried data.
    pub fn capture(bytes: &[u8], name: &str) -> Result<Self, Error> {
        let capture = read_from(bytes, name).map_err(|error| Error::invalid(error.to_string()))?;
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let file = InputFile { name: name.into(), bytes: bytes.len() as u64, sha256 };
        Ok(Self::Capture {
            file,
            capture: Box::new(capture),
            known: Known::default(),
            identity: Identity::default(),
        })
    }

    /// Packets of the capture that may have carried TCP and could not be read.
    pub(super) fn passed_over(&self) -> Vec<PassedOver> {
        let Self::Capture { capture, .. } = self else { return vec![] };
        let listed = capture.passed_over.iter().map(|one| PassedOver {
            file: one.file.clone(),
            what: one.what.clone(),
            packets: one.packets,
            bytes: one.bytes,
        });
        listed.collect()
    }

    /// Packets that are left out of a capture because it contains them another time.
    pub(super) fn copies(&self) -> Option<Copies> {
        let Self::Capture { capture, .. } = self else { return None };
        let seen = capture.counts.copies;
        (seen.all() > 0).then_some(Copies {
            same_interface: seen.same_interface,
            other_interface: seen.other_interface,
            other_side_of_router: seen.other_side_of_router,
            other_file: seen.other_file,
            other_end: seen.other_end,
        })
    }

    /// A capture or a scenario, from its bytes; the first bytes decide. `name` is its name in results and errors.
    ///
    /// # Errors
    /// [`Error`] if the bytes are neither.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self, Error> {
        if is_capture(bytes) {
            return Self::capture(bytes, name);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| {
            Error::invalid("neither a capture (pcap, pcapng) nor UTF-8 text").in_file(name, None)
        })?;
        parse(text, name).map(Self::from)
    }
}

impl From<Loaded> for Input {
    fn from(loaded: Loaded) -> Self {
        Self::Scenario(Box::new(loaded))
    }
}

impl From<Scenario> for Input {
    fn from(scenario: Scenario) -> Self {
        Loaded::from(scenario).into()
    }
}

impl From<&Scenario> for Input {
    fn from(scenario: &Scenario) -> Self {
        Loaded::from(scenario).into()
    }
}

/// The profile that stands for the stack of a capture: `profile`, unless the connection with most data is of QUIC and `profile` does not
/// speak QUIC. The stack that starts as the captured sender does then stands for it; quinn's, if none does.
fn profile_of(capture: &Capture, identity: &Identity, profile: Profile) -> Profile {
    let largest = capture.connections.iter().max_by_key(|connection| connection.observed.bytes);
    let quic = largest.is_some_and(|connection| connection.source.transport() == "quic");
    if !quic || profile.stack().is_quic() {
        return profile;
    }
    identity.of(capture).and_then(Identified::likeliest).map_or(Profile::Quinn, |stack| stack.profile)
}

/// Whether these are the first bytes of a pcapng file, of a pcap file of either byte order with micro- or nanoseconds, of a qlog, or
/// of one that is compressed with gzip or zstd.
pub fn is_capture(head: &[u8]) -> bool {
    const MAGIC: [[u8; 4]; 5] = [
        [0x0a, 0x0d, 0x0d, 0x0a],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
    ];
    const COMPRESSED: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];
    MAGIC.iter().any(|magic| head.starts_with(magic))
        || is_qlog(head)
        || COMPRESSED.iter().any(|magic| head.starts_with(magic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_of_quic_stands_for_the_sender_of_a_qlog() {
        let log = include_bytes!("../../../fuzz/corpus/qlog/sequence");
        assert!(is_capture(log) && !is_capture(br#"{"ts":1728568536.25,"size":5}"#));
        let input = Input::from_bytes(log, "sequence").expect("a qlog");
        // Ten datagrams of 1200 bytes at once, and twice as many each round trip: quiche's start.
        assert_eq!(input.profile(Profile::Linux), Profile::Quiche);
        // The profile of a user who knows better.
        assert_eq!(input.profile(Profile::Quinn), Profile::Quinn);
        let path = firstflight_capture::read_from(&log[..], "sequence").expect("a qlog").connections;
        assert_eq!(path[0].source.label(), "qlog");
    }
}
