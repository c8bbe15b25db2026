//! Handshake messages of TLS 1.3 in the CRYPTO frames of Initial packets: the client's random number, the cipher suite, and the client's limits.

use std::collections::BTreeMap;

use super::super::flow_control::Limits;
use super::Random;
use super::secrets::Suite;
use super::wire::Bytes;

/// Bytes of the CRYPTO stream of one side, which come in any order.
#[derive(Debug, Default)]
pub(super) struct Crypto {
    parts: BTreeMap<u64, Vec<u8>>,
}

impl Crypto {
    /// Most bytes that are kept.
    const MOST: u64 = 1 << 16;

    pub(super) fn take(&mut self, offset: u64, data: &[u8]) {
        if offset.saturating_add(data.len() as u64) <= Self::MOST {
            let known = self.parts.entry(offset).or_default();
            if known.len() < data.len() {
                *known = data.to_vec();
            }
        }
    }

    /// The bytes without a gap before them.
    fn start(&self) -> Vec<u8> {
        let mut all = vec![];
        for (&offset, part) in &self.parts {
            let Some(known) = all.len().checked_sub(offset as usize) else { break };
            all.extend(part.get(known..).unwrap_or_default());
        }
        all
    }
}

/// A message of this kind without its header, as far as it is known, and whether it is whole.
fn message(bytes: &[u8], kind: u8) -> Option<(&[u8], bool)> {
    let mut rest = Bytes(bytes);
    let is = rest.byte()? == kind;
    let len = rest.number(3)?;
    is.then(|| (&rest.0[..rest.0.len().min(len)], rest.0.len() >= len))
}

/// The client's random number.
pub(super) fn random(client: &Crypto) -> Option<Random> {
    let start = client.start();
    let (hello, _) = message(&start, 1)?;
    hello.get(2..34)?.try_into().ok()
}

/// The cipher suite that the server chose.
pub(super) fn suite(server: &Crypto) -> Option<Suite> {
    let start = server.start();
    let mut rest = Bytes(message(&start, 2)?.0);
    rest.take(34)?;
    let len = rest.number(1)?;
    rest.take(len)?;
    Suite::of(u16::try_from(rest.number(2)?).ok()?)
}

/// The limits that the client announces; `None` before its message is whole.
pub(super) fn limits(client: &Crypto) -> Option<Limits> {
    const TRANSPORT_PARAMETERS: usize = 0x39;
    let start = client.start();
    let (hello, true) = message(&start, 1)? else { return None };
    let mut rest = Bytes(hello);
    rest.take(34)?;
    for size in [1, 2, 1] {
        let len = rest.number(size)?;
        rest.take(len)?;
    }
    rest.number(2)?;
    while !rest.0.is_empty() {
        let (kind, len) = (rest.number(2)?, rest.number(2)?);
        let content = rest.take(len)?;
        if kind == TRANSPORT_PARAMETERS {
            return Some(parameters(content));
        }
    }
    None
}

fn parameters(content: &[u8]) -> Limits {
    let mut limits = Limits::default();
    let mut rest = Bytes(content);
    let mut next = || {
        let kind = rest.integer()?;
        let len = rest.integer();
        Some((kind, Bytes(rest.sized(len)?)))
    };
    while let Some((kind, mut value)) = next() {
        let [remote, local, one_way] = &mut limits.streams;
        match kind {
            4 => limits.connection = value.integer(),
            5 => *local = value.integer(),
            6 => *remote = value.integer(),
            7 => *one_way = value.integer(),
            _ => {}
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crypto(parts: &[(u64, &[u8])]) -> Crypto {
        let mut crypto = Crypto::default();
        parts.iter().for_each(|(offset, data)| crypto.take(*offset, data));
        crypto
    }

    #[test]
    fn messages_in_parts_and_out_of_order() {
        let parameters = [4, 2, 0x50, 0, 6, 1, 9, 0x0f, 0, 5, 1, 8];
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        // No session, one cipher suite, no compression, and extensions of 4 + 12 bytes.
        body.extend([0, 0, 2, 0x13, 1, 1, 0, 0, 16, 0, 0x39, 0, 12]);
        body.extend(parameters);
        let hello = [&[1, 0, 0, body.len() as u8][..], &body].concat();
        let whole = crypto(&[(40, &hello[40..]), (0, &hello[..20]), (15, &hello[15..40])]);
        assert_eq!(random(&whole), Some([7; 32]));
        let streams = [Some(9), Some(8), None];
        assert_eq!(limits(&whole), Some(Limits { connection: Some(0x1000), streams }));
        let cut = crypto(&[(0, &hello[..39])]);
        assert_eq!((random(&cut), limits(&cut)), (Some([7; 32]), None));
        assert_eq!(random(&crypto(&[(4, &hello[4..])])), None);
        let answer = [&[2, 0, 0, 40, 3, 3][..], &[9; 32], &[2, 1, 1, 0x13, 3, 0]].concat();
        assert_eq!(suite(&crypto(&[(0, &answer)])), Some(Suite::ChaCha20));
        assert_eq!(suite(&whole), None);
    }
}
