//! The way from a connection to its one request and answer: limits in time, places, and errors as JSON.
//!
//! A connection carries one request. What hyper itself would answer to bytes that are no request has an empty body; here
//! it becomes JSON.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Duration, Instant, sleep_until, timeout};

use crate::api::{self, Caller};
use crate::limits::{self, Owner, Place, Places};

/// Time without a try after the system had no descriptor for a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// A socket that takes connections.
pub(crate) trait Door: AsRawFd + Send + Sync + 'static {
    /// A connection as the system hands it over.
    type Raw: io::Write + Send;
    /// A connection of the runtime.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Takes a connection, without a wait.
    fn take(&self) -> io::Result<Self::Raw>;
    /// The runtime's form of a connection.
    fn stream(raw: Self::Raw) -> io::Result<Self::Stream>;
}

impl Door for std::os::unix::net::UnixListener {
    type Raw = std::os::unix::net::UnixStream;
    type Stream = UnixStream;

    fn take(&self) -> io::Result<Self::Raw> {
        let (raw, _) = self.accept()?;
        raw.set_nonblocking(true).map(|()| raw)
    }

    fn stream(raw: Self::Raw) -> io::Result<UnixStream> {
        UnixStream::from_std(raw)
    }
}

impl Door for std::net::TcpListener {
    type Raw = std::net::TcpStream;
    type Stream = TcpStream;

    fn take(&self) -> io::Result<Self::Raw> {
        let (raw, _) = self.accept()?;
        raw.set_nonblocking(true).map(|()| raw)
    }

    fn stream(raw: Self::Raw) -> io::Result<TcpStream> {
        TcpStream::from_std(raw)
    }
}

/// Takes connections for ever. `who` names the peer of one, and to whom its place counts.
///
/// # Errors
/// If the listener cannot be waited for.
pub(crate) async fn open<D: Door>(
    door: D,
    places: Places,
    routes: Router,
    who: impl Fn(&D::Raw) -> (Caller, Owner),
) -> io::Result<()> {
    // SAFETY: the two listeners of the standard library own one descriptor, which stays open and the same until they are dropped.
    let door = unsafe { AsyncFd::register_with_interest(door, Interest::READABLE)? };
    loop {
        let mut raw = match door.async_io(Interest::READABLE, D::take).await {
            Ok(raw) => raw,
            Err(error) => {
                // Of a connection that has ended nothing is to be done. Without a descriptor, one is free soon.
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            }
        };
        let (caller, owner) = who(&raw);
        match places.enter(owner) {
            Ok(place) => {
                if let Ok(stream) = D::stream(raw) {
                    tokio::spawn(attend(stream, (caller, owner), Arc::new(place), routes.clone()));
                }
            }
            // The peer's buffer is empty, so that this does not wait.
            Err(full) => drop(raw.write_all(&refusal(StatusCode::SERVICE_UNAVAILABLE, &full.to_string()))),
        }
    }
}

/// A refusal as bytes of HTTP.
fn refusal(status: StatusCode, why: &str) -> Vec<u8> {
    let body = json!({ "error": one_line(why) }).to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A text without breaks of lines.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(|char: char| char.is_control(), " ")
}

/// State that the two sides of a connection share.
#[derive(Debug, Default)]
struct Course {
    /// Whether the head of a request was read.
    begun: AtomicBool,
    /// Whether it may take longer: an administrator's, or one for everything learned.
    long: AtomicBool,
    /// Bytes of the answer that were written.
    written: AtomicUsize,
    /// The turn of a large answer.
    turn: Mutex<Option<api::Turn>>,
}

impl Course {
    fn limit(&self) -> Duration {
        match (self.begun.load(Ordering::Relaxed), self.long.load(Ordering::Relaxed)) {
            (false, _) => limits::HEAD_TIME,
            (true, false) => limits::WHOLE_TIME,
            (true, true) => limits::LONG_TIME,
        }
    }
}

/// Reads the request of a connection and writes its answer.
async fn attend<S>(stream: S, (caller, owner): (Caller, Owner), place: Arc<Place>, routes: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let course = Arc::new(Course::default());
    let io = Quiet { stream, course: Arc::clone(&course), said: vec![] };
    let routes = TowerToHyperService::new(routes);
    let service = {
        let (course, place) = (Arc::clone(&course), Arc::clone(&place));
        service_fn(move |mut request: Request<Incoming>| {
            course.begun.store(true, Ordering::Relaxed);
            let long = owner == Owner::Administrator || api::is_state(request.uri().path());
            course.long.store(long, Ordering::Relaxed);
            request.extensions_mut().insert(ConnectInfo(caller.clone()));
            request.extensions_mut().insert(Arc::clone(&place));
            let answer = routes.call(request);
            let course = Arc::clone(&course);
            Box::pin(async move {
                let mut answer: Result<Response, Infallible> = answer.await;
                if let Ok(answer) = &mut answer
                    && let Ok(mut turn) = course.turn.lock()
                {
                    *turn = answer.extensions_mut().remove();
                }
                answer
            })
        })
    };
    let mut connection = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(limits::HEAD)
        .max_headers(limits::LINES)
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(io), service);
    let since = Instant::now();
    let end = loop {
        let limit = course.limit();
        tokio::select! {
            end = std::future::poll_fn(|context| connection.poll_without_shutdown(context)) => break End::Of(end),
            () = place.left() => break End::Left,
            () = sleep_until(since + limit) => {
                if limit == course.limit() {
                    break End::Late(limit);
                }
            }
        }
    };
    let Quiet { stream, course, said } = connection.into_parts().io.into_inner();
    let begun = course.begun.load(Ordering::Relaxed);
    let error = match end {
        // It came without a byte, or has its answer.
        End::Of(Ok(())) => None,
        End::Of(Err(_)) if begun => None,
        End::Of(Err(error)) => Some(unreadable(&said, &error)),
        End::Left => Some((
            StatusCode::SERVICE_UNAVAILABLE,
            "this connection made room for a newer one: it sent no request, or did not read its answer"
                .to_owned(),
        )),
        End::Late(limit) => {
            let what = if begun { "no answer" } else { "no complete head of a request" };
            let status = if begun { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::REQUEST_TIMEOUT };
            Some((status, format!("{what} within {} s", limit.as_secs())))
        }
    };
    // An answer that was begun cannot become another one.
    let error = error.filter(|_| course.written.load(Ordering::Relaxed) == 0);
    let _ = timeout(limits::FAREWELL, farewell(stream, error)).await;
    drop(place);
}

/// End of the work on a connection.
enum End {
    Of(Result<(), hyper::Error>),
    Left,
    Late(Duration),
}

/// Status and reason for bytes that are no request; `said` is the beginning of hyper's own answer.
fn unreadable(said: &[u8], error: &hyper::Error) -> (StatusCode, String) {
    let status = said.get(9..12).and_then(|digits| StatusCode::from_bytes(digits).ok());
    let status = status.unwrap_or(StatusCode::BAD_REQUEST);
    let why = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG => {
            format!(
                "the head of the request is too large; expected at most {} bytes and {} lines",
                limits::HEAD,
                limits::LINES
            )
        }
        _ => format!("the request is not HTTP/1.1: {error}"),
    };
    (status, why)
}

/// Writes an error, if there is one, and waits for the end of what the peer sends: closed before that, a socket may lose the
/// answer.
async fn farewell(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    error: Option<(StatusCode, String)>,
) -> io::Result<()> {
    if let Some((status, why)) = error {
        stream.write_all(&refusal(status, &why)).await?;
    }
    stream.shutdown().await?;
    let mut rest = [0; 4096];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

/// A stream on which hyper is not heard before it has read a request.
struct Quiet<S> {
    stream: S,
    course: Arc<Course>,
    /// Bytes that were not sent.
    said: Vec<u8>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Quiet<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Quiet<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.course.begun.load(Ordering::Relaxed) {
            self.said.extend_from_slice(bytes);
            return Poll::Ready(Ok(bytes.len()));
        }
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = wrote {
            self.course.written.fetch_add(count, Ordering::Relaxed);
        }
        wrote
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
