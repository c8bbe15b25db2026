//! The delivery-rate sampler of a sender whose scheme asks for one, with what it keeps of each segment in flight.

use super::Sender;
use super::stamps::{self, Ring};
use firstflight_contract::Nanos;
use firstflight_host::rate_sampler::{RateSample, RateSampler, Stamp};

/// The sampler and its stamps, by segment number.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    sampler: RateSampler,
    stamps: Ring<Stamp>,
}

impl Default for Delivery {
    fn default() -> Self {
        Self { sampler: RateSampler::default(), stamps: Ring::new(true) }
    }
}

impl Delivery {
    /// `segment` becomes two, of those in `una..nxt`.
    pub(crate) fn split(&mut self, segment: u32, una: u32, nxt: u32) {
        self.stamps.split(segment, una, nxt);
    }
}

impl Sender {
    /// `segment` leaves.
    pub(super) fn stamp_delivery(&mut self, now: u64, segment: u32) {
        let Some(delivery) = &mut self.delivery else { return };
        let stamp = delivery.sampler.on_sent(Nanos(now), segment == self.una && self.nxt == segment + 1);
        delivery.stamps.put(segment, self.una, stamp);
    }

    /// `segment` was delivered, before its mark changes.
    #[inline]
    pub(crate) fn sample_delivery(&mut self, segment: u32) {
        let Some(delivery) = &mut self.delivery else { return };
        let left = stamps::sent(self.stamps.get(segment));
        let stamp = delivery.stamps.get(segment);
        delivery.sampler.on_delivered(&stamp, Nanos(left), segment.into());
    }

    /// What the ACK at hand tells of the rate.
    #[inline]
    pub(crate) fn end_sample(&mut self, now: u64, delivered: u32) -> RateSample {
        let min_rtt = Nanos(if self.min_rtt == u64::MAX { 0 } else { self.min_rtt });
        match &mut self.delivery {
            Some(delivery) => delivery.sampler.sample(Nanos(now), u64::from(delivered) * self.mss, min_rtt),
            None => RateSample::default(),
        }
    }

    /// Notes whether the application limits the sender: nothing waits to be sent, the window has room, and what was
    /// lost has left again. The rate that what is out will show may then be the application's own.
    pub(crate) fn note_application_limit(&mut self) {
        let in_flight = u64::from(self.rack.in_flight(self.nxt - self.una));
        let idle = self.nxt >= self.available
            && in_flight < self.cwnd_segments()
            && self.rack.lost <= self.rack.retrans;
        if let Some(delivery) = &mut self.delivery
            && idle
        {
            delivery.sampler.set_app_limited(in_flight * self.mss);
        }
    }
}
