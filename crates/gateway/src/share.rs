//! Observations of other hosts: what they measured, not what they decided.
//!
//! A record is one line: a JSON object, a space, and the HMAC-SHA-256 of the object under the secret that the hosts
//! share. A record is accepted only if it is signed, recent, of another host and for prefixes of the same length; then it
//! counts as one host of its prefix with the weight that the configuration gives it. All records together weigh at most
//! half of the prefix's own hosts, a third of the whole, where it has own ones ([`crate::estimate`], rule 7). A host
//! publishes its own measurements only, so that no record comes back to it.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::estimate::{HOSTS, RTT_UNIT};
use crate::serial;
use crate::table::hash_name;

/// Version of the records.
const VERSION: u32 = 1;
/// Shortest secret, bytes: the length of the hash.
const SHORTEST: usize = 32;
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

/// The secret that the hosts share.
#[derive(Clone)]
pub struct Key(Vec<u8>);

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// The secret of these bytes.
    ///
    /// # Errors
    /// [`Refused::ShortKey`] for fewer than 32 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, Refused> {
        match bytes.len() {
            0..SHORTEST => Err(Refused::ShortKey { found: bytes.len() }),
            _ => Ok(Self(bytes.to_vec())),
        }
    }

    fn mac(&self, text: &str) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.chain_update(text)
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
    /// The secret.
    pub key: &'a Key,
    /// Name of this host.
    pub host: &'a str,
    /// Leading bits of the prefixes of this gateway, IPv4 and IPv6.
    pub bits: (u8, u8),
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
    /// The secret is too short to protect anything.
    #[error("the secret has {found} bytes; expected at least 32")]
    ShortKey {
        /// Bytes found.
        found: usize,
    },
    /// There is no signature.
    #[error("the record is not signed: expected a JSON object, a space and 64 hexadecimal digits")]
    Unsigned,
    /// The signature is of another text or secret.
    #[error("the signature does not fit the record: it was changed, or signed with another secret")]
    Signature,
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
    pub const LABELS: [&'static str; 11] = [
        "short_key",
        "unsigned",
        "signature",
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
            Self::ShortKey { .. } => 0,
            Self::Unsigned => 1,
            Self::Signature => 2,
            Self::Content(_) => 3,
            Self::Version { .. } => 4,
            Self::Own(_) => 5,
            Self::Age { .. } => 6,
            Self::Prefix { .. } => 7,
            Self::Value { .. } => 8,
            Self::Misplaced { .. } => 9,
            Self::Replayed { .. } => 10,
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
    /// An observation of this version.
    pub fn new(host: &str, prefix: Prefix, window: u16, rtt: Nanos, samples: u32, at: u64) -> Self {
        Self { version: VERSION, host: host.into(), prefix, window, rtt: rtt.0, samples, at }
    }

    /// The signed record.
    pub fn sign(&self, key: &Key) -> String {
        let mut text = serde_json::to_string(self).expect("every part has a JSON form");
        let mac = key.mac(&text).finalize().into_bytes();
        text.push(' ');
        text.extend(mac.iter().map(|byte| format!("{byte:02x}")));
        text
    }

    /// Checks a record. The signature is checked before anything is read.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn accept(record: &str, rules: &Acceptance<'_>) -> Result<Remote, Refused> {
        let Acceptance { key, host, bits, now, max_age, weight } = *rules;
        let signed = record.rsplit_once(' ').filter(|_| record.len() <= LONGEST_RECORD);
        let (text, mac) = signed.ok_or(Refused::Unsigned)?;
        key.mac(text).verify_slice(&digits(mac).ok_or(Refused::Unsigned)?).map_err(|_| Refused::Signature)?;
        let observation: Self =
            serde_json::from_str(text).map_err(|why| Refused::Content(why.to_string()))?;
        let Self { version, host: ref from, prefix, at, .. } = observation;
        if version != VERSION {
            return Err(Refused::Version { found: version });
        }
        observation.check()?;
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
            ("window", window.to_string(), *window > 0, "1 or more sixteenths of a segment".to_owned()),
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

/// The 32 bytes of 64 hexadecimal digits.
fn digits(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
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
    fn the_signature_is_the_one_of_rfc_4231() {
        // Test case 6: a key of 131 bytes 0xaa.
        let key = Key::new(&[0xaa; 131]).expect("long enough");
        let mac = key.mac("Test Using Larger Than Block-Size Key - Hash Key First").finalize().into_bytes();
        let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }
}
