//! HTTP and JSON on a Unix socket. Each request that needs the gateway is a message to its thread.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Json, Path as Part, Query, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::IncomingStream;
use axum::{Router, serve};
use firstflight_contract::Nanos;
use firstflight_gateway::{By, Rule, Transfer};
use firstflight_paths::Prefix;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::oneshot;

use crate::access::{Groups, Peer, Right};
use crate::audit::{self, CALLER, Denials};
use crate::clock;
use crate::metrics::Metrics;

/// Largest body of a request, bytes: an exported state of a million prefixes is smaller.
const LARGEST_BODY: usize = 1 << 30;

/// Path of plans for transfers.
pub(crate) const PLAN: &str = "/v1/plan";
/// Path of the state.
const EXPORT: &str = "/v1/export";
/// Path of observations that others bring, and, with an address behind it, of own ones.
pub(crate) const OBSERVATION: &str = "/v1/observation";

/// A question or an order to the gateway's thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// Mode, tiers, counts.
    Status,
    /// The prefixes with the most connections, at most this many.
    Prefixes(usize),
    /// Samples, estimate and plan for the prefix of an address, and the reasons.
    Explain(IpAddr),
    /// The start for a transfer, and the cookie of the socket that it is for.
    Plan(Transfer, Option<u64>),
    /// This gateway's measurement of the prefix of an address, signed.
    Observation(IpAddr),
    /// A signed observation of another gateway.
    Observed(String),
    /// Fixes the first window of a prefix, segments.
    Set {
        /// The prefix.
        prefix: String,
        /// First window, segments.
        window: u32,
    },
    /// Keeps the present plan of a prefix until it is released.
    Freeze(String),
    /// Starts the connections of a prefix as the stack does; of every prefix if there is none.
    Off(Option<String>),
    /// Ends `Set`, `Freeze` and `Off` of a prefix; of every prefix if there is none.
    Release(Option<String>),
    /// Everything learned, as the store keeps it.
    Export,
    /// Replaces everything learned.
    Import(Vec<u8>),
    /// Removes every plan and order, forgets nothing that was learned, and observes only.
    Undo,
    /// Every order with its origin.
    Orders,
    /// Reads the configuration again.
    Reload,
    /// An order that was refused for want of a right, for the audit log.
    Denied {
        /// The request.
        what: String,
        /// The refusal.
        why: String,
    },
}

/// An answer of the gateway's thread: JSON or bytes, or the reason of a refusal.
pub(crate) type Answer = Result<Content, String>;

/// Content of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// JSON.
    Json(Value),
    /// An exported state.
    Bytes(Vec<u8>),
}

/// A request on its way to the gateway's thread.
#[derive(Debug)]
pub(crate) struct Message {
    /// The order.
    pub(crate) order: Order,
    /// Process that gave it, and the time.
    pub(crate) by: By,
    /// Receiver of the answer.
    pub(crate) reply: oneshot::Sender<Answer>,
}

/// The socket, its rights, and its way to the gateway's thread.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) socket: PathBuf,
    /// Hosts that may ask by TCP.
    pub(crate) hosts: Vec<Prefix>,
    pub(crate) groups: Groups,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) orders: mpsc::Sender<Message>,
    pub(crate) denials: Arc<Denials>,
}

impl Connected<IncomingStream<'_, UnixListener>> for Caller {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        Peer::of(stream.io()).map_or(Self::Unknown, |peer| Self::Process(peer, audit::caller(stream.io())))
    }
}

impl Connected<IncomingStream<'_, TcpListener>> for Caller {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self::Host(stream.remote_addr().ip().to_canonical())
    }
}

/// Origin of a request.
#[derive(Clone, Debug)]
enum Caller {
    /// A process of this host.
    Process(Peer, By),
    /// A process whose credentials the kernel did not state.
    Unknown,
    /// Another host.
    Host(IpAddr),
}

impl Api {
    /// Listens on the socket. A socket file that no process serves is replaced.
    ///
    /// # Errors
    /// Another process serves the socket, or its folder cannot be written.
    pub(crate) async fn listen(&self) -> io::Result<UnixListener> {
        if UnixStream::connect(&self.socket).await.is_ok() {
            let why = format!("another gateway serves {}", self.socket.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
        }
        remove_socket(&self.socket)?;
        let listener = UnixListener::bind(&self.socket)?;
        // Every user may connect, so that one without rights gets an error that names them. Each request is checked.
        fs::set_permissions(&self.socket, fs::Permissions::from_mode(0o666))?;
        Ok(listener)
    }

    /// Listens at an address for other hosts.
    ///
    /// # Errors
    /// The address is not of this host, or in use.
    pub(crate) async fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
        TcpListener::bind(address).await
    }

    /// Serves requests, from other hosts too where there is a listener for them, until `end` completes, then removes the
    /// socket file.
    pub(crate) async fn serve(
        self,
        listener: UnixListener,
        others: Option<TcpListener>,
        end: oneshot::Receiver<()>,
    ) -> io::Result<()> {
        let socket = self.socket.clone();
        let routes = Router::new()
            .route("/metrics", get(metrics))
            .route("/v1/status", get(|api: State<Self>| api.0.ask(Order::Status)))
            .route("/v1/prefixes", get(prefixes))
            .route("/v1/explain/{address}", get(explain))
            .route(EXPORT, get(|api: State<Self>| api.0.ask(Order::Export)))
            .route(PLAN, post(plan))
            .route(OBSERVATION, post(observed))
            .route("/v1/observation/{address}", get(observation))
            .route("/v1/set", post(set))
            .route("/v1/freeze", post(freeze))
            .route("/v1/off", post(off))
            .route("/v1/release", post(release))
            .route("/v1/import", post(import))
            .route("/v1/undo", post(|api: State<Self>| api.0.ask(Order::Undo)))
            .route("/v1/orders", get(|api: State<Self>| api.0.ask(Order::Orders)))
            .route("/v1/reload", post(|api: State<Self>| api.0.ask(Order::Reload)))
            .fallback(|| async { refuse(StatusCode::NOT_FOUND, "no such path; docs/gateway.md lists them") })
            .layer(DefaultBodyLimit::max(LARGEST_BODY))
            .layer(middleware::from_fn_with_state(self.clone(), check_right))
            .with_state(self);
        if let Some(others) = others {
            let service = routes.clone().into_make_service_with_connect_info::<Caller>();
            // It ends with the runtime, which lives as long as this function.
            tokio::spawn(async move { serve(others, service).await });
        }
        let service = routes.into_make_service_with_connect_info::<Caller>();
        let done = async move {
            let _ = end.await;
        };
        let result = serve(listener, service).with_graceful_shutdown(done).await;
        remove_socket(&socket)?;
        result
    }

    async fn ask(self, order: Order) -> Response {
        let (reply, answer) = oneshot::channel();
        let stopping = || refuse(StatusCode::SERVICE_UNAVAILABLE, "the gateway is stopping");
        if self.orders.send(Message { order, by: now(CALLER.try_with(By::clone)), reply }).is_err() {
            return stopping();
        }
        match answer.await {
            Ok(Ok(Content::Json(value))) => Json(value).into_response(),
            Ok(Ok(Content::Bytes(bytes))) => {
                ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
            }
            Ok(Err(why)) => refuse(StatusCode::BAD_REQUEST, &why),
            Err(_) => stopping(),
        }
    }
}

/// Removes a socket file, and nothing else.
fn remove_socket(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    match fs::symlink_metadata(path) {
        Ok(data) if data.file_type().is_socket() => fs::remove_file(path),
        Ok(_) => {
            let why = format!("{} exists and is no socket", path.display());
            Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

/// GET needs the right to read, a plan and an observation their own, everything else the right to change. Another host may
/// ask, and bring observations, if it is one of the site.
async fn check_right(
    State(api): State<Api>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let needed = match request.method() {
        // A state holds everything, and may be a gigabyte.
        &Method::GET | &Method::HEAD if path != EXPORT || !matches!(caller, Caller::Host(_)) => Right::Read,
        &Method::POST if path == PLAN => Right::Plan,
        &Method::POST if path == OBSERVATION => Right::Observe,
        _ => Right::Change,
    };
    // SAFETY: geteuid has no conditions.
    let daemon = unsafe { libc::geteuid() };
    let (may, who) = match &caller {
        Caller::Process(peer, _) => (peer.may(needed, daemon, &api.groups), format!("user {}", peer.user)),
        Caller::Unknown => (false, "a process without credentials".to_owned()),
        Caller::Host(address) => {
            let own = Prefix::around(*address, 128);
            let of_site = api.hosts.iter().any(|hosts| hosts.contains(&own));
            (of_site && needed != Right::Change, format!("host {address}"))
        }
    };
    let by = match &caller {
        Caller::Process(_, by) => by.clone(),
        Caller::Unknown | Caller::Host(_) => By::default(),
    };
    if may {
        return CALLER.scope(by, next.run(request)).await;
    }
    let expected = match caller {
        Caller::Host(_) => {
            "a question, or an observation, from a host of the configuration's site.hosts".to_owned()
        }
        _ => format!("root or a member of the configuration's {}", needed.keys()),
    };
    let why = format!("{who} has no right to this; expected {expected}");
    if needed == Right::Change && api.denials.takes(by.uid, clock::wall()) {
        let what = format!("{} {}", request.method(), request.uri().path());
        let order = Order::Denied { what: what.chars().take(80).collect(), why: why.clone() };
        // Nobody waits for the answer.
        let (reply, _) = oneshot::channel();
        let _ = api.orders.send(Message { order, by: now(Ok::<_, ()>(by)), reply });
    }
    refuse(StatusCode::FORBIDDEN, &why)
}

/// A process, if it is known, that gives an order at this moment.
fn now<E>(by: Result<By, E>) -> By {
    By { at: Nanos(clock::wall()), ..by.unwrap_or_default() }
}

async fn metrics(State(api): State<Api>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], api.metrics.text()).into_response()
}

/// Number of prefixes in an answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Count {
    #[serde(default = "Count::usual")]
    limit: usize,
}

impl Count {
    fn usual() -> usize {
        20
    }
}

async fn prefixes(State(api): State<Api>, Query(count): Query<Count>) -> Response {
    api.ask(Order::Prefixes(count.limit.min(10_000))).await
}

/// The address in a path, or the answer that refuses it.
#[expect(clippy::result_large_err, reason = "the error is the answer to one request")]
fn address(text: &str) -> Result<IpAddr, Response> {
    let error = |_| {
        let shown: String = text.chars().take(80).collect();
        refuse(
            StatusCode::BAD_REQUEST,
            &format!("{shown:?} is no address; expected one as 192.0.2.7 or 2001:db8::7"),
        )
    };
    text.parse().map_err(error)
}

async fn explain(State(api): State<Api>, Part(text): Part<String>) -> Response {
    match address(&text) {
        Ok(address) => api.ask(Order::Explain(address)).await,
        Err(refusal) => refusal,
    }
}

async fn observation(State(api): State<Api>, Part(text): Part<String>) -> Response {
    match address(&text) {
        Ok(address) => api.ask(Order::Observation(address)).await,
        Err(refusal) => refusal,
    }
}

/// A signed observation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    record: String,
}

async fn observed(State(api): State<Api>, Json(Record { record }): Json<Record>) -> Response {
    api.ask(Order::Observed(record)).await
}

/// A transfer about to start.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Planned {
    destination: String,
    bytes: u64,
    #[serde(default = "Planned::usual_mss")]
    mss: u32,
    #[serde(default)]
    start: Start,
    cookie: Option<u64>,
}

/// Words of [`Rule`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Start {
    #[default]
    Optimal,
    Shifted,
}

impl Planned {
    /// Of Ethernet, with TCP's timestamps.
    fn usual_mss() -> u32 {
        1448
    }
}

async fn plan(State(api): State<Api>, Json(planned): Json<Planned>) -> Response {
    let Planned { destination, bytes, mss, start, cookie } = planned;
    let destination = match address(&destination) {
        Ok(address) => address,
        Err(refusal) => return refusal,
    };
    if bytes == 0 || !(1..=65_535).contains(&mss) {
        let why =
            format!("bytes = {bytes}, mss = {mss}; expected 1 or more bytes, and an mss from 1 to 65535");
        return refuse(StatusCode::BAD_REQUEST, &why);
    }
    let rule = match start {
        Start::Optimal => Rule::Optimal,
        Start::Shifted => Rule::Shifted,
    };
    api.ask(Order::Plan(Transfer { destination, bytes, mss, rule }, cookie)).await
}

/// A first window for a prefix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    prefix: String,
    window: u32,
}

async fn set(State(api): State<Api>, Json(Window { prefix, window }): Json<Window>) -> Response {
    api.ask(Order::Set { prefix, window }).await
}

/// A prefix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    prefix: String,
}

async fn freeze(State(api): State<Api>, Json(One { prefix }): Json<One>) -> Response {
    api.ask(Order::Freeze(prefix)).await
}

/// A prefix, or all of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    prefix: Option<String>,
}

async fn off(State(api): State<Api>, Json(Chosen { prefix }): Json<Chosen>) -> Response {
    api.ask(Order::Off(prefix)).await
}

async fn release(State(api): State<Api>, Json(Chosen { prefix }): Json<Chosen>) -> Response {
    api.ask(Order::Release(prefix)).await
}

async fn import(State(api): State<Api>, body: axum::body::Bytes) -> Response {
    api.ask(Order::Import(body.to_vec())).await
}
