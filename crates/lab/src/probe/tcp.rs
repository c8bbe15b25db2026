//! The TCP client of a probe: HTTP/1.1 (RFC 9112) on a connection of the kernel.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;

use super::ends::{now, within};
use super::{Around, Fetched};
use crate::clock::Clock;

/// Time after which a client looks whether its server has ended.
const LOOK: Duration = Duration::from_millis(50);
/// Most bytes of the header of a response.
const MOST_HEADER: usize = 16 << 10;

/// A client with one connection.
pub(super) struct Client {
    stream: TcpStream,
    port: u16,
    clock: Clock,
}

impl Client {
    /// Opens a connection to `to`.
    pub(super) fn connect(to: SocketAddr, clock: Clock) -> Result<Self, String> {
        let stream =
            TcpStream::connect_timeout(&to, Duration::from_secs(2)).map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        let port = stream.local_addr().map_err(|error| error.to_string())?.port();
        Ok(Self { stream, port, clock })
    }
}

impl super::Connection for Client {
    fn port(&self) -> u16 {
        self.port
    }

    fn fetch(&mut self, bytes: u64, limit: Duration, around: Around<'_>) -> Result<Fetched, String> {
        let until = within(limit);
        let request = format!("GET /{bytes} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let requested = Nanos(self.clock.now());
        (around.asks)();
        let mut progress = vec![];
        self.stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut buffer = vec![0; 256 << 10];
        let (mut header, mut left) = (vec![], None);
        while left != Some(0) {
            let time = until.saturating_duration_since(now());
            if time.is_zero() {
                return Err(format!("a response of {bytes} bytes took more than {} s", limit.as_secs()));
            }
            if around.over.load(Ordering::Relaxed) {
                return Err("the server ended".into());
            }
            self.stream.set_read_timeout(Some(time.min(LOOK))).map_err(|error| error.to_string())?;
            let read = match self.stream.read(&mut buffer) {
                Ok(0) => return Err(format!("the connection was closed within the response to /{bytes}")),
                Ok(read) => read,
                Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {
                    continue;
                }
                Err(error) => return Err(error.to_string()),
            };
            let rest = match left {
                Some(left) => body(left, read as u64)?,
                None => {
                    header.extend_from_slice(&buffer[..read]);
                    let Some(end) = header.windows(4).position(|four| four == b"\r\n\r\n") else {
                        if header.len() > MOST_HEADER {
                            return Err(format!("the header of the response to /{bytes} has no end"));
                        }
                        continue;
                    };
                    let length = length(&header[..end])?;
                    if length != bytes {
                        return Err(format!("the response to /{bytes} has {length} bytes; expected {bytes}"));
                    }
                    body(length, (header.len() - end - 4) as u64)?
                }
            };
            progress.push((Nanos(self.clock.now()), bytes - rest));
            left = Some(rest);
        }
        Ok(Fetched { requested, finished: Nanos(self.clock.now()), progress })
    }

    fn pause(&mut self, time: Duration) -> Result<(), String> {
        thread::sleep(time);
        Ok(())
    }

    fn close(self: Box<Self>) {}
}

/// Bytes of a body that are left after `read` bytes.
fn body(left: u64, read: u64) -> Result<u64, String> {
    left.checked_sub(read).ok_or_else(|| "a response has more bytes than its header states".into())
}

/// Length of the body by the header of a response with status 200.
fn length(header: &[u8]) -> Result<u64, String> {
    let text = String::from_utf8_lossy(header);
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(format!("the server answered \"{}\"; expected status 200", status.escape_debug()));
    }
    let field = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = field.and_then(|(_, value)| value.trim().parse().ok());
    length.ok_or_else(|| "the response has no Content-Length; expected one".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_states_the_length_of_its_body() {
        assert_eq!(length(b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-LENGTH: 42"), Ok(42));
        let wrong = |header: &str, part: &str| {
            let why = length(header.as_bytes()).expect_err("an error");
            assert!(why.contains(part), "{why}");
        };
        wrong("HTTP/1.1 404 Not Found\r\nContent-Length: 4", "404 Not Found");
        wrong("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "no Content-Length");
        assert_eq!((body(4, 4), body(4, 3)), (Ok(0), Ok(1)));
        assert!(body(4, 5).is_err());
    }
}
