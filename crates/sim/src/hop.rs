//! Links and sources of a configuration, with their queues and random streams. The engine and the emulator build them here,
//! so that a configuration and a seed mean the same bottleneck in both.

use crate::config::{LinkConfig, LinkKind, UdpConfig};
use firstflight_net::chosen::Chosen;
use firstflight_net::dequeue_link::DequeueLink;
use firstflight_net::lanes::Lanes;
use firstflight_net::link::Link;
use firstflight_net::queue::Site;
use firstflight_net::rate_trace::TracePlayer;
use firstflight_net::serialisation::Serialisation;
use firstflight_net::shaper::Shaper;
use firstflight_random::Stream;
use std::sync::Arc;

/// Random stream of a link for the purpose `what`.
fn stream(link: &LinkConfig, seed: u64, what: &str) -> Stream {
    Stream::named(seed, &format!("{what} {}", link.name))
}

/// Creates a link with its queue, or without one if the queue decides at dequeue time.
pub fn link(link: &LinkConfig, seed: u64) -> Link {
    // Every key of a link is named, so that none is passed over.
    let LinkConfig { name: _, rate, delay, ref kind } = *link;
    let LinkKind { ref trace, queue, shaper, loss, loss_burst, ref drop, lanes, read_at: _ } = **kind;
    let stream = |what: &str| stream(link, seed, what);
    let queue = queue.on_arrival(&Site { rate, stream: &stream });
    let built = Link::new(rate, delay, queue);
    let built = match loss > 0.0 {
        true => built.with_loss(loss, loss_burst, stream("loss")),
        false => built,
    };
    let built = match drop.is_empty() {
        true => built,
        false => built.with_chosen(Chosen::new(Arc::clone(drop))),
    };
    let built = match trace {
        Some(trace) => built.with_trace(TracePlayer::new(Arc::clone(trace))),
        None => built,
    };
    let built = match shaper {
        Some(config) => built.with_shaper(Shaper::new(config)),
        None => built,
    };
    let built = match lanes {
        Some(config) => built.with_lanes(Lanes::new(config, stream("lanes"))),
        None => built,
    };
    // Readings of a dequeue-time link are taken by its `DequeueLink`.
    if link.queue.decides_at_dequeue() { built } else { built.with_readings(read_at(link)) }
}

/// Creates a link whose queue decides at dequeue time; `None` if the queue decides on arrival.
pub fn dequeue_link<T: Copy>(config: &LinkConfig, seed: u64) -> Option<DequeueLink<T>> {
    let stream = |what: &str| stream(config, seed, what);
    let queue = config.queue.at_dequeue(&Site { rate: config.rate, stream: &stream })?;
    Some(DequeueLink::new(link(config, seed), queue).with_readings(read_at(config)))
}

/// Reading times of a link, nanoseconds.
fn read_at(link: &LinkConfig) -> Vec<u64> {
    link.read_at.iter().map(|at| at.0).collect()
}

/// Times at which a constant-rate source sends.
#[derive(Clone, Debug)]
pub struct Source {
    /// The source as a link that is never idle while on: a packet leaves when the one before has been transmitted.
    pace: Serialisation,
    size: u32,
    on: Vec<(u64, u64)>,
    period: usize,
}

impl Source {
    /// A source that has sent nothing.
    pub fn new(config: &UdpConfig) -> Self {
        Self {
            pace: Serialisation::at(config.rate),
            size: config.size.into(),
            on: config.on.iter().map(|(from, until)| (from.0, until.0)).collect(),
            period: 0,
        }
    }

    /// Bytes of a packet on the wire.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Time of the first packet, nanoseconds; `None` if the source is never on.
    pub fn first(&self) -> Option<u64> {
        self.on.first().map(|on| on.0)
    }

    /// Time of the packet after the one sent at `at`, nanoseconds; `None` after the last.
    pub fn after(&mut self, at: u64) -> Option<u64> {
        let next = self.pace.after(at, self.size);
        if next < self.on[self.period].1 {
            return Some(next);
        }
        self.period += 1;
        self.on.get(self.period).map(|on| on.0)
    }
}
