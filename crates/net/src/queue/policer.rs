//! Token-bucket policer: the bucket of RFC 2697, section 3 (one rate, no excess burst), in front of a drop-tail queue. As
//! network operators police traffic: T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", ACM SIGCOMM 2016,
//! section 2.
//!
//! The bucket is full at the start. Tokens, each for a byte, accrue at the policer's rate up to its burst. A packet with
//! fewer tokens than bytes is dropped and takes none; any other takes its size and joins the queue. A packet that then
//! finds no room there is dropped with its tokens: the policer is in front.

use super::settings::{self, Conflict, Domain, Field, Key, Needed};
use super::{Arrival, Info, Place, QueueConfig, Room, Site, Verdict};
pub use crate::token_bucket::BucketConfig as Settings;
use crate::token_bucket::{BucketConfig, TokenBucket};

/// Description.
pub const INFO: Info = Info::queue(
    "policer",
    "RFC 2697, section 3; Flach and others, SIGCOMM 2016",
    "drops packets above a rate and a burst, in front of drop-tail",
    &[
        Key::new("rate", Domain::Rate, "required by `policer`", "rate at which a policer's tokens accrue")
            .needed(Needed::Always),
        Key::new(
            "burst",
            Domain::Bytes,
            "required by `policer`",
            "size of a policer's bucket, at least one full packet; it is full at the start",
        )
        .needed(Needed::Always),
    ],
);

impl settings::Settings for Settings {
    fn usual(_bdp: f64) -> Self {
        // Both must be given.
        Self { rate: firstflight_contract::Rate::NONE, burst: 0 }
    }

    fn fields(&mut self) -> Vec<(&'static str, Field<'_>)> {
        vec![("rate", Field::Rate(&mut self.rate)), ("burst", Field::Bytes(&mut self.burst))]
    }

    fn draws(&self) -> bool {
        false
    }

    fn marks(&self) -> bool {
        false
    }

    fn check(&self, packet: u32) -> Result<(), Conflict> {
        if self.burst >= packet.into() {
            return Ok(());
        }
        let why = format!("less than one packet of {packet} bytes, so none would pass");
        Err(Conflict { keys: &["burst"], why, least: Some(packet.into()) })
    }
}

pub(super) fn configure(settings: &Settings, place: &Place) -> QueueConfig {
    QueueConfig::Policer(*settings, place.room)
}

// The auditor replays the bucket.
pub(super) const DROPS_EARLY: bool = false;

pub(super) fn room(_config: BucketConfig, room: Room) -> Room {
    room
}

pub(super) fn build(config: BucketConfig, room: Room, _site: &Site<'_>) -> Policer {
    Policer::new(config, room)
}

/// A policer and the queue behind it.
#[derive(Clone, Debug)]
pub struct Policer {
    bucket: TokenBucket,
    room: Room,
}

impl Policer {
    /// Creates a policer with a full bucket, in front of an empty queue.
    pub fn new(config: BucketConfig, room: Room) -> Self {
        Self { bucket: TokenBucket::full(config), room }
    }

    pub(super) fn admit(&mut self, arrival: &Arrival) -> Verdict {
        self.bucket.fill(arrival.now);
        if !self.bucket.take(arrival.size.into()) {
            return Verdict::Drop;
        }
        self.room.admit(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serialisation::PER_BYTE;
    use firstflight_contract::{Rate, Sum};
    use proptest::prelude::*;

    fn policer(rate: u64, burst: u64) -> Policer {
        Policer::new(BucketConfig { rate: Rate(rate), burst }, Room::Packets(1000))
    }

    /// A packet that finds the link behind the policer free.
    fn arrival(now: u64, size: u32) -> Arrival {
        Arrival { now, free_at: 0, waiting_packets: 0, waiting_bytes: 0, size, ecn_capable: true }
    }

    /// Whether each packet, given by its time and size, passes.
    fn passes(policer: &mut Policer, packets: &[(u64, u32)]) -> Vec<bool> {
        let verdict = |&(now, size): &(u64, u32)| policer.admit(&arrival(now, size));
        packets.iter().map(verdict).map(|verdict| verdict == Verdict::Accept).collect()
    }

    #[test]
    fn the_burst_passes_at_once_and_later_packets_at_the_rate() {
        // 8 Mbit/s are one byte in a microsecond. 3000 bytes pass, then 1500 bytes after 1.5 ms.
        let mut policer = policer(8_000_000, 3000);
        assert_eq!(passes(&mut policer, &[(0, 1500), (0, 1500), (0, 1)]), [true, true, false]);
        let boundary = [(1_499_999, 1500), (1_500_000, 1500), (1_500_000, 1)];
        assert_eq!(passes(&mut policer, &boundary), [false, true, false]);
        // A dropped packet takes nothing: after 1 ms more, 1000 bytes pass although 1500 were refused before.
        assert_eq!(passes(&mut policer, &[(2_500_000, 1500), (2_500_000, 1000)]), [false, true]);
    }

    #[test]
    fn the_bucket_holds_no_more_than_its_burst() {
        let mut policer = policer(8_000_000, 3000);
        assert_eq!(passes(&mut policer, &[(u64::MAX / 2, 3001), (u64::MAX / 2, 3000)]), [false, true]);
        // Full again 3 ms later, but not 3 ms and 1500 bytes more.
        let later = u64::MAX / 2 + 100_000_000;
        assert_eq!(passes(&mut policer, &[(later, 1500), (later, 1500), (later, 1)]), [true, true, false]);
    }

    #[test]
    fn fractions_of_a_token_are_kept_however_often_packets_come() {
        // At 3 bit/s a byte takes 2 666 666 666 2/3 ns, three bytes take 8 s.
        let mut policer = policer(3, 10);
        assert_eq!(passes(&mut policer, &[(0, 10)]), [true]);
        let asked: Vec<(u64, u32)> = (1..=2_666).map(|ms| (ms * 1_000_000, 1)).collect();
        assert!(passes(&mut policer, &asked).iter().all(|passed| !passed));
        let times =
            [2_666_666_666, 2_666_666_667, 5_333_333_333, 5_333_333_334, 7_999_999_999, 8_000_000_000];
        let asked = times.map(|now| (now, 1));
        assert_eq!(passes(&mut policer, &asked), [false, true, false, true, false, true]);
    }

    #[test]
    fn a_packet_without_room_behind_the_policer_has_taken_its_tokens() {
        let config = BucketConfig { rate: Rate(8_000_000), burst: 3000 };
        let mut policer = Policer::new(config, Room::Packets(1));
        let busy = Arrival { free_at: 1, waiting_packets: 1, waiting_bytes: 1500, ..arrival(0, 1500) };
        assert_eq!(policer.admit(&busy), Verdict::Drop);
        assert_eq!(passes(&mut policer, &[(0, 1500), (0, 1500)]), [true, false]);
    }

    /// Sum of the products.
    fn product(terms: &[(u64, u64)]) -> Sum {
        let mut sum = Sum::default();
        terms.iter().for_each(|&(a, b)| sum.add_product(a, b));
        sum
    }

    proptest! {
        /// From any packet on, the passed bytes are at most the burst and the rate times the time since then. A packet
        /// passes exactly if that stays true with it.
        #[test]
        fn every_interval_carries_at_most_burst_and_rate(
            (rate, shift) in (1..=100_000_000_000_000_u64, 0..46_u32),
            (burst, less) in (1..=1_000_000_000_000_000_u64, 0..49_u32),
            packets in prop::collection::vec((0..1_u64 << 40, 0..40_u32, 1..=65_535_u32), 1..120),
        ) {
            let (rate, burst) = ((rate >> shift).max(1), (burst >> less).max(1));
            let mut policer = policer(rate, burst);
            let mut passed: Vec<(u64, u32)> = vec![];
            let mut now = 0;
            for (gap, less, size) in packets {
                now += gap >> less;
                let mut bytes = u64::from(size);
                let mut fits = bytes <= burst;
                for &(then, size) in passed.iter().rev() {
                    bytes += u64::from(size);
                    fits &= product(&[(bytes, PER_BYTE)]) <= product(&[(burst, PER_BYTE), (rate, now - then)]);
                }
                let verdict = policer.admit(&arrival(now, size));
                prop_assert_eq!(verdict == Verdict::Accept, fits);
                if fits {
                    passed.push((now, size));
                }
            }
        }
    }
}
