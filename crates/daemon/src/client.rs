//! Requests to a running gateway over its socket.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::time::timeout;

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

/// A gateway's socket.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

impl Client {
    /// The gateway that serves this socket. Nothing is connected before the first request.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
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
            match timeout(PATIENCE, self.exchange(method, path, body)).await {
                Ok(answer) => answer,
                Err(_) => Err(self.failed(&format!("no answer within {} s", PATIENCE.as_secs()))),
            }
        })
    }

    async fn exchange(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Vec<u8>, Unanswered> {
        let stream = UnixStream::connect(&self.socket)
            .await
            .map_err(|error| Unanswered::NoGateway { socket: self.socket.clone(), error })?;
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

/// The reason in the body of a refusal.
fn reason(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(value.get("error")?.as_str()?.to_owned())
}
