//! Controlled delay drops the first packet that leaves after its time has come (RFC 8289, section 5).

use firstflight_net::queue::codel::{CodelConfig, Law};

use super::buffer::trapezoid;
use super::queued::{Packet, TICKS, ticks};
use super::{Judged, Losses, Queued};
use crate::range::Range;
use firstflight_hosts::parallel::map;

impl Queued {
    /// Evidence for a target, seconds, and a buffer.
    pub(crate) fn codel(&self, target: &Range, buffer: &Range, losses: &Losses) -> Judged {
        /// Errors of the time at which a drop is due, packets.
        const LATE: [f64; 3] = [1.0, 4.0, 16.0];
        let longest = self.longest();
        // A buffer is never filled, or as long as the longest queue.
        let room = (longest + 1.0).clamp(buffer.at(0.0), buffer.at(1.0));
        let roomy = (libm::log(buffer.at(1.0) / room) / buffer.span()).max(1e-9);
        let near = (-4..=4)
            .map(|step| longest + 0.5 * f64::from(step))
            .filter(|length| (buffer.at(0.0)..=buffer.at(1.0)).contains(length));
        let buffers: Vec<(f64, f64)> = std::iter::once((f64::INFINITY, libm::log(roomy)))
            .chain(near.map(|length| (length, libm::log(0.5 / length / buffer.span()))))
            .collect();
        let targets = trapezoid(target, 160);
        let tried = map(&targets, |(target, of_target)| {
            let mut tried = vec![];
            for late in LATE {
                for (length, of_length) in &buffers {
                    let prior = of_target + of_length - libm::log(LATE.len() as f64);
                    let fates = self.fates(|| self.by_codel(target / self.packet, late, *length));
                    let logs: Vec<f64> = losses.weigh(&fates).into_iter().map(|log| log + prior).collect();
                    // Of a buffer that is never filled, the middle of what is possible.
                    let own = if length.is_finite() { *length } else { libm::sqrt(room * buffer.at(1.0)) };
                    tried.push((vec![*target, own], logs));
                }
            }
            tried
        });
        Judged::of(tried.into_iter().flatten().collect(), losses)
    }

    /// Probability of a drop by a target in packets, an error of its time, and a buffer.
    fn by_codel(&self, target: f64, late: f64, length: f64) -> impl FnMut(&Packet) -> f64 {
        // RFC 8289, section 4.4: the target is 5 % of the interval.
        let config = CodelConfig { target: ticks(target), interval: ticks(20.0 * target), ecn: false };
        let mut law = Law::default();
        move |packet: &Packet| {
            let leaves = ticks(packet.at + packet.found);
            let due = law.due(&config, leaves, packet.found >= target.max(1.0));
            let ripe =
                due.map_or(0.0, |due| ((leaves as f64 - due as f64) / TICKS / late + 0.5).clamp(0.0, 1.0));
            let drop = ripe / (1.0 + late);
            if packet.lost && ripe > 0.0 {
                law.chose(&config, leaves);
            }
            let full = if length.is_finite() { self.full(packet.found - length) } else { 0.0 };
            full + (1.0 - full) * drop
        }
    }
}
