//! Probes of real servers: programs in the near network of a cable, and a client in the far one.
//!
//! A probe fetches on connections of their own, one after another: a response of each of several sizes, then, for each of three silences, two
//! responses with that silence between them. The emulator notes every packet, and [`firstflight_probe::row()`] makes a row of the notes.

mod credentials;
mod ends;
mod files;
mod own;
mod program;
pub(crate) mod quic;
mod server;
mod stacks;
mod tcp;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_probe::{Identity, LOST, PathTerms, Response, Row, row, third_lost};
use firstflight_results::Validity;
use firstflight_scenario::{Network, Path, Scenario};

use crate::cable::{Broken, Cable, Numbered, Passed};
use crate::clock::Clock;
use crate::emulator::lateness::invalid;
use crate::host::ATTEMPTS;
use crate::realtime::{be_on_time, release_memory};
pub(crate) use credentials::Credentials;
pub use server::{Missing, Protocol, Server};
pub use stacks::{STACKS, Stack};

/// Bytes of the responses that are the first one of their connections.
const SIZES: [u64; 7] = [9_500, 12_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000];
/// Silences before a second response.
const SILENCES: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];
/// Bytes of the response before a silence, and of the one after it.
const AROUND_SILENCE: [u64; 2] = [1_000_000, 300_000];
/// Bytes of the response that loses its third data packet: two flights of a window of ten, so that its time has the window after the loss too.
const WITH_LOSS: u64 = 30_000;

/// Address of the server, and of the client.
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 87, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 87, 0, 2);
/// Port of the server.
const PORT: u16 = 8443;
/// Priority of the client's thread, below that of the emulator.
const PRIORITY: i32 = 10;
/// Time in which a server must answer for the first time.
const PATIENCE: Duration = Duration::from_secs(15);
/// Time of one attempt to reach it.
const ATTEMPT: Duration = Duration::from_secs(2);
/// Time beyond that of the bottleneck after which a response is given up.
const SLACK: Duration = Duration::from_secs(30);

/// Result of a probe.
#[derive(Clone, Debug)]
pub struct Probed {
    /// How the server sends.
    pub row: Row,
    /// How exact the emulator was.
    pub validity: Validity,
}

/// A response as its client saw it, times on the clock of the emulator.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    pub(crate) requested: Nanos,
    pub(crate) finished: Nanos,
    /// Bytes of the body that the client had in order, with their times.
    pub(crate) progress: Vec<(Nanos, u64)>,
}

/// Calls around a request.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// Called before the request leaves.
    pub(crate) asks: &'a dyn Fn(),
    /// Whether the server has ended, so that the client gives up.
    pub(crate) over: &'a AtomicBool,
}

/// A connection of a client to the server under test.
pub(crate) trait Connection {
    /// Port of the client.
    fn port(&self) -> u16;

    /// Asks for the file of `bytes`, whose name is that number, and reads it to its end, for at most `limit`.
    fn fetch(&mut self, bytes: u64, limit: Duration, around: Around<'_>) -> Result<Fetched, String>;

    /// Asks for nothing for a time.
    fn pause(&mut self, time: Duration) -> Result<(), String>;

    /// Closes the connection.
    fn close(self: Box<Self>);
}

/// A response with its connection.
struct Noted {
    port: u16,
    bytes: u64,
    fetched: Fetched,
    /// Silence before it.
    silence: Option<Nanos>,
    /// Whether the path lost its third data packet.
    loses: bool,
}

/// Probes `server` across the path of `scenario`, which has one flow; `terms` are its values for the row. A probe that was not on time is
/// repeated, at most twice.
///
/// # Errors
/// If the machine does not grant what a cable needs, the server does not answer as expected, or the machine was too busy.
pub fn probe(scenario: &Scenario, terms: &PathTerms, server: &Server) -> Result<Probed, Broken> {
    let credentials = Credentials::new().map_err(Broken)?;
    let mut reasons = vec![];
    for attempts in 1..=ATTEMPTS {
        let (noted, passed, validity) = attempt(scenario, server, &credentials)?;
        match invalid(&validity) {
            None => {
                let identity = Identity {
                    stack: server.name().into(),
                    version: server.version().into(),
                    protocol: server.protocol().word().into(),
                    path: terms.clone(),
                };
                let row = row_of(identity, &noted, &passed);
                return Ok(Probed { row, validity: Validity { attempts, ..validity } });
            }
            Some(why) => reasons.push(why),
        }
    }
    Err(Broken::busy(ATTEMPTS, &reasons))
}

fn attempt(
    scenario: &Scenario,
    server: &Server,
    credentials: &Credentials,
) -> Result<(Vec<Noted>, Vec<Passed>, Validity), Broken> {
    let Network::Dumbbell(path) = &scenario.network else {
        return Err(Broken("the scenario has a graph; expected [path], which the probe crosses".into()));
    };
    let mut scenario = scenario.clone();
    if let Network::Dumbbell(path) = &mut scenario.network {
        path.drop = [LOST].into();
    }
    let cable = Cable::lay_with(&scenario, &[NEAR], &[FAR], true)?;
    let stop = AtomicBool::new(false);
    let address = SocketAddrV4::new(NEAR, PORT);
    let noted = thread::scope(|scope| {
        let running = scope.spawn(|| {
            let ran = cable.near().run(|| server.run(address, &SIZES, credentials, &stop));
            let ran = ran.unwrap_or_else(|need| Err(format!("this machine does not grant {need}")));
            // The client gives up once the server has ended.
            let early = !stop.swap(true, Ordering::Relaxed);
            ran.and(if early { Err("the server ended".into()) } else { Ok(()) })
        });
        let client = Client {
            path,
            protocol: server.protocol(),
            clock: cable.clock(),
            numbered: cable.numbered(),
            stop: &stop,
        };
        let noted = cable.far().run(|| client.fetch_all());
        let ended = stop.swap(true, Ordering::Relaxed);
        let served = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (noted?, served) {
            // The client's error is the consequence.
            (_, Err(why)) if ended => Err(Broken(why)),
            (Ok(noted), Ok(())) => Ok(noted),
            (Err(why), _) | (_, Err(why)) => Err(Broken(why)),
        }
    });
    let cut = cable.cut_with();
    release_memory();
    let (emulated, passed) = cut?;
    Ok((noted?, passed, emulated.validity))
}

/// The client of an attempt.
struct Client<'a> {
    path: &'a Path,
    protocol: Protocol,
    clock: Clock,
    /// Connections whose data has numbers, so that the path loses some.
    numbered: &'a Numbered,
    /// Whether the server has ended.
    stop: &'a AtomicBool,
}

impl Client<'_> {
    /// All responses of a probe.
    fn fetch_all(&self) -> Result<Vec<Noted>, String> {
        be_on_time(PRIORITY).map_err(|need| need.to_string())?;
        self.reach()?;
        let mut noted = vec![];
        for bytes in SIZES {
            let mut connection = self.connect()?;
            let fetched = connection.fetch(bytes, self.limit(bytes), self.around(&|| {}))?;
            noted.push(Noted { port: connection.port(), bytes, fetched, silence: None, loses: false });
            self.rest(connection)?;
        }
        noted.push(self.fetch_with_loss()?);
        for silence in SILENCES {
            let mut connection = self.connect()?;
            let [before, after] = AROUND_SILENCE;
            connection.fetch(before, self.limit(before), self.around(&|| {}))?;
            connection.pause(silence)?;
            let fetched = connection.fetch(after, self.limit(after), self.around(&|| {}))?;
            let silence = Some(Nanos(silence.as_nanos() as u64));
            noted.push(Noted { port: connection.port(), bytes: after, fetched, silence, loses: false });
            self.rest(connection)?;
        }
        Ok(noted)
    }

    /// A response whose third data packet is lost.
    fn fetch_with_loss(&self) -> Result<Noted, String> {
        let mut connection = self.connect()?;
        let (port, bytes) = (connection.port(), WITH_LOSS);
        self.numbered.open(port, 0);
        let asks = || self.numbered.ask(port);
        let fetched = connection.fetch(bytes, self.limit(bytes), self.around(&asks))?;
        self.rest(connection)?;
        Ok(Noted { port, bytes, fetched, silence: None, loses: true })
    }

    /// Waits until the server answers.
    fn reach(&self) -> Result<(), String> {
        let begun = self.clock.now();
        loop {
            let answered = self.connect().and_then(|mut connection| {
                let answered = connection.fetch(SIZES[0], ATTEMPT, self.around(&|| {}));
                connection.close();
                answered
            });
            match answered {
                Ok(_) => return Ok(()),
                Err(_) if self.stop.load(Ordering::Relaxed) => return Err("the server ended".into()),
                Err(why) if self.clock.now() > begun + PATIENCE.as_nanos() as u64 => {
                    return Err(format!(
                        "no answer within {} s; the last attempt: {why}",
                        PATIENCE.as_secs()
                    ));
                }
                Err(_) => self.clock.sleep_until(self.clock.now() + 50_000_000, || false),
            }
        }
    }

    fn connect(&self) -> Result<Box<dyn Connection>, String> {
        let to = SocketAddr::from((NEAR, PORT));
        Ok(match self.protocol {
            Protocol::Quic => Box::new(quic::Client::connect(FAR, to, self.clock, None)?),
            Protocol::Tcp => Box::new(tcp::Client::connect(to, self.clock)?),
        })
    }

    fn around<'a>(&'a self, asks: &'a dyn Fn()) -> Around<'a> {
        Around { asks, over: self.stop }
    }

    /// Time after which a response is given up.
    fn limit(&self, bytes: u64) -> Duration {
        SLACK + Duration::from_secs_f64(4.0 * bytes as f64 * 8.0 / self.path.rate.0 as f64)
    }

    /// Closes a connection, and lets what is on its way arrive.
    fn rest(&self, connection: Box<dyn Connection>) -> Result<(), String> {
        connection.close();
        self.clock.sleep_until(self.clock.now() + 3 * self.path.rtt.0, || false);
        match self.stop.load(Ordering::Relaxed) {
            true => Err("the server ended".into()),
            false => Ok(()),
        }
    }
}

/// The row of what was noted.
fn row_of(identity: Identity, noted: &[Noted], passed: &[Passed]) -> Row {
    let response = |noted: &Noted| {
        let Noted { port, bytes, fetched: Fetched { requested, finished, .. }, .. } = *noted;
        let packets = passed
            .iter()
            .filter(|passed| passed.far_port == port)
            .map(|passed| passed.packet)
            .filter(|packet| (requested..=finished).contains(&packet.left));
        let packets: Vec<_> = packets.collect();
        let asks = packets.iter().find(|packet| !packet.from_server).and_then(|packet| packet.arrived);
        Response { bytes, requested, asked: asks.unwrap_or(requested), finished, packets }
    };
    let first = noted.iter().filter(|noted| noted.silence.is_none() && !noted.loses);
    let first: Vec<_> = first.map(response).collect();
    let whole = first.iter().find(|response| response.bytes == WITH_LOSS);
    let lossy = noted.iter().find(|noted| noted.loses).zip(whole);
    let lost = lossy.and_then(|(noted, whole)| third_lost(&response(noted), &noted.fetched.progress, whole));
    let after: Vec<_> = noted.iter().filter_map(|noted| Some((noted.silence?, response(noted)))).collect();
    Row { third_lost: lost, ..row(identity, &first, &after) }
}
