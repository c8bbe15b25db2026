//! The certificate of a server under test.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, generate_simple_self_signed};

/// A self-signed certificate of ECDSA P-256, the usual kind, and its key, both DER.
#[derive(Debug)]
pub(crate) struct Credentials {
    pub(super) certificate: Vec<u8>,
    pub(super) key: Vec<u8>,
}

impl Credentials {
    /// New ones.
    pub(crate) fn new() -> Result<Self, String> {
        let signed = generate_simple_self_signed(vec!["localhost".into()])
            .map_err(|error| format!("cannot make a certificate: {error}"))?;
        let key: &KeyPair = &signed.signing_key;
        Ok(Self { certificate: signed.cert.der().to_vec(), key: key.serialize_der() })
    }

    /// The certificate and the key in the form of files (RFC 7468).
    pub(super) fn pem(&self) -> [String; 2] {
        [("CERTIFICATE", &self.certificate), ("PRIVATE KEY", &self.key)].map(|(label, der)| {
            let text = STANDARD.encode(der);
            let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
            format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
        })
    }
}
