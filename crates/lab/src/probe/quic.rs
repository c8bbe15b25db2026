//! The QUIC client of a probe: HTTP/3 (RFC 9114), or requests of one line (`GET /name`, ALPN `hq-interop`), as the server chooses.
//!
//! It acknowledges as quinn does: every second packet, and after 25 ms. Its windows of flow control, 16 MiB for a stream and 32 MiB for the
//! connection, limit no response of a probe. It trusts every certificate.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use firstflight_contract::Nanos;
use quinn_proto::crypto::rustls::{HandshakeData, QuicClientConfig};
use quinn_proto::{ClientConfig, Connection, Dir, Event, StreamId, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::ends::{Ends, now, within};
use super::{Around, Fetched};
use crate::clock::Clock;

/// Bytes that the client takes on a stream, and on the connection.
const STREAM_WINDOW: u32 = 16 << 20;
const WINDOW: u32 = 32 << 20;
/// Time after which a client looks whether its server has ended.
const LOOK: Duration = Duration::from_millis(50);
/// Protocols in the order in which the client likes them.
const HTTP3: &[u8] = b"h3";
const LINE: &[u8] = b"hq-interop";

/// A client with one connection.
pub(crate) struct Client {
    ends: Ends,
    port: u16,
    clock: Clock,
    /// Time of the newest request, and bytes of its response so far.
    noted: (Option<Nanos>, Vec<(Nanos, u64)>),
    /// Whether the control stream of HTTP/3 is open.
    control: bool,
}

impl Client {
    /// Begins a connection from `from` to `to`, which takes `window` bytes on a stream, or those of a probe.
    pub(crate) fn connect(
        from: Ipv4Addr,
        to: SocketAddr,
        clock: Clock,
        window: Option<u64>,
    ) -> Result<Self, String> {
        let mut ends = Ends::open((from, 0), None).map_err(|error| error.to_string())?;
        let port = ends.port().map_err(|error| error.to_string())?;
        ends.connect(config(window)?, to)?;
        Ok(Self { ends, port, clock, noted: (None, vec![]), control: false })
    }

    /// Time of the newest request, if it was made, and bytes of its response that were there in order, with their times.
    pub(crate) fn noted(&mut self) -> (Option<Nanos>, Vec<(Nanos, u64)>) {
        core::mem::take(&mut self.noted)
    }

    /// Round trip that the client measured, smoothed.
    pub(crate) fn rtt(&self) -> Duration {
        self.ends.rtt()
    }
}

fn config(window: Option<u64>) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?;
    let mut tls = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![HTTP3.to_vec(), LINE.to_vec()];
    let tls = QuicClientConfig::try_from(tls).map_err(|error| error.to_string())?;
    let stream = match window {
        Some(bytes) => VarInt::from_u64(bytes).map_err(|error| error.to_string())?,
        None => STREAM_WINDOW.into(),
    };
    let mut transport = TransportConfig::default();
    transport
        .stream_receive_window(stream)
        .receive_window(WINDOW.into())
        // The client sends no probes of its own.
        .mtu_discovery_config(None)
        .max_idle_timeout(None);
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// The response of a request.
enum Body {
    Line(u64),
    Http3(Frames),
}

impl Body {
    fn take(&mut self, bytes: &[u8]) {
        match self {
            Self::Line(body) => *body += bytes.len() as u64,
            Self::Http3(frames) => frames.take(bytes),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Line(body) => *body,
            Self::Http3(frames) => frames.body,
        }
    }
}

impl super::Connection for Client {
    fn port(&self) -> u16 {
        self.port
    }

    fn fetch(&mut self, bytes: u64, limit: Duration, around: Around<'_>) -> Result<Fetched, String> {
        let until = within(limit);
        let mut closed = None;
        let mut asked: Option<(StreamId, Body)> = None;
        let mut finished = None;
        self.noted = (None, vec![]);
        let finished = loop {
            if now() >= until {
                let state = match &asked {
                    None => "the handshake is not complete".into(),
                    Some((_, body)) => format!("{} bytes of {bytes} arrived", body.bytes()),
                };
                return Err(format!("a response took more than {} s: {state}", limit.as_secs()));
            }
            if around.over.load(Ordering::Relaxed) {
                return Err("the server ended".into());
            }
            let (clock, control, noted) = (self.clock, &mut self.control, &mut self.noted);
            let acted = self.ends.act(|_, connection| {
                while let Some(event) = connection.poll() {
                    if let Event::ConnectionLost { reason } = event {
                        closed = Some(reason.to_string());
                    }
                }
                if asked.is_none() && !connection.is_handshaking() && closed.is_none() {
                    noted.0 = Some(Nanos(clock.now()));
                    (around.asks)();
                    asked = ask(connection, bytes, control);
                }
                if let Some((stream, body)) = &mut asked {
                    let before = body.bytes();
                    let ended = read(connection, *stream, body);
                    let at = Nanos(clock.now());
                    if body.bytes() > before {
                        noted.1.push((at, body.bytes()));
                    }
                    finished = ended.then_some(at);
                }
            });
            acted.map_err(|error| error.to_string())?;
            if let Some(why) = closed {
                return Err(format!("the connection was closed: {why}"));
            }
            if let Some(finished) = finished {
                break finished;
            }
            self.ends.wait(until.min(within(LOOK))).map_err(|error| error.to_string())?;
        };
        let body = asked.map_or(0, |(_, body)| body.bytes());
        match body == bytes {
            true => {
                let (requested, progress) = self.noted.clone();
                Ok(Fetched { requested: requested.unwrap_or(finished), finished, progress })
            }
            false => Err(format!("the response to /{bytes} has {body} bytes; expected {bytes}")),
        }
    }

    fn pause(&mut self, time: Duration) -> Result<(), String> {
        let until = within(time);
        let mut closed = None;
        while now() < until && closed.is_none() {
            let acted = self.ends.act(|_, connection| {
                while let Some(event) = connection.poll() {
                    if let Event::ConnectionLost { reason } = event {
                        closed = Some(reason.to_string());
                    }
                }
            });
            acted.and_then(|()| self.ends.wait(until)).map_err(|error| error.to_string())?;
        }
        closed.map_or(Ok(()), |why| Err(format!("the connection was closed in a silence: {why}")))
    }

    fn close(self: Box<Self>) {
        self.ends.close();
    }
}

/// Sends the request for the file of `bytes` in the protocol that the server chose.
fn ask(connection: &mut Connection, bytes: u64, control: &mut bool) -> Option<(StreamId, Body)> {
    let data = connection.crypto_session().handshake_data();
    let protocol = data.and_then(|data| data.downcast::<HandshakeData>().ok()?.protocol);
    let http3 = protocol.as_deref() == Some(HTTP3);
    if http3 && !*control {
        // RFC 9114 sections 6.2.1 and 7.2.4: a control stream, with settings that are empty.
        let stream = connection.streams().open(Dir::Uni)?;
        connection.send_stream(stream).write(&[0x00, 0x04, 0x00]).ok()?;
        *control = true;
    }
    let stream = connection.streams().open(Dir::Bi)?;
    let (request, body) = match http3 {
        true => (headers(&format!("/{bytes}")), Body::Http3(Frames::default())),
        false => (format!("GET /{bytes}\r\n").into_bytes(), Body::Line(0)),
    };
    connection.send_stream(stream).write(&request).ok()?;
    connection.send_stream(stream).finish().ok()?;
    Some((stream, body))
}

/// Reads what is there; whether the response has ended.
fn read(connection: &mut Connection, stream: StreamId, body: &mut Body) -> bool {
    let mut stream = connection.recv_stream(stream);
    let Ok(mut chunks) = stream.read(true) else { return false };
    let ended = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => body.take(&chunk.bytes),
            Ok(None) => break true,
            Err(quinn_proto::ReadError::Blocked) => break false,
            // A response that was reset has too few bytes.
            Err(_) => break true,
        }
    };
    let _ = chunks.finalize();
    ended
}

/// A frame HEADERS with a request: `GET`, `https`, `localhost` and a path of less than 64 bytes, from the static table of QPACK
/// (RFC 9204 appendix A) and without compression of texts.
fn headers(path: &str) -> Vec<u8> {
    // Prefix of a section without a dynamic table; :method GET is 17, :scheme https 23, the names :authority 0 and :path 1.
    let mut fields = vec![0x00, 0x00, 0xc0 | 17, 0xc0 | 23];
    for (name, value) in [(0, "localhost"), (1, path)] {
        fields.extend([0x50 | name, value.len() as u8]);
        fields.extend(value.bytes());
    }
    let mut frame = vec![0x01, fields.len() as u8];
    frame.append(&mut fields);
    frame
}

/// Frames of an HTTP/3 response, of which those with data are counted.
#[derive(Debug, Default)]
struct Frames {
    /// The beginning of a frame's type and length.
    head: Vec<u8>,
    /// Bytes that are left of the frame.
    left: u64,
    is_data: bool,
    body: u64,
}

impl Frames {
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some((&first, rest)) = bytes.split_first() {
            if self.left > 0 {
                let part = self.left.min(bytes.len() as u64);
                self.body += if self.is_data { part } else { 0 };
                self.left -= part;
                bytes = &bytes[part as usize..];
                continue;
            }
            bytes = rest;
            self.head.push(first);
            if let Some((kind, rest)) = integer(&self.head)
                && let Some((length, _)) = integer(rest)
            {
                self.is_data = kind == 0;
                self.left = length;
                self.head.clear();
            }
        }
    }
}

/// An integer of variable length (RFC 9000 section 16) and what follows it; `None` if it is not complete.
fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = 1 << (bytes.first()? >> 6);
    let (integer, rest) = bytes.split_at_checked(length)?;
    let value = integer.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value & (u64::MAX >> (66 - 8 * length as u32)), rest))
}

/// A verifier that trusts every certificate, but checks that the server has its key.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_rfc_9000() {
        // Appendix A.1.
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(integer(&eight), Some((151_288_809_941_952_652, &[][..])));
        assert_eq!(integer(&[0x9d, 0x7f, 0x3e, 0x7d]), Some((494_878_333, &[][..])));
        assert_eq!(integer(&[0x7b, 0xbd, 9]), Some((15_293, &[9][..])));
        assert_eq!(integer(&[0x25]), Some((37, &[][..])));
        assert_eq!((integer(&[0x7b]), integer(&[])), (None, None));
    }

    #[test]
    fn a_body_is_the_data_of_its_frames_however_they_are_cut() {
        // HEADERS of 3 bytes, DATA of 2, an empty DATA, a reserved type of two bytes with 1 byte, DATA of 64 (a length of two bytes).
        let mut response = vec![0x01, 3, 1, 2, 3, 0x00, 2, 7, 7, 0x00, 0, 0x40, 0x21, 1, 0];
        response.extend([0x00, 0x40, 64]);
        response.extend([9; 64]);
        for cut in 1..response.len() {
            let mut frames = Frames::default();
            response.chunks(cut).for_each(|part| frames.take(part));
            assert_eq!((frames.body, frames.left), (66, 0), "cut after each {cut}");
        }
    }

    #[test]
    fn a_request_is_a_section_of_static_fields() {
        let expected = [&[0x01, 20, 0, 0, 0xd1, 0xd7, 0x50, 9][..], b"localhost", &[0x51, 3], b"/12"];
        // 2 of the prefix, 2 of indexed fields, 2 + 9 and 2 + 3.
        assert_eq!(headers("/12"), expected.concat());
    }
}
