//! Connections of QUIC whose secrets are in a key log: their packets without encryption.
//!
//! [`KeyLog`] has the secrets by the client's random number, [`secrets`] derives keys from them, [`wire`] reads packets and frames, and
//! [`opened`] follows a connection from its first Initial packet on.

mod hello;
mod opened;
mod secrets;
mod wire;

use std::collections::BTreeMap;

pub(super) use opened::{Captured, Opened};

/// Secrets of connections, from a file in the format of NSS (`SSLKEYLOGFILE`).
#[derive(Debug, Default)]
pub struct KeyLog {
    /// First secrets of 1-RTT packets of the client and of the server, by the client's random number.
    secrets: BTreeMap<[u8; 32], [Option<Vec<u8>>; 2]>,
}

/// Random number that names a connection in a key log.
type Random = [u8; 32];

impl KeyLog {
    /// Largest key log, bytes.
    pub const MOST: usize = 1 << 26;

    /// Reads the text of a key log.
    ///
    /// # Errors
    /// A sentence without the name of the file: a line that is not of the format, or no line with a secret of TLS 1.3.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut log = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            log.take(line).map_err(|why| {
                format!(
                    "line {}: {why}; expected a label, a random number and a secret in hexadecimal digits",
                    number + 1
                )
            })?;
        }
        if log.secrets.is_empty() {
            return Err(
                "no secret of QUIC; expected lines CLIENT_TRAFFIC_SECRET_0 and SERVER_TRAFFIC_SECRET_0"
                    .into(),
            );
        }
        Ok(log)
    }

    fn take(&mut self, line: &str) -> Result<(), &'static str> {
        /// Secrets are hashes of SHA-256 or SHA-384.
        const LENGTHS: [usize; 2] = [32, 48];
        let parts: Vec<&str> = line.split_ascii_whitespace().collect();
        let [label, random, secret] = parts[..] else { return Err("the line does not have three parts") };
        let side = match label {
            "CLIENT_TRAFFIC_SECRET_0" | "QUIC_CLIENT_TRAFFIC_SECRET_0" => 0,
            "SERVER_TRAFFIC_SECRET_0" | "QUIC_SERVER_TRAFFIC_SECRET_0" => 1,
            // Secrets of the handshake, of exporters, and of TLS 1.2.
            _ => return Ok(()),
        };
        let random: Random = bytes(random)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or("the random number does not have 64 hexadecimal digits")?;
        let secret = bytes(secret)
            .filter(|secret| LENGTHS.contains(&secret.len()))
            .ok_or("the secret does not have 64 or 96 hexadecimal digits")?;
        self.secrets.entry(random).or_default()[side] = Some(secret);
        Ok(())
    }

    /// Secrets of the client and of the server.
    fn of(&self, random: &Random) -> Option<&[Option<Vec<u8>>; 2]> {
        self.secrets.get(random)
    }
}

/// Bytes of hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_log_has_secrets_by_random_number_and_bad_lines_are_named() {
        let (random, secret) = ("ab".repeat(32), "0C".repeat(48));
        let text = format!(
            "# a comment\n\nCLIENT_TRAFFIC_SECRET_0 {random} {secret}\nEXPORTER_SECRET {random} {secret}\n\
             SERVER_TRAFFIC_SECRET_0 {random} {}\r\n",
            "1f".repeat(32)
        );
        let log = KeyLog::parse(&text).expect("a key log");
        assert_eq!(log.of(&[0xab; 32]), Some(&[Some(vec![0x0c; 48]), Some(vec![0x1f; 32])]));
        let refused = |text: &str| KeyLog::parse(text).expect_err("no key log");
        assert!(
            refused("CLIENT_TRAFFIC_SECRET_0 ab").starts_with("line 1: the line does not have three parts")
        );
        let line = format!("\nCLIENT_TRAFFIC_SECRET_0 {} {secret}", "ab".repeat(31));
        assert!(refused(&line).starts_with("line 2: the random number"));
        let line = format!("SERVER_TRAFFIC_SECRET_0 {random} {}", "ag".repeat(32));
        assert!(refused(&line).starts_with("line 1: the secret"));
        assert!(refused("").starts_with("no secret of QUIC"));
        assert!(refused(&format!("CLIENT_RANDOM {random} {secret}")).starts_with("no secret of QUIC"));
    }
}
