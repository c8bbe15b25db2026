//! The delivery-rate sampler of a sender whose scheme asks for one, with its record of each segment in flight.

use super::Linux;
use crate::sender::connection::Connection;
use crate::sender::stamps::{self, Ring};
use firstflight_contract::Nanos;
use firstflight_host::rate_sampler::{RateSample, RateSampler, Stamp};

/// The sampler and its stamps, by segment number.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryRate {
    sampler: RateSampler,
    stamps: Ring<Stamp>,
}

impl Default for DeliveryRate {
    fn default() -> Self {
        Self { sampler: RateSampler::default(), stamps: Ring::new(true) }
    }
}

impl DeliveryRate {
    /// `segment` becomes two, of those in `una..nxt`.
    pub(crate) fn split(&mut self, segment: u32, una: u32, nxt: u32) {
        self.stamps.split(segment, una, nxt);
    }
}

impl Connection<Linux> {
    /// `segment` leaves.
    pub(super) fn stamp_delivery(&mut self, now: u64, segment: u32) {
        let Some(delivery) = &mut self.own.delivery else { return };
        let stamp = delivery
            .sampler
            .on_sent(Nanos(now), segment == self.common.una && self.common.nxt == segment + 1);
        delivery.stamps.put(segment, self.common.una, stamp);
    }

    /// `segment` was delivered, before its mark changes.
    #[inline]
    pub(crate) fn sample_delivery(&mut self, segment: u32) {
        let Some(delivery) = &mut self.own.delivery else { return };
        let left = stamps::sent(self.common.stamps.get(segment));
        let stamp = delivery.stamps.get(segment);
        delivery.sampler.on_delivered(&stamp, Nanos(left), segment.into());
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
