//! Names of texts by their content.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// SHA-256 of several texts, in hexadecimal.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(text.as_bytes());
        hasher.update([0]);
    }
    hasher.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
