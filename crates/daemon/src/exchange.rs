//! The exchange of observations with other gateways through a store, Redis or Valkey.
//!
//! A thread of its own talks to the store. The gateway's thread hands it the prefixes for which connections were reported, with
//! the own measurement, and takes the observations of others from it; neither waits. A store that does not answer within a
//! second is left alone for a while, and the gateway works with its own measurements.
//!
//! Each place of the store holds one signed record as a string with a time to live ([`Observation::places`]). It is read up to
//! the longest record and no further, and a turn ends when the store has sent more than its records can need.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{
    Acceptance, Keys, Known, LONGEST_RECORD, Observation, PLACES, Refused, Remote, Settings, Share, Signer,
};
use firstflight_paths::Prefix;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, Pipeline, Value,
};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::clock;
use crate::keys;
use crate::metrics::Metrics;
use crate::service::Trouble;
use crate::tls::Tls;

/// Time between two questions for a prefix. In this time the own measurement is published after one, two, four, eight and
/// so on reports.
const EVERY: Nanos = Nanos::from_secs(60);
/// Most prefixes in such a time.
const MOST: usize = 1 << 16;
/// Requests that wait for the store; with more, new ones are dropped.
const WAITING: usize = 4096;
/// Requests in one turn.
const BATCH: usize = 64;
/// Most bytes that the store may send in one turn: twice the longest records and what the protocol adds.
const TURN_BYTES: usize = 2 * BATCH * (PLACES + 1) * (LONGEST_RECORD + 64);
/// Longest wait for the store.
const ANSWER: Duration = Duration::from_secs(1);
/// First and longest time without a try, after the store has failed.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Time between two signs of life of this host in the store.
const ROLL: Duration = Duration::from_secs(5);
/// Time between two lines of the same kind about records and refusals of the store.
const SAID: Nanos = Nanos::from_secs(60);
/// Schemes of addresses of stores with TLS.
const ENCRYPTED: [&str; 2] = ["rediss://", "valkeys://"];
/// Time between two looks at the folder of the keys.
const KEYS: Duration = Duration::from_secs(60);

/// A store and the rules by which its records are taken.
#[derive(Clone, Debug)]
pub struct Sharing {
    share: Share,
    signer: Signer,
    keys: Keys,
    store: ConnectionInfo,
    /// Settings of TLS, if the connection to the store is encrypted.
    tls: Option<Tls>,
}

impl Sharing {
    /// Reads the keys and the address of the store.
    ///
    /// # Errors
    /// If a file of a key cannot be read, has none, or may be used by others, two hosts have the same key, the address is none, or the
    /// file of the authorities has none.
    pub fn open(share: &Share) -> Result<Self, Trouble> {
        let signer = keys::private("share.key_file", &share.key_file, &share.host)?;
        let keys = keys::of_hosts(&share.keys, &signer)?;
        let encrypted = ENCRYPTED.iter().find_map(|scheme| share.url.strip_prefix(scheme));
        let url = encrypted.map_or(share.url.clone(), |rest| format!("redis://{rest}"));
        // The address may hold a password, which no message shows.
        let store = url.as_str().into_connection_info();
        let store = store.map_err(|error| Trouble::of("share.url", Path::new(""), &error))?;
        let tls = match (encrypted, store.addr()) {
            (Some(_), ConnectionAddr::Tcp(host, _)) => {
                // An address of IPv6 stands in brackets.
                let host = host.trim_start_matches('[').trim_end_matches(']');
                Some(Tls::of(host, share.ca_file.as_deref())?)
            }
            _ => None,
        };
        Ok(Self { share: share.clone(), signer, keys, store, tls })
    }

    /// Address of the store, without user and password.
    pub(crate) fn place(&self) -> String {
        self.store.addr().to_string()
    }
}

/// A prefix for which a connection was reported.
#[derive(Debug)]
struct Seen {
    prefix: Prefix,
    /// Whether the observations of others are wanted.
    ask: bool,
    /// The own measurement, to be published.
    own: Option<Observation>,
}

/// A message of the thread of the store.
#[derive(Debug)]
pub(crate) enum News {
    /// An observation of another gateway.
    Remote(Remote),
    /// A record was refused.
    Refused(String),
    /// The store fails from now on.
    Away(String),
    /// The store answers from now on.
    Here,
    /// Something is wrong, and the exchange goes on.
    Trouble(String),
}

/// The end of the exchange in the gateway's thread. No call of it waits.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Prefixes of this minute, and their reports.
    seen: BTreeMap<Prefix, u32>,
    /// End of this minute.
    until: Nanos,
    here: Arc<AtomicBool>,
    to: mpsc::Sender<Seen>,
    from: mpsc::Receiver<News>,
    metrics: Arc<Metrics>,
    /// Keys of the other hosts.
    keys: Arc<Mutex<Keys>>,
    pub(crate) host: String,
    pub(crate) store: String,
    /// The newest reason why the store fails; [`None`] while it answers.
    pub(crate) why: Option<String>,
}

impl Exchange {
    /// An exchange and its thread's part.
    pub(crate) fn new(sharing: Sharing, settings: &Settings, metrics: Arc<Metrics>) -> (Self, Postman) {
        let (to, inbox) = mpsc::channel(WAITING);
        let (news, from) = mpsc::channel(WAITING);
        let here = Arc::new(AtomicBool::new(false));
        let keys = Arc::new(Mutex::new(sharing.keys.clone()));
        let exchange = Self {
            keys: Arc::clone(&keys),
            seen: BTreeMap::new(),
            until: Nanos::ZERO,
            here: Arc::clone(&here),
            to,
            from,
            metrics: Arc::clone(&metrics),
            host: sharing.share.host.clone(),
            store: sharing.place(),
            why: Some("not asked yet".to_owned()),
        };
        let postman = Postman {
            sharing,
            keys,
            looked: Instant::now(),
            bits: settings.bits,
            window: settings.window,
            metrics,
            here,
            inbox,
            news,
            known: Known::new(),
            said: BTreeMap::new(),
            nonce: format!("{:016x}", RandomState::new().hash_one(0)),
            rolled: false,
        };
        (exchange, postman)
    }

    /// Names of the hosts whose keys are known, each once.
    pub(crate) fn others(&self) -> Vec<String> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let names: BTreeSet<_> = keys.hosts().filter(|host| *host != self.host).map(str::to_owned).collect();
        names.into_iter().collect()
    }

    /// Notes a report of a connection to this prefix: asks for the observations of others, or publishes the own measurement.
    /// `own` measures, given the name of this host.
    pub(crate) fn saw(&mut self, now: Nanos, prefix: Prefix, own: impl FnOnce(&str) -> Option<Observation>) {
        if !self.here.load(Ordering::Relaxed) {
            return;
        }
        if now >= self.until || self.until.0 - now.0 > EVERY.0 {
            self.seen.clear();
            self.until = Nanos(now.0 + EVERY.0);
        }
        if let Some(reports) = self.seen.get_mut(&prefix) {
            *reports = reports.saturating_add(1);
            if reports.is_power_of_two()
                && let Some(own) = own(&self.host)
            {
                self.send(Seen { prefix, ask: false, own: Some(own) });
            }
        } else if self.seen.len() >= MOST {
            self.metrics.share_dropped.inc();
        } else if self.send(Seen { prefix, ask: true, own: own(&self.host) }) {
            self.seen.insert(prefix, 1);
        }
    }

    /// Hands a request to the other thread; answers whether there was room.
    fn send(&self, seen: Seen) -> bool {
        let sent = self.to.try_send(seen).is_ok();
        if !sent {
            self.metrics.share_dropped.inc();
        }
        sent
    }

    /// The next message, if there is one.
    pub(crate) fn news(&mut self) -> Option<News> {
        let news = self.from.try_recv().ok()?;
        match &news {
            News::Away(why) => {
                // Everything is asked and published anew when the store is back.
                self.seen.clear();
                self.why = Some(why.clone());
            }
            News::Here => self.why = None,
            News::Remote(_) | News::Refused(_) | News::Trouble(_) => {}
        }
        Some(news)
    }
}

/// The line of the decision log for a message.
pub(crate) fn line(news: &News, store: &str, at: Nanos) -> String {
    let (kind, text) = match news {
        News::Remote(Remote { observation, age, .. }) => {
            let segments = f64::from(observation.window) / 16.0;
            let (prefix, host) = (observation.prefix, &observation.host);
            let seconds = age.0 / 1_000_000_000;
            ("taken", format!("{prefix}: {host} measured {segments:.1} segments {seconds} s ago"))
        }
        News::Refused(why) => ("refused", why.clone()),
        News::Away(why) => ("away", format!("the store {store} fails: {why}; own measurements only")),
        News::Here => ("here", format!("the store {store} answers")),
        News::Trouble(why) => ("warning", why.clone()),
    };
    json!({ "at_ns": at.0, "share": kind, "text": text }).to_string()
}

/// The part of the exchange that talks to the store.
#[derive(Debug)]
pub(crate) struct Postman {
    sharing: Sharing,
    keys: Arc<Mutex<Keys>>,
    /// Time of the last look at the folder of the keys.
    looked: Instant,
    bits: (u8, u8),
    /// Largest first window of this gateway, segments.
    window: u32,
    metrics: Arc<Metrics>,
    here: Arc<AtomicBool>,
    inbox: mpsc::Receiver<Seen>,
    news: mpsc::Sender<News>,
    known: Known,
    /// Times of the last lines, by kind.
    said: BTreeMap<&'static str, Nanos>,
    /// A number that no other process has.
    nonce: String,
    /// Whether the number stands in the store.
    rolled: bool,
}

impl Postman {
    /// Works until `end` completes or the gateway's thread has ended.
    pub(crate) fn work(mut self, end: oneshot::Receiver<()>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            tokio::select! {
                () = self.exchange() => {}
                _ = end => {}
            }
        });
        // A name that is being looked up would hold it.
        runtime.shutdown_background();
        Ok(())
    }

    async fn exchange(&mut self) {
        let mut pause = PAUSE.0;
        // The reason of the last failure, which is stated once.
        let mut stated = String::new();
        loop {
            let why = match self.connect().await {
                Ok(mut store) => {
                    let since = Instant::now();
                    self.here.store(true, Ordering::Relaxed);
                    self.metrics.share_connected.set(1);
                    self.tell(News::Here);
                    stated.clear();
                    let Some(why) = self.serve(&mut store).await else { return };
                    // One that fails again and again at once is left alone for longer and longer, too.
                    if since.elapsed() > ROLL {
                        pause = PAUSE.0;
                    }
                    why
                }
                Err(why) => why,
            };
            self.here.store(false, Ordering::Relaxed);
            self.metrics.share_connected.set(0);
            self.metrics.share_failures.inc();
            if stated != why {
                stated.clone_from(&why);
                self.tell(News::Away(why));
            }
            // Requests that still wait are of no use later.
            while self.inbox.try_recv().is_ok() {
                self.metrics.share_dropped.inc();
            }
            sleep(pause).await;
            pause = (2 * pause).min(PAUSE.1);
        }
    }

    /// Sends a message, unless the gateway's thread is far behind.
    fn tell(&self, news: News) {
        let _ = self.news.try_send(news);
    }

    async fn connect(&mut self) -> Result<Store, String> {
        let opened = timeout(ANSWER, Store::open(&self.sharing)).await;
        let mut store = opened.unwrap_or_else(|_| Err(late()))?;
        self.roll(&mut store).await?;
        Ok(store)
    }

    /// Serves requests; answers with the failure of the store, or [`None`] at the end.
    async fn serve(&mut self, store: &mut Store) -> Option<String> {
        let mut batch = Vec::with_capacity(BATCH);
        let mut roll = Instant::now() + ROLL;
        loop {
            batch.clear();
            let wait = roll.saturating_duration_since(Instant::now());
            match timeout(wait, self.inbox.recv_many(&mut batch, BATCH)).await {
                Ok(0) => return None,
                Ok(_) => {
                    if let Err(why) = self.turn(store, &batch).await {
                        return Some(why);
                    }
                }
                Err(_) => {}
            }
            if Instant::now() >= roll {
                roll = Instant::now() + ROLL;
                if let Err(why) = self.roll(store).await {
                    return Some(why);
                }
                self.look();
            }
        }
    }

    /// Leaves the sign of life of this host, and looks whether another process leaves one under the same name.
    async fn roll(&mut self, store: &mut Store) -> Result<(), String> {
        let host = self.sharing.share.host.clone();
        let mut command = Pipeline::new();
        let life = 12 * ROLL.as_millis() as u64;
        let place = format!("firstflight:2:host:{host}");
        command.cmd("SET").arg(place).arg(&self.nonce).arg("PX").arg(life).arg("GET");
        let answer = store.ask(&command).await?;
        match answer.first() {
            Some(Value::ServerError(error)) => return Err(format!("it refuses: {error}")),
            Some(Value::BulkString(other)) if self.rolled && *other != self.nonce.as_bytes() => {
                let why = format!("two gateways share as {host:?}; expected a name of its own for each");
                self.trouble("name", why);
            }
            _ => {}
        }
        self.rolled = true;
        Ok(())
    }

    /// Reads the keys anew, once a minute: a host gets another key, or leaves, without a restart of the others.
    fn look(&mut self) {
        if self.looked.elapsed() < KEYS {
            return;
        }
        self.looked = Instant::now();
        match keys::of_hosts(&self.sharing.share.keys, &self.sharing.signer) {
            Ok(keys) => *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys,
            Err(error) => self.trouble("keys", format!("{error}; the keys stay as they were")),
        }
    }

    /// Publishes and asks for the prefixes of a batch.
    async fn turn(&mut self, store: &mut Store, batch: &[Seen]) -> Result<(), String> {
        let Sharing { share, signer, .. } = &self.sharing;
        let (now, most) = (clock::wall() / 1_000_000_000, share.max_age.0 / 1_000_000_000);
        let mut commands = Pipeline::new();
        for Seen { prefix, ask, own } in batch {
            if let Some(own) = own {
                // The place empties when the record is too old to be taken.
                let left = most.saturating_sub(now.saturating_sub(own.at)).max(1);
                commands.cmd("SET").arg(own.place()).arg(own.sign(signer)).arg("EX").arg(left);
            }
            if *ask {
                for place in Observation::places(prefix) {
                    commands.cmd("GETRANGE").arg(place).arg(0).arg(LONGEST_RECORD);
                }
            }
        }
        let mut answers = store.ask(&commands).await?.into_iter();
        for Seen { prefix, ask, own } in batch {
            if own.is_some() {
                match answers.next() {
                    Some(Value::ServerError(error)) => {
                        self.trouble("write", format!("the store refuses a record: {error}"));
                    }
                    _ => {
                        self.metrics.share_published.inc();
                    }
                }
            }
            for answer in answers.by_ref().take(if *ask { PLACES } else { 0 }) {
                match answer {
                    Value::BulkString(record) if record.is_empty() => {}
                    Value::BulkString(record) => self.judge(prefix, &record, now),
                    // The place holds something else than a string.
                    Value::ServerError(error) if error.code() == "WRONGTYPE" => {
                        self.refuse(&Refused::Unsigned)
                    }
                    Value::ServerError(error) => {
                        self.trouble("read", format!("the store refuses a question: {error}"));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Takes a record that was found in a place of `prefix`, or refuses it.
    fn judge(&mut self, prefix: &Prefix, record: &[u8], now: u64) {
        let accepted = {
            let share = &self.sharing.share;
            let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            let rules = Acceptance {
                keys: &keys,
                host: &share.host,
                bits: self.bits,
                window: self.window,
                now,
                max_age: share.max_age,
                weight: share.weight,
            };
            let record = std::str::from_utf8(record).map_err(|_| Refused::Unsigned);
            record.and_then(|record| Observation::accept(record, &rules))
        };
        let remote = match accepted {
            Ok(remote) => remote,
            // Its own place is among those that it reads.
            Err(Refused::Own(_)) => return,
            Err(why) => return self.refuse(&why),
        };
        let Ok(room) = self.news.try_reserve() else {
            self.metrics.share_dropped.inc();
            return;
        };
        match self.known.admit(prefix, &remote) {
            Ok(true) => {
                self.metrics.share_taken.inc();
                room.send(News::Remote(remote));
            }
            Ok(false) => {}
            Err(why) => {
                drop(room);
                self.refuse(&why);
            }
        }
    }

    fn refuse(&mut self, why: &Refused) {
        self.metrics.share_refused(why.label());
        if self.may_say(why.label()) {
            self.tell(News::Refused(why.to_string()));
        }
    }

    fn trouble(&mut self, kind: &'static str, why: String) {
        if self.may_say(kind) {
            self.tell(News::Trouble(why));
        }
    }

    /// Whether a line of this kind is due.
    fn may_say(&mut self, kind: &'static str) -> bool {
        let now = clock::since_boot();
        let due = self.said.get(kind).is_none_or(|said| now.0.abs_diff(said.0) >= SAID.0);
        if due {
            self.said.insert(kind, now);
        }
        due
    }
}

fn late() -> String {
    format!("no answer within {} s", ANSWER.as_secs())
}

/// A connection to the store.
struct Store {
    connection: MultiplexedConnection,
    driver: JoinHandle<()>,
    left: Arc<AtomicUsize>,
}

impl Drop for Store {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Store {
    async fn open(Sharing { store, tls, .. }: &Sharing) -> Result<Self, String> {
        let failed = |error: &dyn ToString| error.to_string();
        let stream: Box<dyn Wire> = match store.addr() {
            ConnectionAddr::Tcp(host, port) => {
                let plain =
                    TcpStream::connect((host.as_str(), *port)).await.map_err(|error| failed(&error))?;
                match tls {
                    Some(tls) => Box::new(tls.over(plain).await?),
                    None => Box::new(plain),
                }
            }
            ConnectionAddr::Unix(path) => {
                Box::new(UnixStream::connect(path).await.map_err(|error| failed(&error))?)
            }
            other => return Err(format!("{other} is no address that this program connects to")),
        };
        let left = Arc::new(AtomicUsize::new(TURN_BYTES));
        let stream = Bounded { stream, left: Arc::clone(&left) };
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(ANSWER));
        let settings = store.redis_settings().clone().set_skip_set_lib_name();
        let opened = MultiplexedConnection::new_with_config(&settings, stream, config).await;
        let (connection, driver) = opened.map_err(|error| failed(&error))?;
        Ok(Self { connection, driver: tokio::spawn(driver), left })
    }

    /// Sends commands; answers with one value for each.
    async fn ask(&mut self, commands: &Pipeline) -> Result<Vec<Value>, String> {
        self.left.store(TURN_BYTES, Ordering::Relaxed);
        let answers = self.connection.send_packed_commands(commands, 0, commands.len());
        match timeout(ANSWER, answers).await {
            Ok(answers) => {
                answers.map_err(|error| if error.is_timeout() { late() } else { error.to_string() })
            }
            Err(_) => Err(late()),
        }
    }
}

/// A stream of bytes in both directions.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Wire for S {}

/// A stream that fails when more than `left` bytes come.
struct Bounded {
    stream: Box<dyn Wire>,
    left: Arc<AtomicUsize>,
}

impl AsyncRead for Bounded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        let left = self.left.load(Ordering::Relaxed);
        let Some(left) = left.checked_sub(read) else {
            let why = format!("it sent more than {TURN_BYTES} bytes in one turn");
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
        };
        self.left.store(left, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Bounded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
