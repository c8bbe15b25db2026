//! Observations of other hosts: what they measured, not what they decided.
//!
//! A record is one line: a JSON object, a space, and the HMAC-SHA-256 of the object under the secret that the hosts
//! share. A record is accepted only if it is signed, recent, of another host and for prefixes of the same length; then it
//! counts as one host of its prefix with the weight that the configuration gives it. All records together weigh at most
//! half of the prefix's own hosts, a third of the whole, where it has own ones ([`crate::estimate`], rule 7). A host
//! publishes its own measurements only, so that no record comes back to it.

use firstflight_contract::Nanos;
use firstflight_paths::Prefix;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::serial;

/// Version of the records.
const VERSION: u32 = 1;
/// Shortest secret, bytes: the length of the hash.
const SHORTEST: usize = 32;
/// Longest record, bytes.
const LONGEST: usize = 1024;
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

/// What a host measured of a prefix.
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
        let signed = record.rsplit_once(' ').filter(|_| record.len() <= LONGEST);
        let (text, mac) = signed.ok_or(Refused::Unsigned)?;
        key.mac(text).verify_slice(&digits(mac).ok_or(Refused::Unsigned)?).map_err(|_| Refused::Signature)?;
        let observation: Self =
            serde_json::from_str(text).map_err(|why| Refused::Content(why.to_string()))?;
        let Self { version, host: ref from, prefix, at, .. } = observation;
        if version != VERSION {
            return Err(Refused::Version { found: version });
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
        Ok(Remote { observation, age, weight: weight.min(1000) })
    }
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
