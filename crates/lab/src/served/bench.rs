//! One run: a server in the near network, and a client for each flow in the far one, across the emulated links.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_hosts::network::Built;

use super::Served;
use crate::cable::{Broken, Cable, Passed, Slack};
use crate::clock::Clock;
use crate::emulator::realtime::Emulated;
use crate::probe::{Around, Connection as _, Credentials, quic};
use crate::realtime::{be_on_time, release_memory};
use crate::tun::Tun;

/// Address of the server, and of the clients.
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 2);
/// Port of the server.
const PORT: u16 = 8443;
/// Priority of the clients' threads, below that of the emulator.
const PRIORITY: i32 = 10;
/// Time in which a server must answer for the first time, and that of one attempt, nanoseconds.
const PATIENCE: u64 = 15_000_000_000;
const ATTEMPT: Duration = Duration::from_secs(2);
/// Longest time for which the client delays an acknowledgement (RFC 9000 section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// A flow as its client saw it, times on the clock of the run.
pub(super) struct Fetching {
    /// Port of the client, if it began.
    pub(super) port: Option<u16>,
    pub(super) bytes: u64,
    pub(super) requested: Option<Nanos>,
    pub(super) finished: Option<Nanos>,
    /// Bytes of the body that the client had in order, with their times.
    pub(super) progress: Vec<(Nanos, u64)>,
}

/// One run.
pub(super) struct Ran {
    pub(super) emulated: Emulated,
    pub(super) passed: Vec<Passed>,
    pub(super) flows: Vec<Fetching>,
}

/// A flow of a plan.
pub(super) struct Planned {
    pub(super) bytes: u64,
    /// Window of the client's stream; `None` is that of a probe.
    pub(super) window: Option<u64>,
}

/// Makes one run.
pub(super) fn run(served: &Served, built: &Built, flows: &[Planned]) -> Result<Ran, Broken> {
    let credentials = Credentials::new().map_err(Broken)?;
    let mut sizes: Vec<u64> = flows.iter().map(|flow| flow.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let slack = Slack::of(built.network.clone(), &[NEAR], &[FAR])?;
    Tun::set_loopback(slack.near())?;
    let near = Arc::clone(slack.near());
    let (over, address) = (AtomicBool::new(false), SocketAddrV4::new(NEAR, PORT));
    let (fetched, served) = thread::scope(|scope| {
        let running = scope.spawn(|| {
            let ran = near.run(|| served.server.run(address, &sizes, &credentials, &over));
            let ran = ran.unwrap_or_else(|need| Err(format!("this machine does not grant {need}")));
            // The clients give up once the server has ended.
            let early = !over.swap(true, Ordering::Relaxed);
            ran.and(if early { Err("the server ended".into()) } else { Ok(()) })
        });
        let fetched = near
            .run(|| reach(sizes[0], &over))
            .map_err(Broken::from)
            .and_then(|reached| reached.map_err(Broken))
            .and_then(|()| fetch_all(slack, built, flows, &over));
        let ended = over.swap(true, Ordering::Relaxed);
        let served = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (fetched, if ended { served } else { Ok(()) })
    });
    // The server has ended before its network goes.
    let cut = fetched.map(|(cable, flows)| (cable.cut_with(), flows));
    release_memory();
    // The error of a client is the consequence of the server's.
    served.map_err(Broken)?;
    let (cut, flows) = cut?;
    let (emulated, passed) = cut?;
    let flows = flows.into_iter().collect::<Result<_, _>>().map_err(Broken)?;
    Ok(Ran { emulated, passed, flows })
}

/// Waits until the server answers, within its own network.
fn reach(bytes: u64, over: &AtomicBool) -> Result<(), String> {
    let clock = Clock::starting_in(0);
    loop {
        let around = Around { asks: &|| {}, over };
        let answered =
            quic::Client::connect(NEAR, (NEAR, PORT).into(), clock, None).and_then(|mut client| {
                let answered = client.fetch(bytes, ATTEMPT, around);
                Box::new(client).close();
                answered
            });
        match answered {
            Ok(_) => return Ok(()),
            Err(_) if over.load(Ordering::Relaxed) => return Err("the server ended".into()),
            Err(why) if clock.now() > PATIENCE => {
                return Err(format!(
                    "no answer within {} s; the last attempt: {why}",
                    PATIENCE / 1_000_000_000
                ));
            }
            Err(_) => clock.sleep_until(clock.now() + 50_000_000, || over.load(Ordering::Relaxed)),
        }
    }
}

/// Starts the emulator, and lets the client of each flow fetch.
fn fetch_all(
    slack: Slack,
    built: &Built,
    planned: &[Planned],
    over: &AtomicBool,
) -> Result<(Cable, Vec<Result<Fetching, String>>), Broken> {
    let cable = slack.tighten(true)?;
    let network = &built.network;
    let flows: Vec<Result<Fetching, String>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(planned)
            .zip(&network.flows)
            .map(|((number, planned), config)| {
                let start = config.app.start;
                let cable = &cable;
                let client = FlowClient { cable, planned, number, start, end: network.end.0, over };
                scope.spawn(move || cable.far().run(|| client.fetch()))
            })
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended.unwrap_or_else(|need| Err(format!("this machine does not grant {need}")))
        });
        ended.collect()
    });
    if !network.until_finished {
        cable.clock().sleep_until(network.end.0, || over.load(Ordering::Relaxed));
    }
    Ok((cable, flows))
}

/// The client of a flow.
struct FlowClient<'a> {
    cable: &'a Cable,
    planned: &'a Planned,
    number: u32,
    /// Times at which it begins, and at which the run ends at the latest, nanoseconds.
    start: u64,
    end: u64,
    over: &'a AtomicBool,
}

impl FlowClient<'_> {
    fn fetch(&self) -> Result<Fetching, String> {
        let Self { cable, planned: &Planned { bytes, window }, number, start, end, over } = *self;
        be_on_time(PRIORITY).map_err(|need| need.to_string())?;
        let clock = cable.clock();
        let mut fetching = Fetching { port: None, bytes, requested: None, finished: None, progress: vec![] };
        clock.sleep_until(start.min(end), || over.load(Ordering::Relaxed));
        if start >= end || over.load(Ordering::Relaxed) {
            return Ok(fetching);
        }
        let to = SocketAddr::from((NEAR, PORT));
        let mut client = quic::Client::connect(FAR, to, clock, window)?;
        let port = client.port();
        fetching.port = Some(port);
        cable.numbered().open(port, number);
        let limit = Duration::from_nanos(end.saturating_sub(clock.now()));
        let around = Around { asks: &|| cable.numbered().ask(port), over };
        let fetched = client.fetch(bytes, limit, around);
        (fetching.requested, fetching.progress) = client.noted();
        match fetched {
            Ok(fetched) => fetching.finished = Some(fetched.finished),
            // A transfer may be longer than the run.
            Err(_) if clock.now() >= end => return Ok(fetching),
            Err(why) => return Err(why),
        }
        // Packets on their way arrive, and the last ones are acknowledged.
        client.pause(2 * client.rtt() + MAX_ACK_DELAY)?;
        Box::new(client).close();
        Ok(fetching)
    }
}
