//! HTTP and JSON on a Unix socket. Each request that needs the gateway is a message to its thread.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use firstflight_contract::Nanos;
use firstflight_gateway::{By, Rule, Transfer};
use firstflight_paths::Prefix;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::access::{Groups, Peer, Right};
use crate::audit::{self, CALLER, Denials};
use crate::canary::Act;
use crate::clock;
use crate::door;
use crate::limits::{self, Owner, Place, Places};
use crate::metrics::Metrics;
use crate::service::Trouble;

/// Path of plans for transfers.
pub(crate) const PLAN: &str = "/v1/plan";
/// Path of the state.
const EXPORT: &str = "/v1/export";
/// Path of a state that replaces the own one.
const IMPORT: &str = "/v1/import";
/// Path of observations that others bring, and, with an address behind it, of own ones.
pub(crate) const OBSERVATION: &str = "/v1/observation";
/// Prefixes in an answer for which the answers of others do not wait.
const FEW: usize = 100;
/// Time for the answers that are being made when the gateway ends.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

/// Whether the answer at a path is everything learned.
pub(crate) fn is_state(path: &str) -> bool {
    path == EXPORT
}

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
    /// Report of the canary.
    Canary,
    /// Begins, stops or forgets a canary.
    SetCanary(Act),
    /// An order that was refused for want of a right, for the audit log.
    Denied {
        /// The request.
        what: String,
        /// The refusal.
        why: String,
    },
}

impl Order {
    /// An order of the operator in words; [`None`] of a question.
    pub(crate) fn words(&self) -> Option<String> {
        // A prefix is any text until it is checked.
        let cut = |prefix: &str| prefix.chars().take(80).collect::<String>();
        let words = match self {
            Self::Status
            | Self::Orders
            | Self::Prefixes(_)
            | Self::Explain(_)
            | Self::Plan(..)
            | Self::Observation(_)
            | Self::Observed(_)
            | Self::Canary
            | Self::Export => return None,
            Self::Set { prefix, window } => format!("set {} {window}", cut(prefix)),
            Self::Freeze(prefix) => format!("freeze {}", cut(prefix)),
            Self::Off(Some(prefix)) => format!("off {}", cut(prefix)),
            Self::Off(None) => "off".to_owned(),
            Self::Release(Some(prefix)) => format!("release {}", cut(prefix)),
            Self::Release(None) => "release".to_owned(),
            Self::Import(bytes) => format!("import of {} bytes", bytes.len()),
            Self::Undo => "undo".to_owned(),
            Self::Reload => "reload".to_owned(),
            Self::SetCanary(act) => act.words(),
            Self::Denied { what, .. } => what.clone(),
        };
        Some(words)
    }

    /// One word for the kind of an order of the operator, for counts; [`None`] of a question.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        Some(match self {
            Self::Set { .. } => "set",
            Self::Freeze(_) => "freeze",
            Self::Off(_) => "off",
            Self::Release(_) => "release",
            Self::Import(_) => "import",
            Self::Undo => "undo",
            Self::Reload => "reload",
            Self::SetCanary(_) => "canary",
            Self::Denied { .. } => "denied",
            Self::Status
            | Self::Canary
            | Self::Orders
            | Self::Prefixes(_)
            | Self::Explain(_)
            | Self::Plan(..)
            | Self::Observation(_)
            | Self::Observed(_)
            | Self::Export => return None,
        })
    }

    /// Whether it is an order of the operator, which waits for no question.
    pub(crate) fn changes(&self) -> bool {
        self.kind().is_some()
    }
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

/// Listeners of the gateway. They are opened with the rights of the process that started it.
#[derive(Debug)]
pub struct Doors {
    own: std::os::unix::net::UnixListener,
    file: SocketFile,
    /// For other hosts.
    others: Option<std::net::TcpListener>,
    /// For those that read the metrics.
    metrics: Option<std::net::TcpListener>,
    /// User that started the gateway.
    starter: u32,
}

impl Doors {
    /// Listens on the socket, whose folder is made if it is missing, at the address for other hosts, and at that of the metrics. A socket
    /// file that no process serves is replaced.
    ///
    /// # Errors
    /// Another process serves the socket, its folder cannot be written, or an address is not of this host, or in use.
    pub fn open(
        socket: &Path,
        others: Option<SocketAddr>,
        metrics: Option<SocketAddr>,
    ) -> Result<Self, Trouble> {
        let trouble = |error| Trouble::of("the socket", socket, &error);
        limits::descriptors().map_err(trouble)?;
        let listen = |what: &'static str, at: SocketAddr| {
            let failed = |error| Trouble::of(what, Path::new(&at.to_string()), &error);
            let listener = std::net::TcpListener::bind(at).map_err(failed)?;
            listener.set_nonblocking(true).map_err(failed).map(|()| listener)
        };
        let others = others.map(|at| listen("the address of the site", at)).transpose()?;
        let metrics = metrics.map(|at| listen("the address of the metrics", at)).transpose()?;
        let own = Self::listen(socket).map_err(trouble)?;
        // SAFETY: geteuid has no conditions.
        let starter = unsafe { libc::geteuid() };
        Ok(Self { own, file: SocketFile(socket.to_owned()), others, metrics, starter })
    }

    fn listen(socket: &Path) -> io::Result<std::os::unix::net::UnixListener> {
        if std::os::unix::net::UnixStream::connect(socket).is_ok() {
            let why = format!("another gateway serves {}", socket.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
        }
        remove_socket(socket)?;
        if let Some(folder) = socket.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        }
        let listener = std::os::unix::net::UnixListener::bind(socket)?;
        // Every user may connect, so that one without rights gets an error that names them. Each request is checked.
        fs::set_permissions(socket, fs::Permissions::from_mode(0o666))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

/// The file of a socket, removed with the value. Where the daemon's user may not write, it stays; the next gateway replaces it.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = remove_socket(&self.0);
    }
}

/// The rights of the socket, and its way to the gateway's thread.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    /// Hosts that may ask by TCP; [`None`] without a site.
    pub(crate) hosts: Option<Vec<Prefix>>,
    pub(crate) groups: Groups,
    /// User that started the gateway, and has every right.
    pub(crate) starter: u32,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) orders: mpsc::Sender<Message>,
    /// Bound of the audit lines of refused orders.
    denials: Arc<Denials>,
    /// Largest import, bytes.
    pub(crate) import: usize,
    /// Turns of the questions: one at a time is with the gateway's thread, so that an order waits for no other.
    questions: Arc<Semaphore>,
    /// Turns of the answers and imports that may be large: one for administrators, one for all others.
    large: [Arc<Semaphore>; 2],
}

/// Origin of a request.
#[derive(Clone, Debug)]
pub(crate) enum Caller {
    /// A process of this host.
    Process(Peer, By),
    /// A process whose credentials the kernel did not state.
    Unknown,
    /// Another host.
    Host(IpAddr),
}

impl Api {
    pub(crate) fn new(
        doors: &Doors,
        hosts: Option<Vec<Prefix>>,
        groups: Groups,
        import: usize,
        metrics: Arc<Metrics>,
        orders: mpsc::Sender<Message>,
    ) -> Self {
        let one = || Arc::new(Semaphore::new(1));
        let (questions, large) = (one(), [one(), one()]);
        Self {
            hosts,
            groups,
            starter: doors.starter,
            metrics,
            orders,
            denials: Arc::default(),
            import,
            questions,
            large,
        }
    }

    /// Serves requests until `end` completes, then removes the socket file.
    pub(crate) async fn serve(self, doors: Doors, end: oneshot::Receiver<()>) -> io::Result<()> {
        let Doors { own, file, others, metrics, .. } = doors;
        // They take no place of those who give orders.
        let readers = Places::default();
        let reader = |raw: &std::net::TcpStream| {
            let address = address_of(raw);
            (Caller::Host(address), Owner::Stranger(address))
        };
        let (places, routes) = (Places::default(), self.clone().routes());
        let process = |raw: &std::os::unix::net::UnixStream| {
            let caller =
                Peer::of(raw).map_or(Caller::Unknown, |peer| Caller::Process(peer, audit::caller(raw)));
            let owner = self.owner(&caller);
            (caller, owner)
        };
        let host = |raw: &std::net::TcpStream| {
            let caller = Caller::Host(address_of(raw));
            let owner = self.owner(&caller);
            (caller, owner)
        };
        let read_only = Self::of_metrics(Arc::clone(&self.metrics));
        let result = tokio::select! {
            ended = door::open(own, places.clone(), routes.clone(), process) => ended,
            ended = async {
                match others {
                    Some(others) => door::open(others, places.clone(), routes, host).await,
                    None => std::future::pending().await,
                }
            } => ended,
            ended = async {
                match metrics {
                    Some(metrics) => door::open(metrics, readers, read_only, reader).await,
                    None => std::future::pending().await,
                }
            } => ended,
            _ = end => Ok(()),
        };
        // Before the next gateway can make its own.
        drop(file);
        let until = Instant::now() + LAST_ANSWERS;
        while places.taken_now() > 0 && Instant::now() < until {
            sleep(Duration::from_millis(5)).await;
        }
        result
    }

    /// The routes of those who read the metrics, and nothing else.
    fn of_metrics(counts: Arc<Metrics>) -> Router {
        Router::new()
            .route("/metrics", get(metrics))
            .fallback(|| async { refuse(StatusCode::NOT_FOUND, "no such path; expected /metrics") })
            .method_not_allowed_fallback(|request: Request| async move {
                let why = format!("{} is no method of this path; expected GET", request.method());
                refuse(StatusCode::METHOD_NOT_ALLOWED, &why)
            })
            .with_state(counts)
    }

    fn routes(self) -> Router {
        let routes = Router::new()
            .route("/metrics", get(metrics).with_state(Arc::clone(&self.metrics)))
            .route(
                "/v1/status",
                get(|State(api): State<Self>, request: Request| api.ask(request, Order::Status)),
            )
            .route("/v1/prefixes", get(prefixes))
            .route("/v1/explain/{address}", get(explain))
            .route(EXPORT, get(export))
            .route(PLAN, post(plan))
            .route("/v1/set", post(set))
            .route("/v1/freeze", post(freeze))
            .route("/v1/off", post(off))
            .route("/v1/release", post(release))
            .route(IMPORT, post(import))
            .route(
                "/v1/canary",
                get(|State(api): State<Self>, request: Request| api.ask(request, Order::Canary))
                    .post(|State(api): State<Self>, request: Request| order(api, request, Order::SetCanary)),
            )
            .route(
                "/v1/undo",
                post(|State(api): State<Self>, request: Request| api.ask(request, Order::Undo)),
            )
            .route(
                "/v1/orders",
                get(|State(api): State<Self>, request: Request| api.ask(request, Order::Orders)),
            )
            .route(
                "/v1/reload",
                post(|State(api): State<Self>, request: Request| api.ask(request, Order::Reload)),
            );
        let routes = match self.hosts {
            Some(_) => {
                routes.route(OBSERVATION, post(observed)).route("/v1/observation/{address}", get(observation))
            }
            None => routes,
        };
        routes
            .fallback(|| async { refuse(StatusCode::NOT_FOUND, "no such path; docs/gateway.md lists them") })
            .method_not_allowed_fallback(|request: Request| async move {
                let why =
                    format!("{} is no method of this path; docs/gateway.md lists them", request.method());
                refuse(StatusCode::METHOD_NOT_ALLOWED, &why)
            })
            .layer(middleware::from_fn_with_state(self.clone(), check_right))
            .with_state(self)
    }

    /// Peer to whom the place of a connection counts.
    fn owner(&self, caller: &Caller) -> Owner {
        match caller {
            Caller::Process(peer, _) if peer.may(Right::Change, self.starter, &self.groups) => {
                Owner::Administrator
            }
            Caller::Process(peer, _) => Owner::User(peer.user),
            Caller::Unknown => Owner::User(u32::MAX),
            Caller::Host(address) if self.has(*address) => Owner::Host(*address),
            Caller::Host(address) => Owner::Stranger(*address),
        }
    }

    /// Whether a host is one of the site.
    fn has(&self, address: IpAddr) -> bool {
        let own = Prefix::around(address, 128);
        self.hosts.iter().flatten().any(|hosts| hosts.contains(&own))
    }

    /// Hands an order to the gateway's thread and answers with what it says.
    async fn ask(self, request: Request, order: Order) -> Response {
        let place = request.extensions().get::<Arc<Place>>().cloned();
        let busy = |busy| place.iter().for_each(|place| place.busy(busy));
        busy(true);
        let answer = self.answer(order).await;
        busy(false);
        answer
    }

    async fn answer(self, order: Order) -> Response {
        // An export is made part by part beside other answers, and its client has a turn of its own.
        let turn = match order.changes() || order == Order::Export {
            true => None,
            false => Arc::clone(&self.questions).acquire_owned().await.ok(),
        };
        let (reply, answer) = oneshot::channel();
        let stopping = || refuse(StatusCode::SERVICE_UNAVAILABLE, "the gateway is stopping");
        if self.orders.send(Message { order, by: now(CALLER.try_with(By::clone)), reply }).is_err() {
            return stopping();
        }
        let answer = answer.await;
        drop(turn);
        match answer {
            Ok(Ok(Content::Json(value))) => Json(value).into_response(),
            Ok(Ok(Content::Bytes(bytes))) => {
                ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
            }
            Ok(Err(why)) => refuse(StatusCode::BAD_REQUEST, &why),
            Err(_) => stopping(),
        }
    }

    /// The turn of a large answer or an import; it is over when the answer is written.
    #[expect(clippy::result_large_err, reason = "the error is the answer to one request")]
    fn turn(&self, request: &Request) -> Result<OwnedSemaphorePermit, Response> {
        let caller = request.extensions().get::<ConnectInfo<Caller>>();
        let administrator = caller.is_some_and(|caller| self.owner(&caller.0) == Owner::Administrator);
        let turns = &self.large[usize::from(administrator)];
        Arc::clone(turns).try_acquire_owned().map_err(|_| {
            let why = "another export, import or list of more than 100 prefixes is under way; expected one at a time";
            refuse(StatusCode::SERVICE_UNAVAILABLE, why)
        })
    }
}

/// The turn of a large answer: the connection keeps it until the answer is written or given up.
pub(crate) type Turn = Arc<OwnedSemaphorePermit>;

fn with_turn(mut answer: Response, turn: OwnedSemaphorePermit) -> Response {
    answer.extensions_mut().insert::<Turn>(Arc::new(turn));
    answer
}

/// Address of a peer; the unspecified one if the connection has ended.
fn address_of(raw: &std::net::TcpStream) -> IpAddr {
    let none = IpAddr::from([0, 0, 0, 0]);
    raw.peer_addr().map_or(none, |peer| peer.ip().to_canonical())
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
    (status, Json(json!({ "error": door::one_line(why) }))).into_response()
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
        &Method::POST if path == OBSERVATION && api.hosts.is_some() => Right::Observe,
        _ => Right::Change,
    };
    let (may, who) = match &caller {
        Caller::Process(peer, _) => {
            (peer.may(needed, api.starter, &api.groups), format!("user {}", peer.user))
        }
        Caller::Unknown => (false, "a process without credentials".to_owned()),
        Caller::Host(address) => (api.has(*address) && needed != Right::Change, format!("host {address}")),
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

/// The body of a request, of at most `most` bytes.
async fn body(request: Request, most: usize, within: Duration) -> Result<(Request, Bytes), Response> {
    let (parts, body) = request.into_parts();
    let too_large = || {
        let why = format!("the body is too large; expected at most {most} bytes");
        refuse(StatusCode::PAYLOAD_TOO_LARGE, &why)
    };
    let length =
        parts.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: u64| length > most as u64) {
        return Err(too_large());
    }
    match timeout(within, Limited::new(body, most).collect()).await {
        Ok(Ok(bytes)) => Ok((Request::from_parts(parts, Body::empty()), bytes.to_bytes())),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(refuse(StatusCode::BAD_REQUEST, &format!("the body cannot be read: {error}"))),
        Err(_) => {
            let why = format!("no complete body within {} s", within.as_secs());
            Err(refuse(StatusCode::REQUEST_TIMEOUT, &why))
        }
    }
}

/// The JSON in the body of a request.
async fn json<T: DeserializeOwned>(request: Request) -> Result<(Request, T), Response> {
    let (request, bytes) = body(request, limits::BODY, limits::BODY_TIME).await?;
    let value = serde_json::from_slice(&bytes).map_err(|error| {
        refuse(StatusCode::BAD_REQUEST, &format!("the body is not the JSON that this path takes: {error}"))
    })?;
    Ok((request, value))
}

/// The metrics as OpenMetrics text, or in the older format for those who accept that one alone.
async fn metrics(State(counts): State<Arc<Metrics>>, request: Request) -> Response {
    let accept: Vec<_> =
        request.headers().get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let names = |kind: &str| accept.iter().any(|value| value.contains(kind));
    let (kind, text) = match names("text/plain") && !names("application/openmetrics-text") {
        true => ("text/plain; version=0.0.4; charset=utf-8", counts.plain()),
        false => ("application/openmetrics-text; version=1.0.0; charset=utf-8", counts.text()),
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

async fn prefixes(State(api): State<Api>, request: Request) -> Response {
    const USUAL: usize = 20;
    const MOST: usize = 10_000;
    let limit = match request.uri().query().map(|query| query.strip_prefix("limit=").map(str::parse)) {
        None => USUAL,
        Some(Some(Ok(limit))) => MOST.min(limit),
        Some(_) => {
            let why = "the query is not understood; expected limit=20, or another whole number";
            return refuse(StatusCode::BAD_REQUEST, why);
        }
    };
    if limit <= FEW {
        return api.ask(request, Order::Prefixes(limit)).await;
    }
    match api.turn(&request) {
        Ok(turn) => with_turn(api.ask(request, Order::Prefixes(limit)).await, turn),
        Err(refusal) => refusal,
    }
}

async fn export(State(api): State<Api>, request: Request) -> Response {
    match api.turn(&request) {
        Ok(turn) => with_turn(api.ask(request, Order::Export).await, turn),
        Err(refusal) => refusal,
    }
}

/// An address as text, or the answer that refuses it.
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

/// The address at the end of a path. No address has a character that a path escapes.
#[expect(clippy::result_large_err, reason = "the error is the answer to one request")]
fn last(request: &Request) -> Result<IpAddr, Response> {
    address(request.uri().path().rsplit('/').next().unwrap_or_default())
}

async fn explain(State(api): State<Api>, request: Request) -> Response {
    match last(&request) {
        Ok(address) => api.ask(request, Order::Explain(address)).await,
        Err(refusal) => refusal,
    }
}

async fn observation(State(api): State<Api>, request: Request) -> Response {
    match last(&request) {
        Ok(address) => api.ask(request, Order::Observation(address)).await,
        Err(refusal) => refusal,
    }
}

/// Reads the JSON of a request and hands the order made from it to the gateway's thread.
async fn order<T: DeserializeOwned>(api: Api, request: Request, make: impl FnOnce(T) -> Order) -> Response {
    match json(request).await {
        Ok((request, value)) => api.ask(request, make(value)).await,
        Err(refusal) => refusal,
    }
}

/// A signed observation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    record: String,
}

async fn observed(State(api): State<Api>, request: Request) -> Response {
    order(api, request, |Record { record }| Order::Observed(record)).await
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

async fn plan(State(api): State<Api>, request: Request) -> Response {
    let (request, planned) = match json(request).await {
        Ok(read) => read,
        Err(refusal) => return refusal,
    };
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
    api.ask(request, Order::Plan(Transfer { destination, bytes, mss, rule }, cookie)).await
}

/// A first window for a prefix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    prefix: String,
    window: u32,
}

async fn set(State(api): State<Api>, request: Request) -> Response {
    order(api, request, |Window { prefix, window }| Order::Set { prefix, window }).await
}

/// A prefix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    prefix: String,
}

async fn freeze(State(api): State<Api>, request: Request) -> Response {
    order(api, request, |One { prefix }| Order::Freeze(prefix)).await
}

/// A prefix, or all of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    prefix: Option<String>,
}

async fn off(State(api): State<Api>, request: Request) -> Response {
    order(api, request, |Chosen { prefix }| Order::Off(prefix)).await
}

async fn release(State(api): State<Api>, request: Request) -> Response {
    order(api, request, |Chosen { prefix }| Order::Release(prefix)).await
}

async fn import(State(api): State<Api>, request: Request) -> Response {
    let turn = match api.turn(&request) {
        Ok(turn) => turn,
        Err(refusal) => return refusal,
    };
    match body(request, api.import, limits::LONG_TIME).await {
        Ok((request, bytes)) => with_turn(api.ask(request, Order::Import(bytes.into())).await, turn),
        Err(refusal) => refusal,
    }
}
