//! The event loop between the two devices.
//!
//! The loop reads the devices, moves the network to the present, hands over what is due, and sleeps until the next event or
//! packet. It does not spin.

use std::io;
use std::time::Duration;

use firstflight_net::queue::dequeue::Ack;
use firstflight_results::Validity;
use firstflight_sim::config::Network as Config;
use firstflight_sim::outcome::LinkOutcome;

use super::lateness::Lateness;
use super::network::{Entry, Fate, Network};
use crate::header::mark;
use crate::realtime::be_on_time;
use crate::traffic::Start;
use crate::tun::{MTU, Tun, wait};

/// Priority of the emulator's thread: above every other of a run.
const PRIORITY: i32 = 20;
/// Packets read from a device, or handed over, before the loop looks elsewhere.
const BATCH: usize = 32;
/// Longest sleep, nanoseconds.
const LOOK: u64 = 50_000_000;
/// Buffers made before the run.
const BUFFERS: usize = 4_096;

/// Way of a packet through the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// Number of its path.
    pub(crate) path: u32,
    /// Whether queues may mark it.
    pub(crate) ecn_capable: bool,
    /// Number of the connection whose data it carries, if it carries data.
    pub(crate) data_of: Option<u32>,
    /// Acknowledgement of TCP without data.
    pub(crate) ack: Option<Ack>,
}

/// An observer of the packets of a run, which knows their ways. Times are nanoseconds since the start of the run.
pub(crate) trait Observer: Send {
    /// Facts about a packet that the observer needs later.
    type Note: Copy + Send;

    /// A packet was read from a device; `None` if it belongs to no flow of the run, and is ignored.
    fn came(&mut self, at: u64, packet: &[u8]) -> Option<(Way, Self::Note)>;

    /// A packet was handed over; it was due at `at`. The kernel has processed it.
    fn went(&mut self, at: u64, note: Self::Note);

    /// The network lost a packet.
    fn lost(&mut self, note: Self::Note);

    /// Time at which the run was over; `None` if it goes on.
    fn over(&self) -> Option<u64>;
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Emulated {
    /// End of the run, nanoseconds.
    pub(crate) end: u64,
    /// Results of every link.
    pub(crate) links: Vec<LinkOutcome>,
    /// Lateness and load.
    pub(crate) validity: Validity,
}

/// A packet on its way: its buffer, the device at its far end, and its note.
#[derive(Clone, Copy)]
struct Load<N> {
    buffer: u32,
    to: u8,
    note: N,
}

struct Buffers {
    bytes: Vec<([u8; MTU], usize)>,
    free: Vec<u32>,
}

impl Buffers {
    fn new() -> Self {
        Self { bytes: vec![([0; MTU], 0); BUFFERS], free: (0..BUFFERS as u32).collect() }
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let number = self.bytes.len() as u32;
            self.bytes.push(([0; MTU], 0));
            number
        })
    }
}

/// Waits for the start, and carries the packets of two devices over the links of `config` until the run is over or its time
/// has come.
/// The calling thread becomes a real-time thread.
///
/// # Errors
/// If the kernel does not grant real time, or a device fails.
pub(crate) fn emulate<O: Observer>(
    config: &Config,
    tuns: [&Tun; 2],
    start: &Start,
    observer: &mut O,
) -> io::Result<Emulated> {
    let mut network = Network::<Load<O::Note>>::new(config);
    let mut buffers = Buffers::new();
    let mut lateness = Lateness::new();
    let on_time = be_on_time(PRIORITY).map_err(io::Error::other);
    let Some(clock) = start.wait() else { return Err(io::Error::other("the run was called off")) };
    on_time?;
    let mut begun = None;
    let mut ready = [true; 2];
    let end = loop {
        for (side, tun) in tuns.into_iter().enumerate().filter(|&(side, _)| ready[side]) {
            for _ in 0..BATCH {
                let buffer = buffers.take();
                let (bytes, length) = &mut buffers.bytes[buffer as usize];
                let read = tun.receive(bytes)?.map(<[u8]>::len);
                let at = clock.now();
                let way = read.and_then(|read| {
                    *length = read;
                    observer.came(at, &bytes[..read])
                });
                let Some((Way { path, ecn_capable, data_of, ack }, note)) = way else {
                    buffers.free.push(buffer);
                    if read.is_none() {
                        break;
                    }
                    continue;
                };
                let load = Load { buffer, to: 1 - side as u8, note };
                network.enter(at, Entry { path, size: *length as u32, ecn_capable, data_of, ack, load });
            }
        }
        let now = clock.now().min(config.end.0);
        if now > 0 && begun.is_none() {
            begun = Some(processor_time());
        }
        for _ in 0..BATCH {
            let Some((at, Load { buffer, to, note }, fate)) = network.advance(now) else { break };
            match fate {
                Fate::Lost => observer.lost(note),
                Fate::Arrived { marked } => {
                    let (bytes, length) = &mut buffers.bytes[buffer as usize];
                    if marked {
                        mark(&mut bytes[..*length]);
                    }
                    lateness.note(clock.now().saturating_sub(at));
                    tuns[usize::from(to)].send(&bytes[..*length])?;
                    observer.went(at, note);
                }
            }
            buffers.free.push(buffer);
        }
        if let Some(at) = observer.over() {
            break at;
        }
        if now >= config.end.0 {
            break now;
        }
        let next = network.next().unwrap_or(u64::MAX).min(config.end.0);
        let sleep = next.saturating_sub(clock.now()).min(LOOK);
        ready = wait(tuns, Duration::from_nanos(sleep))?;
    };
    // A thread's processor time does not fall.
    let used = begun.map_or(0, |begun| processor_time().saturating_sub(begun));
    let share = used as f64 / clock.now().max(1) as f64;
    Ok(Emulated { end, links: network.outcomes(end), validity: lateness.validity(share) })
}

/// Processor time of the calling thread, nanoseconds.
fn processor_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place outlives the call, which every Linux answers for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
