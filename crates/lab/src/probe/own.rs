//! Servers of this program, for which nothing is to be installed: quinn with its default settings, and the kernel's TCP.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{Connection, Dir, Event, ServerConfig, StreamId};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::credentials::Credentials;
use super::ends::{Ends, within};
use crate::realtime::be_on_time;
use crate::tun::wait;

/// Time after which a server looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Most bytes of a request.
const MOST_REQUEST: usize = 1_000;
/// Bytes that are handed over at a time, so that the first packets leave before all of a response is copied.
static CHUNK: [u8; 64 << 10] = [0; 64 << 10];

/// Serves requests of one line over QUIC until `stop`, with quinn's default settings.
pub(super) fn quinn(
    at: SocketAddrV4,
    credentials: &Credentials,
    stop: &AtomicBool,
    priority: i32,
) -> Result<(), String> {
    be_on_time(priority).map_err(|need| need.to_string())?;
    let config = config(credentials)?;
    let mut ends = Ends::open((*at.ip(), at.port()), Some(config)).map_err(|error| error.to_string())?;
    let mut answers = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        let mut more = false;
        let acted = ends.act(|handle, connection| {
            while let Some(event) = connection.poll() {
                if let Event::ConnectionLost { .. } = event {
                    answers.retain(|(of, _), _| *of != handle);
                }
            }
            while let Some(stream) = connection.streams().accept(Dir::Bi) {
                answers.insert((handle, stream), Answer::Asked(vec![]));
            }
            answers.retain(|(of, stream), answer| {
                let state = if *of == handle { answer.go_on(connection, *stream) } else { State::Waits };
                more |= state == State::HasMore;
                state != State::Over
            });
        });
        let wait = if more { Duration::ZERO } else { LOOK };
        acted.and_then(|()| ends.wait(within(wait))).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn config(credentials: &Credentials) -> Result<ServerConfig, String> {
    let builder = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?;
    let certificate = CertificateDer::from(credentials.certificate.clone());
    let key = PrivatePkcs8KeyDer::from(credentials.key.clone());
    let mut tls = builder
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .map_err(|error| error.to_string())?;
    tls.alpn_protocols = vec![b"hq-interop".to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(|error| error.to_string())?;
    Ok(ServerConfig::with_crypto(Arc::new(tls)))
}

/// The state of a stream.
enum Answer {
    /// The request so far.
    Asked(Vec<u8>),
    /// Bytes that are left.
    Left(u64),
}

/// Next need of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The connection takes more at once.
    HasMore,
    /// Something must arrive.
    Waits,
    Over,
}

impl Answer {
    /// Reads what is there, and hands a chunk over.
    fn go_on(&mut self, connection: &mut Connection, stream: StreamId) -> State {
        if let Self::Asked(request) = self {
            let mut receiving = connection.recv_stream(stream);
            let Ok(mut chunks) = receiving.read(true) else { return State::Over };
            let ended = loop {
                match chunks.next(MOST_REQUEST) {
                    Ok(Some(chunk)) if request.len() < MOST_REQUEST => {
                        request.extend_from_slice(&chunk.bytes)
                    }
                    Ok(None) => break true,
                    Err(quinn_proto::ReadError::Blocked) => break false,
                    Ok(Some(_)) | Err(_) => return State::Over,
                }
            };
            let _ = chunks.finalize();
            if !ended {
                return State::Waits;
            }
            *self = Self::Left(asked(&String::from_utf8_lossy(request)).unwrap_or(0));
        }
        let Self::Left(left) = self else { return State::Waits };
        let mut sending = connection.send_stream(stream);
        let part = CHUNK.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        match sending.write(&CHUNK[..part]) {
            Ok(written) => *left -= written as u64,
            Err(quinn_proto::WriteError::Blocked) if *left > 0 => return State::Waits,
            Err(_) => return State::Over,
        }
        if *left > 0 {
            return State::HasMore;
        }
        let _ = sending.finish();
        State::Over
    }
}

/// Bytes that a request of the form `GET /12` asks for.
fn asked(line: &str) -> Option<u64> {
    line.trim_end().strip_prefix("GET /")?.split(' ').next()?.parse().ok()
}

/// Serves requests of HTTP/1.1 over the kernel's TCP until `stop`, one connection at a time.
pub(super) fn tcp(at: SocketAddrV4, stop: &AtomicBool, priority: i32) -> Result<(), String> {
    be_on_time(priority).map_err(|need| need.to_string())?;
    let serve = || -> io::Result<()> {
        let listener = TcpListener::bind(at)?;
        while !stop.load(Ordering::Relaxed) {
            if wait([&listener], LOOK)? == [true] {
                // A connection that ends early is the client's matter.
                let _ = answer(&listener.accept()?.0, stop);
            }
        }
        Ok(())
    };
    serve().map_err(|error| error.to_string())
}

fn answer(stream: &TcpStream, stop: &AtomicBool) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        while reader.buffer().is_empty() && wait([stream], LOOK)? == [false] {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        let mut request = String::new();
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut field = String::from("x");
        while !field.trim_end().is_empty() {
            field.clear();
            reader.read_line(&mut field)?;
        }
        let bytes = asked(&request).unwrap_or(0);
        // The first write has the header and a part of the body, so that the first segment is full.
        let mut first = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n").into_bytes();
        let part = |left: u64| &CHUNK[..CHUNK.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        first.extend_from_slice(part(bytes));
        (&*stream).write_all(&first)?;
        let mut left = bytes - part(bytes).len() as u64;
        while left > 0 {
            (&*stream).write_all(part(left))?;
            left -= part(left).len() as u64;
        }
    }
}
