//! Lost packets and the two purposes of the timer: RFC 9002 section 6. Persistent congestion: section 7.6.

use super::{Before, Fate, Packet, Quic};
use crate::sender::Port;
use crate::sender::connection::Connection;
use crate::sender::prr::Prr;
use crate::sender::stack::Repairs;
use crate::sender::stamps::{LOST, SACKED};
use firstflight_contract::{Congestion, Control, Lost, Nanos, Trigger, mul_div};

/// Round-trip times after which a packet is lost, if a later one has arrived: `kTimeThreshold`, 9/8.
const TIME_THRESHOLD: [u64; 2] = [9, 8];
/// `kGranularity`, nanoseconds.
const GRANULARITY: u64 = 1_000_000;
/// Probe timeouts that lost packets span in persistent congestion: `kPersistentCongestionThreshold`.
const PERSISTENT: u64 = 3;
/// Packets that leave when a probe timeout passes (section 6.2.4: one or two).
const PROBES: u32 = 2;
/// Most doublings of the probe timeout that are counted.
const DOUBLINGS: u32 = 16;

/// Purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The time threshold of a packet passes.
    Loss,
    /// Probe timeout.
    Probe,
}

impl Connection<Quic> {
    /// The probe timeout (section 6.2.1): the smoothed round-trip time, four deviations, and the longest delay of an ACK. Without its
    /// doublings.
    fn probe_base(&self) -> u64 {
        let least = self.rto.srtt() + GRANULARITY;
        self.rto.base.max(least) + self.rto.config.min
    }

    /// The probe timeout in force.
    pub(super) fn probe_timeout(&self) -> u64 {
        self.probe_base() << self.own.timeouts.min(DOUBLINGS)
    }

    /// Numbers by which a later packet that arrived is ahead of a lost one.
    pub(super) fn threshold(&self) -> u64 {
        let out = self.own.packets.iter().position(|packet| packet.fate == Fate::Out);
        let sent = out.map_or(0, |place| self.own.packets.len() - place);
        self.own.rules.threshold.of(sent as u64)
    }

    /// Declares packets lost (section 6.1), and reports an episode that they begin. Returns whether there were any.
    pub(super) fn detect_losses(&mut self, now: u64, delivered: u64) -> bool {
        self.own.purpose = Purpose::Probe;
        let Some(newest) = self.own.acknowledged else { return false };
        let latest = self.rto.srtt().max(self.own.latest);
        let wait = mul_div(latest, TIME_THRESHOLD[0], TIME_THRESHOLD[1]).max(GRANULARITY);
        let count = (newest + 1).saturating_sub(self.own.oldest).min(self.own.packets.len() as u64);
        let (in_flight, losses) = (self.own.in_flight, self.own.losses);
        let (mut last, mut bytes, mut span, mut longest) = (None, 0, None, 0);
        let ahead = self.threshold();
        for place in 0..count as usize {
            let packet = self.own.packets[place];
            let number = self.own.oldest + place as u64;
            match packet.fate {
                Fate::Delivered => span = None,
                Fate::Lost => {}
                Fate::Out if packet.at + wait <= now || number + ahead <= newest => {
                    // A lost probe of the path MTU is no sign of congestion (RFC 9000 section 14.4).
                    if !self.is_probe(packet.segment) {
                        last = Some(number);
                    }
                    self.give_up(place);
                    self.lost += u64::from(packet.bytes);
                    self.note_loss(place);
                    bytes += u64::from(packet.bytes);
                    if packet.at >= self.own.sampled_at {
                        longest = longest.max(packet.at - *span.get_or_insert(packet.at));
                    }
                }
                Fate::Out => {
                    self.own.purpose = Purpose::Loss;
                    self.rto_at = packet.at + wait;
                    self.check_at = self.check_at.min(self.rto_at);
                    break;
                }
            }
        }
        self.own.lost_bytes += bytes;
        self.report_losses(now, delivered);
        let next = self.own.next();
        let (episodes, recovers) = (self.own.episodes, self.own.recovers);
        if let Some(last) = last
            && self.own.episodes.on_loss(last, next)
        {
            let Control { cwnd, ssthresh, .. } = self.chain.control;
            self.own.before =
                (cwnd >= ssthresh).then_some(Before { episodes, recovers, window: cwnd, losses });
            self.own.lost_bytes = bytes;
            self.report_episode(now, Trigger::Loss, in_flight);
            if self.own.rules.repairs == Repairs::AtOnce && !self.own.lost.is_empty() {
                self.own.probes = 1;
            }
        }
        if longest > PERSISTENT * self.probe_base() {
            self.collapse(now, in_flight);
        }
        bytes > 0
    }

    /// Notes a packet that was given up, for a scheme that asks for losses.
    fn note_loss(&mut self, place: usize) {
        let (number, lost) = (self.own.oldest + place as u64, self.lost);
        let Packet { bytes, stamp, flight, .. } = self.own.packets[place];
        if let Some(waiting) = &mut self.own.waiting {
            waiting.push(Lost {
                bytes: bytes.into(),
                number,
                lost,
                prior_delivered: stamp.delivered(),
                prior_lost: flight.lost,
                prior_in_flight: flight.in_flight,
                flags: if stamp.limited() { Lost::RATE_LIMITED } else { 0 },
                ..Lost::default()
            });
        }
    }

    /// Tells the scheme the losses that it asks for. `delivered` bytes of the present ACK are not counted yet.
    fn report_losses(&mut self, now: u64, delivered: u64) {
        let Some(waiting) = &mut self.own.waiting else { return };
        if waiting.is_empty() {
            return;
        }
        for lost in std::mem::take(waiting) {
            let delivered = self.delivered + delivered;
            let mss = self.mss as u32;
            self.common.chain.on_lost(&Lost { now: Nanos(now), delivered, mss, ..lost });
        }
        self.note_startup_exit();
    }

    /// A packet is lost.
    fn give_up(&mut self, place: usize) {
        let packet = &mut self.own.packets[place];
        packet.fate = Fate::Lost;
        self.own.losses += 1;
        let (segment, bytes) = (packet.segment, packet.bytes);
        self.own.in_flight -= u64::from(bytes);
        let number = self.own.oldest + place as u64;
        let arrived = segment < self.una || self.stamps.get(segment) & SACKED != 0;
        // A newer copy of it may be on its way.
        if !arrived && self.own.newest.get(segment) == number {
            *self.stamps.get_mut(segment) |= LOST;
            self.own.lost.insert(segment);
            self.on_control_lost(segment);
        }
    }

    /// Reports an episode. `in_flight` is what was before packets were given up; of a mark, zero.
    pub(super) fn report_episode(&mut self, now: u64, trigger: Trigger, in_flight: u64) {
        self.own.recovers = self.own.next();
        self.own.prr = Prr::begin(in_flight);
        self.own.allowed = 0;
        self.stats.episodes += 1;
        let event = Congestion {
            now: Nanos(now),
            in_flight: in_flight.max(self.own.in_flight).max(1),
            base: self.chain.control.cwnd.max(1),
            lost: self.own.lost_bytes,
            min_rtt: Nanos(self.known_min_rtt()),
            trigger,
            mss: self.mss as u32,
        };
        self.common.chain.on_congestion(&event);
        // Section 7.3.2: the window is the threshold at once.
        if trigger != Trigger::Timeout && !self.chain.is_standalone() {
            let control = &mut self.chain.control;
            control.cwnd = control.cwnd.min(control.ssthresh);
        }
        self.note_startup_exit();
    }

    /// Persistent congestion: all packets of a long time were lost.
    fn collapse(&mut self, now: u64, in_flight: u64) {
        let (una, next) = (self.una.into(), self.own.next());
        if self.own.episodes.on_timeout(una, next) {
            self.stats.timeouts += 1;
            self.report_episode(now, Trigger::Timeout, in_flight);
            self.chain.control.cwnd = self.own.rules.least_window * self.mss;
        }
    }

    /// The timer after an ACK (appendix A.8).
    pub(super) fn set_loss_timer(&mut self, now: u64) {
        if self.own.purpose == Purpose::Loss {
            return;
        }
        if self.own.in_flight == 0 {
            self.rto_at = u64::MAX;
            return;
        }
        let from = self.last_sent_at.time().map_or(now, |at| at.0);
        self.rto_at = (from + self.probe_timeout()).max(now + 1);
        self.check_at = self.check_at.min(self.rto_at);
    }

    /// The timer after a departure.
    pub(super) fn set_probe_timer(&mut self, now: u64) {
        if self.own.purpose == Purpose::Probe || self.rto_at == u64::MAX {
            self.own.purpose = Purpose::Probe;
            self.rto_at = now + self.probe_timeout();
            self.check_at = self.check_at.min(self.rto_at);
        }
    }

    pub(super) fn on_loss_timer(&mut self, now: u64, port: &mut impl Port) {
        match self.own.purpose {
            Purpose::Loss => {
                self.detect_losses(now, 0);
                self.set_loss_timer(now);
                self.update_pacing();
                self.send_lost_and_new(now, port);
                self.own.probes = 0;
            }
            Purpose::Probe => self.probe(now, port),
        }
    }

    /// Section 6.2.4: new data, or else the oldest in flight, tests whether packets arrive.
    fn probe(&mut self, now: u64, port: &mut impl Port) {
        self.own.timeouts += 1;
        self.own.probes = PROBES;
        self.send_lost_and_new(now, port);
        if self.own.probes > 0 {
            let out = self.own.packets.iter().filter(|packet| packet.fate == Fate::Out);
            let oldest: Vec<u32> = out.take(self.own.probes as usize).map(|packet| packet.segment).collect();
            self.own.probes = 0;
            for segment in oldest {
                self.depart(now, segment, true, port);
            }
        }
        self.set_loss_timer(now);
    }
}
