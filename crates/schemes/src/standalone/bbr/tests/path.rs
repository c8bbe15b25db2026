//! A sender on an ideal path: one bottleneck without end, an ACK for every segment, no loss.

use std::collections::VecDeque;

use super::super::{Bbr, Mode};
use firstflight_contract::{Ack, Control, Entry, Nanos, Phase, Step, Why};
use firstflight_host::pacer::Pacer;
use firstflight_host::rate_sampler::{RateSampler, Stamp};

/// 10 Mbit/s: a segment a millisecond.
pub(super) const MSS: u64 = 1250;
const SERVICE: Nanos = Nanos::from_millis(1);

pub(super) struct Path {
    pub(super) bbr: Bbr,
    pub(super) control: Control,
    pub(super) now: Nanos,
    /// Round trip without queueing; the segment's own time at the bottleneck is part of it.
    pub(super) rtt: Nanos,
    pub(super) in_flight: u64,
    /// Segments the application has still to send.
    pub(super) available: u64,
    /// When the phase said that start-up was over.
    pub(super) over_at: Option<Nanos>,
    sampler: RateSampler,
    pacer: Pacer,
    flight: VecDeque<(Nanos, Nanos, Stamp)>,
    free_at: Nanos,
    sent: u64,
    delivered: u64,
    min_rtt: Nanos,
}

impl Path {
    /// A connection whose handshake took `rtt`, with ten segments as initial window.
    pub(super) fn new(rtt: Nanos) -> Self {
        let mut path = Self {
            bbr: Bbr::default(),
            control: Control { cwnd: 10 * MSS, ..Control::default() },
            now: Nanos::ZERO,
            rtt,
            in_flight: 0,
            available: u64::MAX,
            over_at: None,
            sampler: RateSampler::default(),
            pacer: Pacer::default(),
            flight: VecDeque::new(),
            free_at: Nanos::ZERO,
            sent: 0,
            delivered: 0,
            min_rtt: rtt,
        };
        let entry = Entry { rtt, mss: MSS as u32, why: Why::Connect, ..Entry::default() };
        path.bbr.enter(&entry, &mut path.control);
        path
    }

    /// The next thing that happens: a segment leaves or an ACK arrives.
    pub(super) fn step(&mut self) {
        let may_send = self.available > 0 && (self.in_flight + 1) * MSS <= self.control.cwnd;
        let leaves = if may_send {
            self.now.max(self.pacer.release(self.control.pacing, MSS, MSS))
        } else {
            Nanos::NEVER
        };
        match self.flight.front() {
            Some(&(arrives, sent_at, stamp)) if arrives <= leaves => self.on_ack(arrives, sent_at, stamp),
            _ if leaves != Nanos::NEVER => self.send(leaves),
            _ => panic!("nothing happens any more"),
        }
    }

    fn send(&mut self, at: Nanos) {
        self.now = at;
        self.pacer.on_sent(at, self.control.pacing, MSS);
        let stamp = self.sampler.on_sent(at, self.in_flight == 0);
        self.free_at = self.free_at.max(at) + SERVICE;
        self.flight.push_back((self.free_at + (self.rtt - SERVICE), at, stamp));
        self.in_flight += 1;
        self.sent += 1;
        self.available -= 1;
        if self.available == 0 {
            self.sampler.set_app_limited(self.in_flight * MSS);
        }
    }

    fn on_ack(&mut self, now: Nanos, sent_at: Nanos, stamp: Stamp) {
        self.flight.pop_front();
        self.now = now;
        self.sampler.on_delivered(&stamp, sent_at, self.delivered);
        self.delivered += 1;
        let rtt = now - sent_at;
        self.min_rtt = self.min_rtt.min(rtt);
        let sample = self.sampler.sample(now, MSS, self.min_rtt);
        let ack = Ack {
            now,
            rtt,
            min_rtt: self.min_rtt,
            srtt: rtt,
            acked: MSS,
            growth: MSS,
            delivered: self.delivered * MSS,
            sent: self.sent * MSS,
            in_flight: self.in_flight * MSS,
            pipe: (self.in_flight - 1) * MSS,
            rate: sample.rate(),
            prior_delivered: sample.prior_delivered,
            flags: if sample.limited { Ack::RATE_LIMITED } else { 0 },
            mss: MSS as u32,
            ..Ack::default()
        };
        self.in_flight -= 1;
        if let Step::Over(_) = self.bbr.on_ack(&ack, &mut self.control) {
            assert_eq!(self.over_at, None, "over twice");
            self.over_at = Some(now);
        }
    }

    /// Runs until `done`; a minute at most.
    pub(super) fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            assert!(self.now < Nanos::from_secs(60), "still {:?} after a minute", self.bbr.mode);
            self.step();
        }
    }

    pub(super) fn run_to(&mut self, mode: Mode) {
        self.run_until(|path| path.bbr.mode == mode);
    }

    /// Segments.
    pub(super) fn cwnd(&self) -> u64 {
        self.control.cwnd / MSS
    }

    pub(super) fn millis(&self) -> f64 {
        self.now.0 as f64 / 1e6
    }
}
