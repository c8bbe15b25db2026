//! Keys of packets from secrets, and packets that they open (RFC 9001 section 5, RFC 9369 section 3.3).

use ring::aead::quic::{AES_128, AES_256, Algorithm as HeaderAlgorithm, CHACHA20, HeaderProtectionKey};
use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use ring::hkdf::{HKDF_SHA256, HKDF_SHA384, KeyType, Prk, Salt};

use super::wire::Version;

/// Cipher suite of TLS 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suite {
    Aes128,
    Aes256,
    ChaCha20,
}

impl Suite {
    /// The suite of this number (RFC 8446 appendix B.4).
    pub(super) fn of(number: u16) -> Option<Self> {
        match number {
            0x1301 => Some(Self::Aes128),
            0x1302 => Some(Self::Aes256),
            0x1303 => Some(Self::ChaCha20),
            _ => None,
        }
    }

    fn prk(self, secret: &[u8]) -> Prk {
        let hash = if self == Self::Aes256 { HKDF_SHA384 } else { HKDF_SHA256 };
        Prk::new_less_safe(hash, secret)
    }

    /// Length of its secrets, bytes.
    fn secret_len(self) -> usize {
        if self == Self::Aes256 { 48 } else { 32 }
    }

    fn algorithms(self) -> (&'static Algorithm, &'static HeaderAlgorithm) {
        match self {
            Self::Aes128 => (&AES_128_GCM, &AES_128),
            Self::Aes256 => (&AES_256_GCM, &AES_256),
            Self::ChaCha20 => (&CHACHA20_POLY1305, &CHACHA20),
        }
    }
}

/// Number of bytes to derive.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label with an empty context (RFC 8446 section 7.1).
fn expand(prk: &Prk, label: &str, len: usize) -> Option<Vec<u8>> {
    const PREFIX: &str = "tls13 ";
    let length = u16::try_from(len).ok()?.to_be_bytes();
    let named = [u8::try_from(PREFIX.len() + label.len()).ok()?];
    let info = [&length[..], &named, PREFIX.as_bytes(), label.as_bytes(), &[0]];
    let mut out = vec![0; len];
    prk.expand(&info, Bytes(len)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

/// Keys of the packets of one side in one generation.
#[derive(Debug)]
struct Generation {
    secret: Vec<u8>,
    key: LessSafeKey,
    iv: [u8; 12],
}

impl Generation {
    fn of(suite: Suite, version: Version, secret: Vec<u8>) -> Option<Self> {
        if secret.len() != suite.secret_len() {
            return None;
        }
        let prk = suite.prk(&secret);
        let (algorithm, _) = suite.algorithms();
        let key = expand(&prk, version.label("key"), algorithm.key_len())?;
        let iv = expand(&prk, version.label("iv"), 12)?.try_into().ok()?;
        Some(Self { secret, key: LessSafeKey::new(UnboundKey::new(algorithm, &key).ok()?), iv })
    }

    /// The keys after an update (RFC 9001 section 6.1).
    fn next(&self, suite: Suite, version: Version) -> Option<Self> {
        let secret = expand(&suite.prk(&self.secret), version.label("ku"), suite.secret_len())?;
        Self::of(suite, version, secret)
    }

    fn open(&self, number: u64, header: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = self.iv;
        nonce[4..].iter_mut().zip(number.to_be_bytes()).for_each(|(byte, of)| *byte ^= of);
        let mut content = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let len = self.key.open_in_place(nonce, Aad::from(header), &mut content).ok()?.len();
        content.truncate(len);
        Some(content)
    }
}

/// Keys of the packets of one side, with those before and after the generation in use.
pub(super) struct Keys {
    suite: Suite,
    version: Version,
    header: HeaderProtectionKey,
    before: Option<Generation>,
    now: Generation,
    next: Option<Generation>,
    /// Value of the key phase bit of the generation in use.
    phase: bool,
    /// Largest packet number that was opened.
    largest: Option<u64>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys")
            .field("suite", &self.suite)
            .field("largest", &self.largest)
            .finish_non_exhaustive()
    }
}

/// A packet without its protection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) number: u64,
    pub(super) frames: Vec<u8>,
}

impl Keys {
    pub(super) fn of(suite: Suite, version: Version, secret: &[u8]) -> Option<Self> {
        let now = Generation::of(suite, version, secret.to_vec())?;
        let next = now.next(suite, version);
        let (_, algorithm) = suite.algorithms();
        let header = expand(&suite.prk(secret), version.label("hp"), algorithm.key_len())?;
        let header = HeaderProtectionKey::new(algorithm, &header).ok()?;
        Some(Self { suite, version, header, before: None, now, next, phase: false, largest: None })
    }

    /// Keys of the Initial packets of the client and of the server of a connection whose client sent its first packet to this connection ID.
    pub(super) fn initial(version: Version, id: &[u8]) -> Option<[Self; 2]> {
        let prk = Salt::new(HKDF_SHA256, version.salt()).extract(id);
        let keys = |label: &str| Self::of(Suite::Aes128, version, &expand(&prk, label, 32)?);
        Some([keys("client in")?, keys("server in")?])
    }

    /// Opens a packet whose number begins behind `offset` bytes; `None` if the keys are not its.
    pub(super) fn open(&mut self, packet: &[u8], offset: usize) -> Option<Content> {
        const SAMPLE: usize = 16;
        const LONG: u8 = 0x80;
        const PHASE: u8 = 0x04;
        let sample = packet.get(offset + 4..offset + 4 + SAMPLE)?;
        let mask = self.header.new_mask(sample).ok()?;
        let long = packet[0] & LONG != 0;
        let first = packet[0] ^ mask[0] & if long { 0x0f } else { 0x1f };
        let len = usize::from(first & 3) + 1;
        let mut header = packet[..offset + len].to_vec();
        header[0] = first;
        header[offset..].iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        let short = header[offset..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let number = whole_number(short, len, self.largest);
        let sealed = &packet[offset + len..];
        let updated = !long && (first & PHASE != 0) != self.phase;
        let frames = match updated {
            false => self.now.open(number, &header, sealed)?,
            true => {
                let before = self.before.as_ref().and_then(|keys| keys.open(number, &header, sealed));
                match before {
                    Some(frames) => frames,
                    None => {
                        let frames = self.next.as_ref()?.open(number, &header, sealed)?;
                        self.update()?;
                        frames
                    }
                }
            }
        };
        self.largest = self.largest.max(Some(number));
        Some(Content { number, frames })
    }

    fn update(&mut self) -> Option<()> {
        let next = self.next.take()?;
        self.next = next.next(self.suite, self.version);
        self.before = Some(std::mem::replace(&mut self.now, next));
        self.phase = !self.phase;
        Some(())
    }
}

/// The packet number whose last `len` bytes are `short`: the nearest to the one behind the largest (RFC 9000 appendix A.3).
fn whole_number(short: u64, len: usize, largest: Option<u64>) -> u64 {
    let expected = largest.map_or(0, |largest| largest + 1);
    let window = 1_u64 << (8 * len);
    let number = expected & !(window - 1) | short;
    if number + window / 2 <= expected && number < (1 << 62) - window {
        number + window
    } else if number > expected + window / 2 && number >= window {
        number - window
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes;
    use super::*;

    fn hex(digits: &str) -> Vec<u8> {
        bytes(digits).expect("hexadecimal digits")
    }

    #[test]
    fn packet_numbers_are_those_of_rfc_9000_appendix_a_3() {
        assert_eq!(whole_number(0x9b32, 2, Some(0xa82f_30ea)), 0xa82f_9b32);
        assert_eq!(whole_number(0, 1, None), 0);
        assert_eq!(whole_number(2, 1, Some(254)), 258);
        assert_eq!(whole_number(250, 1, Some(257)), 250);
    }

    #[test]
    fn initial_keys_and_the_chacha20_packet_are_those_of_rfc_9001_appendix_a() {
        let id = hex("8394c8f03e515708");
        let [client, server] = Keys::initial(Version::First, &id).expect("keys");
        assert_eq!(
            client.now.secret,
            hex("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea")
        );
        assert_eq!(client.now.iv[..], hex("fa044b2f42a3fd3b46fb255c"));
        assert_eq!(
            server.now.secret,
            hex("3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b")
        );
        assert_eq!(server.now.iv[..], hex("0ac1493ca1905853b0bba03e"));
        // Section A.5: a PING in a packet with the number 654360564.
        let secret = hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let mut keys = Keys::of(Suite::ChaCha20, Version::First, &secret).expect("keys");
        assert_eq!(keys.now.iv[..], hex("e0459b3474bdd0e44a41c144"));
        let next = keys.next.as_ref().expect("keys of the next generation");
        assert_eq!(next.secret, hex("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));
        keys.largest = Some(654_360_563);
        let packet = hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        assert_eq!(keys.open(&packet, 1), Some(Content { number: 654_360_564, frames: vec![1] }));
        // A changed byte fails the authentication.
        let mut damaged = packet;
        damaged[8] ^= 1;
        assert_eq!(keys.open(&damaged, 1), None);
    }

    #[test]
    fn the_servers_initial_packet_of_rfc_9001_opens() {
        // Section A.3: number 1, an ACK of packet 0, and a ServerHello of 90 bytes in a CRYPTO frame.
        let packet = hex(
            "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3\
             dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc4\
             2158407dd074ee"
                .split_whitespace()
                .collect::<String>()
                .as_str(),
        );
        let [_, mut server] = Keys::initial(Version::First, &hex("8394c8f03e515708")).expect("keys");
        let content = server.open(&packet, 18).expect("it opens");
        assert_eq!(content.number, 1);
        assert_eq!(content.frames[..9], hex("02000000000600405a"));
        assert_eq!(content.frames[9..13], hex("02000056"));
    }
}
