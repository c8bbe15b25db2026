//! The readers of the state folder over bytes in memory: for the fuzz targets.

use std::io::{self, Cursor};

use firstflight_contract::Nanos;
use firstflight_gateway::Gateway;
use sha2::{Digest, Sha256};

use super::disk::Stored;
use super::ledger::Contents;
use super::snapshot;

impl Stored for Cursor<Vec<u8>> {
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&self, _length: u64) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

/// Reads the bytes of a snapshot into a gateway of the same settings as `like`, at a time since boot and in nanoseconds since 1970.
///
/// # Errors
/// The reason for which it is none.
pub fn read_snapshot(bytes: &[u8], like: &Gateway, now: Nanos, wall: u64) -> Result<Gateway, String> {
    let file = Box::new(Cursor::new(bytes.to_vec()));
    let (gateway, _) = snapshot::restored(file, like, (now, wall)).map_err(|(error, _)| error.to_string())?;
    Ok(gateway)
}

/// A snapshot with these contents: parts of a state, each with four bytes of length before it.
pub fn whole_snapshot(contents: &[u8], taken: u64) -> Vec<u8> {
    let head = snapshot::whole_head(Sha256::new_with_prefix(contents), contents.len() as u64, taken);
    [&head[..], contents].concat()
}

/// Content of the bytes of the orders: the changes of whole records, and the damage, one line each.
pub fn parse_orders(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let Contents { changes, damage, .. } = Contents::parse(bytes);
    (changes, damage)
}

/// The bytes of a file with these changes, one record each.
pub fn whole_orders(changes: &[String]) -> Vec<u8> {
    super::ledger::whole(changes).into_bytes()
}
