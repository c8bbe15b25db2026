//! A path between two sockets of this machine's kernel, each in a network namespace of its own. It delays, drops, marks and
//! holds packets back.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use firstflight_lab::{Need, Netns, Tun};

pub(crate) const SENDER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(crate) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// A bottleneck from the sender to the receiver, which treats packets in one way after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// Bits per second.
    pub(crate) rate: u64,
    /// Round-trip time without queueing.
    pub(crate) rtt: Duration,
    /// Bytes.
    pub(crate) queue: usize,
    /// Treatments and their lengths; the first follows the last.
    pub(crate) treatments: &'static [(Treatment, Duration)],
}

/// Treatment of packets besides queueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Nothing.
    Queue,
    /// Packets that find this many bytes in the queue are marked (RFC 3168).
    Mark(usize),
    /// One packet of so many is lost, at random.
    Lose(u64),
    /// Packets wait: a timeout fires though nothing is lost.
    Hold,
    /// Every packet is lost.
    Fail,
}

impl Conditions {
    fn treatment(&self, since: Duration) -> Treatment {
        let whole: Duration = self.treatments.iter().map(|(_, length)| *length).sum();
        let mut left = Duration::from_nanos((since.as_nanos() % whole.as_nanos()) as u64);
        for (treatment, length) in self.treatments {
            if left < *length {
                return *treatment;
            }
            left -= *length;
        }
        Treatment::Queue
    }
}

pub(crate) struct Path {
    pub(crate) sender: Netns,
    pub(crate) receiver: Netns,
    near: Tun,
    far: Tun,
}

impl Path {
    pub(crate) fn new() -> Result<Self, Need> {
        let (sender, receiver) = (Netns::new()?, Netns::new()?);
        for netns in [&sender, &receiver] {
            netns.set_ipv4("tcp_no_metrics_save", "1")?;
            netns.set_ipv4("tcp_ecn", "1")?;
        }
        let near = Tun::open(&sender, SENDER)?;
        let far = Tun::open(&receiver, RECEIVER)?;
        Ok(Self { sender, receiver, near, far })
    }

    /// Carries packets until `over`.
    pub(crate) fn carry(&self, conditions: Conditions, seed: u64, over: &AtomicBool) -> io::Result<()> {
        let mut buffer = [0; 1500];
        let mut random = seed | 1;
        let begun = Instant::now();
        let mut link_free = begun;
        let mut forth: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
        let mut back: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
        while !over.load(Ordering::Relaxed) {
            let treatment = conditions.treatment(begun.elapsed());
            while let Some(packet) = self.near.receive(&mut buffer)? {
                let now = Instant::now();
                let wait = link_free.saturating_duration_since(now).as_nanos() as u64;
                let waiting = (wait * conditions.rate / 8_000_000_000) as usize;
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let lost = match treatment {
                    Treatment::Fail => true,
                    Treatment::Lose(one_of) => packet.len() > 200 && random.is_multiple_of(one_of),
                    _ => waiting + packet.len() > conditions.queue,
                };
                if lost {
                    continue;
                }
                let mut packet = packet.to_vec();
                if matches!(treatment, Treatment::Mark(most) if waiting > most) {
                    mark(&mut packet);
                }
                let span = Duration::from_nanos(packet.len() as u64 * 8_000_000_000 / conditions.rate);
                link_free = link_free.max(now) + span;
                forth.push_back((link_free + conditions.rtt / 2, packet));
            }
            while let Some(packet) = self.far.receive(&mut buffer)? {
                back.push_back((Instant::now() + conditions.rtt / 2, packet.to_vec()));
            }
            let now = Instant::now();
            if treatment != Treatment::Hold {
                for (queue, to) in [(&mut forth, &self.far), (&mut back, &self.near)] {
                    while queue.front().is_some_and(|(due, _)| *due <= now) {
                        let Some((_, packet)) = queue.pop_front() else { break };
                        // A full socket buffer drops, as a device would.
                        let _ = to.send(&packet);
                    }
                }
            }
            let next =
                [&forth, &back].into_iter().filter_map(|queue| queue.front()).map(|(due, _)| *due).min();
            let wait =
                next.map_or(Duration::from_millis(1), |due| due.saturating_duration_since(Instant::now()));
            self.near.wait(wait.clamp(Duration::from_micros(20), Duration::from_millis(1)))?;
        }
        Ok(())
    }
}

/// Sets Congestion Experienced in the IPv4 header of a packet whose sender understands it (RFC 3168).
fn mark(packet: &mut [u8]) {
    if packet[0] >> 4 != 4 || packet[1] & 3 == 0 {
        return;
    }
    packet[1] |= 3;
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 15) * 4;
    let words =
        packet[..header].chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
