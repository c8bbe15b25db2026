//! The delivery-rate sampler of a sender whose scheme asks for one, with its record of each segment in flight.

use super::Linux;
use crate::sender::common::Flight;
use crate::sender::connection::Connection;
use crate::sender::stamps::{self, RETRANSMITTED, Ring};
use firstflight_contract::{Lost, Nanos};
use firstflight_host::rate_sampler::{RateSample, RateSampler, Stamp};

/// The sampler and its stamps, by segment number.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryRate {
    sampler: RateSampler,
    stamps: Ring<Stamp>,
    losses: Option<Losses>,
}

/// The record for a scheme that asks for each loss.
#[derive(Clone, Debug)]
struct Losses {
    /// State when each segment last left.
    flights: Ring<Flight>,
    /// That of the newest segment that the present ACK delivers.
    newest: Flight,
    /// Declared and not reported yet; `now`, `delivered` and `mss` are not set.
    waiting: Vec<Lost>,
}

impl DeliveryRate {
    /// A sampler; with `losses`, for a scheme that asks for each of them.
    pub(crate) fn new(losses: bool) -> Self {
        let record = || Losses { flights: Ring::new(true), newest: Flight::default(), waiting: Vec::new() };
        Self { sampler: RateSampler::default(), stamps: Ring::new(true), losses: losses.then(record) }
    }

    /// `segment` becomes two, of those in `una..nxt`.
    pub(crate) fn split(&mut self, segment: u32, una: u32, nxt: u32) {
        self.stamps.split(segment, una, nxt);
        if let Some(losses) = &mut self.losses {
            losses.flights.split(segment, una, nxt);
        }
    }

    /// `segment`, of `bytes`, was declared lost; `lost` bytes were in total, with it.
    pub(crate) fn note_loss(&mut self, segment: u32, lost: u64, bytes: u64) {
        let Some(losses) = &mut self.losses else { return };
        let flight = losses.flights.get(segment);
        let stamp = self.stamps.get(segment);
        losses.waiting.push(Lost {
            bytes,
            number: segment.into(),
            lost,
            prior_delivered: stamp.delivered(),
            prior_lost: flight.lost,
            prior_in_flight: flight.in_flight,
            flags: if stamp.limited() { Lost::RATE_LIMITED } else { 0 },
            ..Lost::default()
        });
    }
}

impl Connection<Linux> {
    /// `segment` leaves.
    pub(super) fn stamp_delivery(&mut self, now: u64, segment: u32) {
        let pipe = u64::from(self.own.in_flight(self.common.nxt - self.common.una));
        let Some(delivery) = &mut self.own.delivery else { return };
        let stamp = delivery
            .sampler
            .on_sent(Nanos(now), segment == self.common.una && self.common.nxt == segment + 1);
        delivery.stamps.put(segment, self.common.una, stamp);
        if let Some(losses) = &mut delivery.losses {
            // A retransmission is counted among the segments in flight after it left.
            let repeated = self.common.stamps.get(segment) & RETRANSMITTED != 0;
            let in_flight = (pipe + u64::from(repeated)) * self.common.mss;
            let flight = Flight { lost: self.common.lost * self.common.mss, in_flight };
            losses.flights.put(segment, self.common.una, flight);
        }
    }

    /// `segment` was delivered, before its mark changes.
    #[inline]
    pub(crate) fn sample_delivery(&mut self, segment: u32) {
        let Some(delivery) = &mut self.own.delivery else { return };
        let left = stamps::sent(self.common.stamps.get(segment));
        let stamp = delivery.stamps.get(segment);
        let is_newest = delivery.sampler.on_delivered(&stamp, Nanos(left), segment.into());
        if is_newest && let Some(losses) = &mut delivery.losses {
            losses.newest = losses.flights.get(segment);
        }
    }

    /// The rate sample of this ACK.
    #[inline]
    pub(crate) fn end_sample(&mut self, now: u64, delivered: u32) -> RateSample {
        let min_rtt = Nanos(self.known_min_rtt());
        let bytes = u64::from(delivered) * self.mss;
        match &mut self.own.delivery {
            Some(delivery) => delivery.sampler.sample(Nanos(now), bytes, min_rtt),
            None => RateSample::default(),
        }
    }

    /// What was lost and in flight when the segment of this ACK's sample left; all zero without a sample.
    #[inline]
    pub(super) fn take_flight(&mut self) -> Flight {
        let losses = self.own.delivery.as_mut().and_then(|delivery| delivery.losses.as_mut());
        losses.map_or_else(Flight::default, |losses| std::mem::take(&mut losses.newest))
    }

    /// Reports the segments declared lost since the last report; `delivered` segments of the present ACK are not counted yet.
    pub(super) fn report_losses(&mut self, now: u64, delivered: u32) {
        let Some(losses) = self.own.delivery.as_mut().and_then(|delivery| delivery.losses.as_mut()) else {
            return;
        };
        for lost in losses.waiting.drain(..) {
            self.common.chain.on_lost(&Lost {
                now: Nanos(now),
                delivered: (self.common.delivered + u64::from(delivered)) * self.common.mss,
                mss: self.common.stack.mss,
                ..lost
            });
        }
        // A scheme may end its start-up at a loss.
        self.note_startup_exit();
    }

    /// Notes whether the application limits the sender: nothing waits to be sent, the window has room, and lost
    /// segments have been retransmitted. The outstanding segments may then show only the rate of the application.
    pub(crate) fn note_application_limit(&mut self) {
        let in_flight = u64::from(self.own.in_flight(self.nxt - self.una));
        let bytes = in_flight * self.mss;
        let idle = self.nxt >= self.available
            && in_flight < self.cwnd_segments()
            && self.own.lost <= self.own.retrans;
        if let Some(delivery) = &mut self.own.delivery
            && idle
        {
            delivery.sampler.set_app_limited(bytes);
        }
    }
}
