//! Observations of other hosts: what they measured, not what they decided.
//!
//! A record is one line: a JSON object, a space, the number of a key, a space, and the Ed25519 signature of the object (RFC
//! 8032). Each host has a key of its own, and a key can sign for its host alone: the holder of one key is one host, whatever
//! the records claim. A record is accepted only if it is signed, recent, of another host and for prefixes of the same
//! length. It counts as one host of its prefix. The configuration gives its weight, and bounds its window. All records
//! together weigh at most half of the prefix's own hosts, a third of the whole, where it has own ones ([`crate::estimate`],
//! rule 7). A host publishes its own measurements only, so that no record comes back to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::estimate::{HOSTS, PARTS, RTT_UNIT};
use crate::serial;
use crate::settings::MOST;
use crate::table::hash_name;

/// Version of the records.
const VERSION: u32 = 2;
/// Digits of the number of a key.
const ID_DIGITS: usize = 16;
/// Greatest window of a record, sixteenths of a segment: no plan has more.
const WIDEST: u16 = (MOST * PARTS) as u16;
/// Longest record, bytes.
pub const LONGEST_RECORD: usize = 1024;
/// Longest name of a host, characters.
const LONGEST_NAME: usize = 64;
/// Greatest round-trip time that a gateway keeps, nanoseconds.
const LONGEST_RTT: u64 = RTT_UNIT * u16::MAX as u64;
/// Most samples that a gateway counts for a prefix: 255 for each host that it keeps.
const MOST_SAMPLES: u32 = HOSTS as u32 * u8::MAX as u32;
/// Places of a store for the observations of one prefix. Two hosts that share a place replace each other's observation.
pub const PLACES: usize = 16;
/// Pairs of a prefix and a host whose newest record is remembered, in each of two generations.
const REMEMBERED: usize = 1 << 16;
/// Time by which the clocks of two hosts may differ, seconds.
const SKEW: u64 = 60;

/// Number of a public key: the first 16 hexadecimal digits of its SHA-256.
fn number(public: &[u8; 32]) -> String {
    hexadecimal(&Sha256::digest(public)[..ID_DIGITS / 2])
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The secret by which a host signs its records.
#[derive(Clone)]
pub struct Signer {
    host: String,
    number: String,
    pair: Arc<Ed25519KeyPair>,
}

impl core::fmt::Debug for Signer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Signer").field(&self.host).field(&self.number).finish()
    }
}

impl Signer {
    /// The secret of a host in the form of PKCS #8 (RFC 8410), without PEM around it.
    ///
    /// # Errors
    /// [`Refused::NoKey`].
    pub fn from_pkcs8(host: &str, bytes: &[u8]) -> Result<Self, Refused> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(bytes).map_err(|_| Refused::NoKey)?;
        Ok(Self::of(host, pair))
    }

    /// The secret of a host that follows from 32 bytes.
    ///
    /// # Panics
    /// Never: each 32 bytes are a secret.
    pub fn from_seed(host: &str, seed: &[u8; 32]) -> Self {
        Self::of(host, Ed25519KeyPair::from_seed_unchecked(seed).expect("32 bytes"))
    }

    fn of(host: &str, pair: Ed25519KeyPair) -> Self {
        let mut signer = Self { host: host.to_owned(), number: String::new(), pair: Arc::new(pair) };
        signer.number = number(&signer.public());
        signer
    }

    /// The host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The public key, by which others check the signatures.
    pub fn public(&self) -> [u8; 32] {
        core::array::from_fn(|at| self.pair.public_key().as_ref()[at])
    }
}

/// Public keys and their hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys(BTreeMap<String, (String, [u8; 32])>);

impl Keys {
    /// The keys of nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// The key of this host alone.
    pub fn of(signer: &Signer) -> Self {
        Self([(signer.number.clone(), (signer.host.clone(), signer.public()))].into())
    }

    /// Adds a key of a host. A host may have several: an old one and a new one.
    ///
    /// # Errors
    /// [`Refused::TwoHosts`] if another host has the same key.
    pub fn add(&mut self, host: &str, public: [u8; 32]) -> Result<(), Refused> {
        let number = number(&public);
        match self.0.get(&number) {
            Some((other, _)) if other != host => {
                Err(Refused::TwoHosts { number, hosts: [other.clone(), host.to_owned()] })
            }
            _ => {
                self.0.insert(number, (host.to_owned(), public));
                Ok(())
            }
        }
    }

    /// The hosts, in the order of their keys' numbers.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|(host, _)| host.as_str())
    }

    /// The host whose key with this number signed the text.
    fn signer(&self, text: &str, number: &str, signature: &[u8]) -> Result<&str, Refused> {
        let known = self.0.get(number);
        let (host, public) = known.ok_or_else(|| Refused::UnknownKey { number: number.to_owned() })?;
        let checked = UnparsedPublicKey::new(&ED25519, public).verify(text.as_bytes(), signature);
        checked.map_err(|_| Refused::Signature)?;
        Ok(host)
    }
}

/// Measurements of a prefix by one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Version of the records.
    pub version: u32,
    /// Name of the host.
    pub host: String,
    /// The prefix.
    pub prefix: Prefix,
    /// Median window of its hosts, sixteenths of a segment.
    pub window: u16,
    /// Least round-trip time, nanoseconds.
    pub rtt: u64,
    /// Weight of its samples.
    pub samples: u32,
    /// Time of the measurement, seconds since 1970.
    pub at: u64,
}

/// An observation of another host that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    /// The observation.
    pub observation: Observation,
    /// Its age.
    #[serde(with = "serial::nanos")]
    pub age: Nanos,
    /// Its weight, thousandths of an own host.
    pub weight: u16,
}

/// Rules by which observations are accepted.
#[derive(Clone, Debug)]
pub struct Acceptance<'a> {
    /// Keys of the other hosts.
    pub keys: &'a Keys,
    /// Name of this host.
    pub host: &'a str,
    /// Leading bits of the prefixes of this gateway, IPv4 and IPv6.
    pub bits: (u8, u8),
    /// Largest first window of this gateway, segments: a record counts as this much at most.
    pub window: u32,
    /// Wall clock, seconds since 1970.
    pub now: u64,
    /// Age from which an observation is refused.
    pub max_age: Nanos,
    /// Weight, thousandths of an own host.
    pub weight: u16,
}

/// Reason why a record is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is no secret of Ed25519.
    #[error("no private key of Ed25519 in the form of PKCS #8")]
    NoKey,
    /// Two hosts have the same key.
    #[error("{} and {} have the same key {number}; expected a key of its own for each host", hosts[0], hosts[1])]
    TwoHosts {
        /// Number of the key.
        number: String,
        /// The hosts.
        hosts: [String; 2],
    },
    /// There is no signature.
    #[error(
        "the record is not signed: expected a JSON object, the 16 hexadecimal digits of a key and the 128 of a signature"
    )]
    Unsigned,
    /// No host has a key of this number.
    #[error("the record is signed by the key {number}, which no known host has")]
    UnknownKey {
        /// Number of the key.
        number: String,
    },
    /// The signature is of another text.
    #[error("the signature does not fit the record: it was changed, or signed with another key")]
    Signature,
    /// The record is of another host than the key that signed it.
    #[error("the record of {host:.64} is signed by the key of {signer}")]
    Foreign {
        /// The host, as the record names it.
        host: String,
        /// Host of the key.
        signer: String,
    },
    /// The record is signed and not understood.
    #[error("the record is not an observation: {0}")]
    Content(String),
    /// The record is of another version of this program.
    #[error("the record has version {found}; expected {VERSION}")]
    Version {
        /// Version found.
        found: u32,
    },
    /// The record is from this host.
    #[error(
        "the record is from this host, {0}: two hosts have the same name, or the store returns own records"
    )]
    Own(String),
    /// The record is too old, or its time has not come.
    #[error("the record of {host} is {age} s old; expected 0 to {most} s")]
    Age {
        /// The host.
        host: String,
        /// Age, seconds; below zero for a time that has not come.
        age: i64,
        /// Greatest age, seconds.
        most: u64,
    },
    /// The prefix has another length than this gateway's.
    #[error("the record of {host} is for {prefix}; expected prefixes of {} or {} bits", bits.0, bits.1)]
    Prefix {
        /// The host.
        host: String,
        /// The prefix.
        prefix: Prefix,
        /// Leading bits expected, IPv4 and IPv6.
        bits: (u8, u8),
    },
    /// The record has a value that no gateway measures.
    #[error("the record of {host:.64} has {key} = {value:.64}; expected {expected}")]
    Value {
        /// The host, as the record names it.
        host: String,
        /// Name of the value.
        key: &'static str,
        /// The value.
        value: String,
        /// Values expected.
        expected: String,
    },
    /// The record was found in the place of another prefix.
    #[error("the record of {host} for {prefix} was found in the place of {place}")]
    Misplaced {
        /// The host.
        host: String,
        /// The prefix of the record.
        prefix: Prefix,
        /// The prefix that was asked for.
        place: Prefix,
    },
    /// A newer record of the same host for the same prefix was accepted before.
    #[error("the record of {host} for {prefix} is {older} s older than one that was accepted before")]
    Replayed {
        /// The host.
        host: String,
        /// The prefix.
        prefix: Prefix,
        /// Seconds between the two.
        older: u64,
    },
}

impl Refused {
    /// Every label, in the order of [`Refused`].
    pub const LABELS: [&'static str; 14] = [
        "no_key",
        "two_hosts",
        "unsigned",
        "unknown_key",
        "signature",
        "foreign",
        "content",
        "version",
        "own",
        "age",
        "prefix",
        "value",
        "misplaced",
        "replayed",
    ];

    /// One word for the reason, for counts.
    pub fn label(&self) -> &'static str {
        Self::LABELS[match self {
            Self::NoKey => 0,
            Self::TwoHosts { .. } => 1,
            Self::Unsigned => 2,
            Self::UnknownKey { .. } => 3,
            Self::Signature => 4,
            Self::Foreign { .. } => 5,
            Self::Content(_) => 6,
            Self::Version { .. } => 7,
            Self::Own(_) => 8,
            Self::Age { .. } => 9,
            Self::Prefix { .. } => 10,
            Self::Value { .. } => 11,
            Self::Misplaced { .. } => 12,
            Self::Replayed { .. } => 13,
        }]
    }
}

/// Newest accepted records by prefix and host, by which a repeated or an older record is recognised. It remembers at least
/// the last 65536 pairs. A pair that is forgotten costs nothing: the estimator ignores an observation that is not newer.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Times of the newest records, seconds since 1970: those of this generation and of the one before.
    newest: [BTreeMap<(Prefix, u64), u64>; 2],
}

impl Known {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether an accepted record that was found in the place of `place` brings something new; [`false`] if it is the one that
    /// is known already.
    ///
    /// # Errors
    /// [`Refused::Misplaced`], [`Refused::Replayed`].
    pub fn admit(&mut self, place: &Prefix, remote: &Remote) -> Result<bool, Refused> {
        let Observation { ref host, prefix, at, .. } = remote.observation;
        if prefix != *place {
            return Err(Refused::Misplaced { host: host.clone(), prefix, place: *place });
        }
        let pair = (prefix, hash_name(0, host));
        let known = self.newest.iter().find_map(|generation| generation.get(&pair)).copied();
        if let Some(older) = known.and_then(|known| known.checked_sub(at)).filter(|older| *older > 0) {
            return Err(Refused::Replayed { host: host.clone(), prefix, older });
        }
        if self.newest[0].len() >= REMEMBERED {
            self.newest.swap(0, 1);
            self.newest[0].clear();
        }
        self.newest[0].insert(pair, at);
        Ok(known != Some(at))
    }
}

impl Observation {
    /// An observation of this version. What is above the widest plan counts as that.
    pub fn new(host: &str, prefix: Prefix, window: u16, rtt: Nanos, samples: u32, at: u64) -> Self {
        let window = window.min(WIDEST);
        Self { version: VERSION, host: host.into(), prefix, window, rtt: rtt.0, samples, at }
    }

    /// The record, signed by its host.
    pub fn sign(&self, signer: &Signer) -> String {
        let text = serde_json::to_string(self).expect("every part has a JSON form");
        let signature = hexadecimal(signer.pair.sign(text.as_bytes()).as_ref());
        format!("{text} {} {signature}", signer.number)
    }

    /// Checks a record. The signature is checked before anything is read.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn accept(record: &str, rules: &Acceptance<'_>) -> Result<Remote, Refused> {
        let Acceptance { keys, host, bits, window, now, max_age, weight } = *rules;
        let mut parts = record.rsplitn(3, ' ');
        let parts = (parts.next(), parts.next(), parts.next());
        let (Some(signature), Some(number), Some(text)) = parts else { return Err(Refused::Unsigned) };
        if record.len() > LONGEST_RECORD || digits::<{ ID_DIGITS / 2 }>(number).is_none() {
            return Err(Refused::Unsigned);
        }
        let signer = keys.signer(text, number, &digits::<64>(signature).ok_or(Refused::Unsigned)?)?;
        let mut observation: Self =
            serde_json::from_str(text).map_err(|why| Refused::Content(why.to_string()))?;
        let Self { version, host: ref from, prefix, at, .. } = observation;
        if version != VERSION {
            return Err(Refused::Version { found: version });
        }
        observation.check()?;
        if from != signer {
            return Err(Refused::Foreign { host: from.clone(), signer: signer.to_owned() });
        }
        if from == host {
            return Err(Refused::Own(host.into()));
        }
        let most = max_age.0 / 1_000_000_000;
        if at > now.saturating_add(SKEW) || now.saturating_sub(at) > most {
            let age = now as i64 - i64::try_from(at).unwrap_or(i64::MAX);
            return Err(Refused::Age { host: from.clone(), age, most });
        }
        if !crate::gateway::is_whole(&prefix, bits) {
            return Err(Refused::Prefix { host: from.clone(), prefix, bits });
        }
        let age = Nanos::from_secs(now.saturating_sub(at));
        observation.window = observation.window.min((window.min(MOST) * PARTS) as u16);
        Ok(Remote { observation, age, weight: weight.min(1000) })
    }
}

impl Observation {
    /// The places of a store where hosts keep their observations of a prefix.
    pub fn places(prefix: &Prefix) -> [String; PLACES] {
        core::array::from_fn(|number| place(prefix, number))
    }

    /// The place of a store where this observation is kept, by a hash of its host and its prefix.
    pub fn place(&self) -> String {
        let hash = Sha256::digest(format!("{} {}", self.host, self.prefix));
        place(&self.prefix, usize::from(hash[0]) % PLACES)
    }

    /// Checks that a gateway can have measured this.
    fn check(&self) -> Result<(), Refused> {
        let Self { host, window, rtt, samples, .. } = self;
        let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let named = (1..=LONGEST_NAME).contains(&host.len()) && host.bytes().all(name);
        let values = [
            ("host", host.clone(), named, format!("1 to {LONGEST_NAME} letters, digits, \"-\" and \"_\"")),
            (
                "window",
                window.to_string(),
                (1..=WIDEST).contains(window),
                format!("1 to {WIDEST} sixteenths of a segment"),
            ),
            ("rtt", rtt.to_string(), (1..=LONGEST_RTT).contains(rtt), format!("1 to {LONGEST_RTT} ns")),
            (
                "samples",
                samples.to_string(),
                (1..=MOST_SAMPLES).contains(samples),
                format!("1 to {MOST_SAMPLES}"),
            ),
        ];
        for (key, value, valid, expected) in values {
            if !valid {
                return Err(Refused::Value { host: host.clone(), key, value, expected });
            }
        }
        Ok(())
    }
}

fn place(prefix: &Prefix, number: usize) -> String {
    format!("firstflight:{VERSION}:{prefix}:{number}")
}

/// The bytes of hexadecimal digits.
fn digits<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    if text.len() != 2 * BYTES {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = (high? * 16 + low?) as u8;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_signatures_are_those_of_rfc_8032() {
        // Section 7.1, test 3: secret, public key, and the signature of the bytes af 82.
        let secret =
            digits("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7").expect("digits");
        let public = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
        let signer = Signer::from_seed("there", &secret);
        assert_eq!(hexadecimal(&signer.public()), public);
        assert_eq!(
            hexadecimal(signer.pair.sign(&[0xaf, 0x82]).as_ref()),
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        );
        // `echo fc51…8025 | xxd -r -p | sha256sum` begins with these digits.
        assert_eq!(signer.number, "dac073e0123bdea5");
    }
}
