//! Requests to a running gateway over its socket.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firstflight_hooks::TRANSFER;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::api::PLAN;

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// No gateway serves the socket.
    #[error("no gateway serves {}: {error}; start one with `firstflight gateway run`", socket.display())]
    NoGateway {
        /// The socket.
        socket: PathBuf,
        /// The error of `connect`.
        error: io::Error,
    },
    /// The gateway refused.
    #[error("the gateway refused: {0}")]
    Refused(String),
    /// The connection failed.
    #[error("the gateway at {} gave no answer: {error}", socket.display())]
    Failed {
        /// The socket.
        socket: PathBuf,
        /// The reason.
        error: String,
    },
}

/// Start of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// By this plan, the answer to `POST /v1/plan`.
    Planned(Value),
    /// As the stack starts it, with the reason.
    Stock(String),
}

/// A gateway's socket.
#[derive(Clone, Debug)]
pub struct Client {
    /// Path, or address and port as text.
    socket: PathBuf,
    address: Option<SocketAddr>,
    patience: Duration,
}

impl Client {
    /// The gateway that serves this socket. Nothing is connected before the first request.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), address: None, patience: PATIENCE }
    }

    /// The gateway of another host, which serves this address (`site.listen` of its configuration). An answer is waited for at
    /// most this long.
    pub fn at(address: SocketAddr, patience: Duration) -> Self {
        Self { socket: address.to_string().into(), address: Some(address), patience }
    }

    /// The JSON at `path`, as `/v1/status`.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn get(&self, path: &str) -> Result<Value, Unanswered> {
        self.json(Method::GET, path, vec![])
    }

    /// The bytes at `path`, as `/v1/export` or `/metrics`.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn get_bytes(&self, path: &str) -> Result<Vec<u8>, Unanswered> {
        self.request(Method::GET, path, vec![])
    }

    /// Sends `body` to `path` and returns the answer.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, Unanswered> {
        self.json(Method::POST, path, body.to_string().into_bytes())
    }

    /// Sends bytes to `path` and returns the answer.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn post_bytes(&self, path: &str, body: Vec<u8>) -> Result<Value, Unanswered> {
        self.json(Method::POST, path, body)
    }

    /// Asks for the start of a transfer of `bytes` that is about to be written to this socket, and has it applied. Call it
    /// when nothing that was written before is still on its way, and before the first byte of the transfer: on a new
    /// connection or after an idle time. A socket whose plan is not applied starts as the stack starts it.
    ///
    /// # Errors
    /// [`Unanswered`]. The socket is as before.
    pub fn start(&self, socket: &TcpStream, bytes: u64, shifted: bool) -> Result<Start, Unanswered> {
        let failed = |error: io::Error| self.failed(&format!("the socket of the transfer: {error}"));
        let destination = socket.peer_addr().map_err(failed)?.ip().to_canonical();
        let cookie = rustix::net::sockopt::socket_cookie(socket).map_err(|error| failed(error.into()))?;
        let start = if shifted { "shifted" } else { "optimal" };
        let request = json!({
            "destination": destination.to_string(),
            "bytes": bytes,
            "mss": mss(socket).map_err(failed)?,
            "start": start,
            "cookie": cookie,
        });
        let answer = self.post(PLAN, &request)?;
        if answer["waits_for_socket"] != true {
            let why = [&answer["reason"], &answer["why_not_applied"]].into_iter().find_map(Value::as_str);
            return Ok(Start::Stock(why.unwrap_or("the gateway gave no plan").to_owned()));
        }
        match apply(socket) {
            Ok(()) => Ok(Start::Planned(answer)),
            Err(error) => Ok(Start::Stock(refusal(&error))),
        }
    }

    fn json(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Value, Unanswered> {
        let answer = self.request(method, path, body)?;
        serde_json::from_slice(&answer).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &dyn ToString) -> Unanswered {
        Unanswered::Failed { socket: self.socket.clone(), error: error.to_string() }
    }

    fn request(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Vec<u8>, Unanswered> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| self.failed(&error))?;
        runtime.block_on(async {
            match timeout(self.patience, self.connected(method, path, body)).await {
                Ok(answer) => answer,
                Err(_) => Err(self.failed(&format!("no answer within {} s", self.patience.as_secs()))),
            }
        })
    }

    async fn connected(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Vec<u8>, Unanswered> {
        let none = |error| Unanswered::NoGateway { socket: self.socket.clone(), error };
        match self.address {
            None => {
                let stream = connect(&self.socket, self.patience).map_err(none)?;
                let stream = UnixStream::from_std(stream).map_err(|error| self.failed(&error))?;
                self.exchange(stream, method, path, body).await
            }
            Some(address) => {
                let stream = tokio::net::TcpStream::connect(address).await.map_err(none)?;
                self.exchange(stream, method, path, body).await
            }
        }
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, Unanswered> {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.failed(&error))?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "gateway")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| self.failed(&error))?;
        let answer = sender.send_request(request).await.map_err(|error| self.failed(&error))?;
        let status = answer.status();
        let bytes = answer.into_body().collect().await.map_err(|error| self.failed(&error))?.to_bytes();
        match status {
            StatusCode::OK => Ok(bytes.to_vec()),
            status => Err(Unanswered::Refused(reason(&bytes).unwrap_or_else(|| status.to_string()))),
        }
    }
}

/// Connects, and waits for a place in the queue of the socket if many connect at the same time: without a wait, a full queue is
/// an error.
fn connect(path: &Path, patience: Duration) -> io::Result<std::os::unix::net::UnixStream> {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = std::os::unix::net::UnixStream::from(socket);
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Payload bytes of a full segment of a socket.
fn mss(socket: &TcpStream) -> io::Result<i32> {
    let (mut mss, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the descriptor is open while `socket` lives; the two places are writable and as long as stated.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_MAXSEG,
            (&raw mut mss).cast(),
            &raw mut length,
        )
    };
    if answer == 0 { Ok(mss) } else { Err(io::Error::last_os_error()) }
}

/// Has the plan of a socket applied.
fn apply(socket: &TcpStream) -> io::Result<()> {
    let value = 1_i32;
    // SAFETY: the descriptor is open while `socket` lives; the value has the length that is stated.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            TRANSFER,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel program's reason for an error number (`crates/hooks/bpf/transfer.h`).
fn refusal(error: &io::Error) -> String {
    let reason = match error.raw_os_error() {
        Some(libc::EBUSY) => "data that was written before is still on its way",
        Some(libc::EACCES) => "the kernel's program uses no plans at present",
        Some(libc::ENODATA) => "the plan is not for this connection",
        Some(libc::ETIME) => "the plan has expired",
        Some(libc::ECANCELED) => "the connection is held out, to measure the effect of the plans",
        Some(libc::ENOPROTOOPT) => "the socket is not in the cgroup of the gateway",
        _ => return error.to_string(),
    };
    reason.to_owned()
}

/// The reason in the body of a refusal.
fn reason(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(value.get("error")?.as_str()?.to_owned())
}
