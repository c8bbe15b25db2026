//! One ACK, in the order of RFC 9002 appendix A.7: the round-trip time, lost packets, the window, the timer, then sending.

use super::{Before, Fate, Packet, Quic};
use crate::packet;
use crate::sender::common::AckSample;
use crate::sender::connection::{Connection, SenderKind as _};
use crate::sender::stack::{LimitedRule, Reduction};
use crate::sender::stamps::{RETRANSMITTED, SACKED};
use crate::sender::{AckIn, Port};
use firstflight_contract::{Ack, Nanos, Trigger};
use firstflight_host::rate_sampler::RateSample;

/// News of one ACK.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// Newly acknowledged packets, their bytes, those of them that may enlarge the window, the number of these, and the bytes that were in flight.
    packets: u32,
    bytes: u64,
    growth: u64,
    growing: u64,
    out: u64,
    /// Number and departure of the newest of them.
    newest: Option<(u64, u64)>,
}

impl Connection<Quic> {
    pub(super) fn acknowledge(&mut self, now: u64, ack: &AckIn, port: &mut impl Port) {
        if ack.seq < self.una {
            // Late by reordering: its ranges were reported by an ACK before, or will be by the next one.
            return;
        }
        let (una_before, in_flight) = (self.una, self.own.in_flight);
        let repeats = ack.low & packet::ECHO_REPEAT != 0;
        let mut news = News::default();
        for segment in self.una..ack.seq {
            self.take(segment, repeats, &mut news);
            self.own.beyond -= u32::from(self.stamps.get(segment) & SACKED != 0);
            self.own.lost.remove(&segment);
        }
        self.una = ack.seq;
        self.nxt = self.nxt.max(ack.seq);
        for (start, end) in ack.blocks().into_iter().take_while(|(start, end)| start < end) {
            for segment in start.max(ack.seq)..end.min(self.nxt) {
                if self.stamps.get(segment) & SACKED == 0 {
                    self.take(segment, repeats, &mut news);
                    *self.stamps.get_mut(segment) |= SACKED;
                    self.own.beyond += 1;
                    self.own.lost.remove(&segment);
                }
            }
        }
        let rtt = self.take_rtt_sample(now, &news);
        if self.own.rules.grows_first && news.packets > 0 {
            self.report(now, &news, in_flight, (rtt, ack.echoes_mark()));
        }
        let unknown = if self.own.rules.grows_first { 0 } else { news.bytes };
        let lost = self.detect_losses(now, unknown);
        if ack.echoes_mark()
            && let Some((number, _)) = news.newest
            && self.own.episodes.on_mark(number, self.own.next())
        {
            self.own.lost_bytes = 0;
            self.report_episode(now, Trigger::Mark, 0);
        }
        if news.packets > 0 {
            self.own.timeouts = 0;
            self.follow_reduction(&news);
            let after = news.newest.is_some_and(|(newest, _)| newest >= self.own.recovers);
            if after && self.may_grow(in_flight) {
                self.undo_reduction();
            }
            if !self.own.rules.grows_first {
                self.report(now, &news, in_flight, (rtt, ack.echoes_mark()));
            }
        }
        if news.packets > 0 || lost {
            self.set_loss_timer(now);
        }
        self.forget_oldest();
        self.update_pacing();
        self.send_lost_and_new(now, port);
        self.own.probes = 0;
        if self.una >= self.write_end && una_before < self.una {
            self.on_written_acked(now);
        }
    }

    /// A segment has arrived, unless that was known.
    fn take(&mut self, segment: u32, repeats: bool, news: &mut News) {
        let word = self.stamps.get(segment);
        if word & SACKED != 0 {
            return;
        }
        let number = self.own.newest.get(segment);
        let Some(place) = number.checked_sub(self.own.oldest) else { return };
        let packet = &mut self.own.packets[place as usize];
        let out = packet.fate == Fate::Out;
        let Packet { at, stamp, flight, .. } = *packet;
        let bytes = u64::from(packet.bytes);
        packet.fate = Fate::Delivered;
        if let Some(sampler) = &mut self.own.sampler
            && sampler.on_delivered(&stamp, Nanos(at), number)
        {
            self.own.flight = flight;
        }
        if out {
            self.own.in_flight -= bytes;
            news.out += bytes;
        }
        news.packets += 1;
        news.bytes += bytes;
        // Section 7.3.2: packets sent before the recovery began do not enlarge the window; nor do those that were given up.
        if out && number >= self.own.recovers {
            news.growth += bytes;
            news.growing += 1;
        }
        // An ACK of the packet that was thought lost says nothing of the newest one.
        let of_newest = out && (word & RETRANSMITTED == 0 || repeats);
        if of_newest && news.newest.is_none_or(|(newest, _)| newest < number) {
            news.newest = Some((number, at));
        }
        if word & RETRANSMITTED != 0 && !repeats {
            self.take_copies(segment);
        }
        self.on_control_delivered(segment);
    }

    /// The first copy of a segment arrived, so that none is thought to be lost.
    #[cold]
    fn take_copies(&mut self, segment: u32) {
        let out = self
            .own
            .packets
            .iter_mut()
            .filter(|packet| packet.segment == segment && packet.fate == Fate::Out);
        let mut bytes = 0;
        for packet in out {
            packet.fate = Fate::Delivered;
            bytes += u64::from(packet.bytes);
        }
        self.own.in_flight -= bytes;
    }

    /// The sample of the round-trip time: that of the newest packet, if it is newly acknowledged (section 5.1). Zero if there is none.
    fn take_rtt_sample(&mut self, now: u64, news: &News) -> u64 {
        let Some((number, at)) = news.newest else { return 0 };
        if self.own.acknowledged.is_some_and(|newest| number <= newest) {
            return 0;
        }
        self.own.acknowledged = Some(number);
        self.own.episodes.on_ack(number);
        let rtt = now - at;
        self.min_rtt = self.min_rtt.min(rtt);
        let delay = if news.packets == 1 { self.rto.config.min } else { 0 };
        // Section 5.3: "adjusted_rtt" is not below the smallest one.
        let adjusted = if rtt >= self.min_rtt + delay { rtt - delay } else { rtt };
        self.take_rtt(now - adjusted, now);
        rtt
    }

    /// The allowance of a proportional reduction, after packets that were sent before it. As quiche has it, each packet is counted
    /// for itself, and what is in flight is that before the ACK.
    fn follow_reduction(&mut self, news: &News) {
        let inside = news.newest.is_none_or(|(newest, _)| newest < self.own.recovers);
        let bytes = if inside { news.out } else { news.out - news.growth };
        if self.own.rules.reduction == Reduction::AtOnce || self.own.recovers == 0 || bytes == 0 {
            return;
        }
        let packets = u64::from(news.packets).min(bytes.div_ceil(self.mss)).max(1);
        let (pipe, target) = (self.own.in_flight + news.out, self.chain.control.ssthresh);
        for _ in 0..packets {
            self.own.allowed = self.own.prr.allowance(bytes / packets, pipe, target, self.mss);
        }
    }

    /// Undoes the last reduction, if so few packets were lost since that the stack takes it for spurious.
    fn undo_reduction(&mut self) {
        let Reduction::Proportional(percent) = self.own.rules.reduction else { return };
        let window = self.chain.control.cwnd;
        let few = (window / self.mss * percent / 100).max(2);
        let losses = self.own.losses;
        let spurious = |before: &Before| window < before.window && losses - before.losses < few;
        if let Some(Before { episodes, recovers, .. }) = self.own.before.filter(spurious) {
            self.own.before = None;
            (self.own.episodes, self.own.recovers) = (episodes, recovers);
            self.chain.on_spurious();
        }
    }

    /// Whether the window may grow (section 7.8).
    fn may_grow(&self, in_flight: u64) -> bool {
        match self.stack.rules.limited {
            LimitedRule::Ignored => true,
            LimitedRule::InFlight => in_flight + self.mss > self.chain.control.cwnd,
            LimitedRule::LastAttempt => self.own.blocked,
            LimitedRule::Window => self.own.full,
            LimitedRule::HalfUsed => {
                let control = &self.chain.control;
                let in_slow_start = control.cwnd < control.ssthresh;
                in_slow_start && in_flight > control.cwnd / 2 || in_flight + 3 * self.mss >= control.cwnd
            }
        }
    }

    /// Reports the delivered bytes to the schemes. What slow start leaves beyond the threshold is avoidance's.
    fn report(&mut self, now: u64, news: &News, in_flight: u64, (rtt, marked): (u64, bool)) {
        let limits = self.may_grow(in_flight);
        let rules_recovery = self.stack.rules.limited == LimitedRule::Window;
        let used = if rules_recovery { self.own.blocked } else { limits };
        let min_rtt = Nanos(self.known_min_rtt());
        let left = self.own.in_flight;
        let rate = self.own.sampler.as_mut().map_or_else(RateSample::default, |sampler| {
            let sample = sampler.sample(Nanos(now), news.bytes, min_rtt);
            if !used {
                sampler.set_app_limited(left);
            }
            sample
        });
        let recovering = self.own.episodes.is_recovering();
        let flags = if recovering { Ack::RECOVERY } else { 0 }
            | if news.packets == 1 { Ack::MAYBE_DELAYED } else { 0 }
            | if used { 0 } else { Ack::APP_LIMITED }
            | if rate.limited { Ack::RATE_LIMITED } else { 0 };
        let bytes = |bytes: u64| bytes.min(u32::MAX.into()) as u32;
        let in_slow_start = self.chain.control.cwnd < self.chain.control.ssthresh;
        let growth = match self.own.rules.grows_by_packets && in_slow_start {
            true => news.growing * self.mss,
            false if rules_recovery => news.out,
            false => news.growth,
        };
        let sample = AckSample {
            delivered: bytes(news.bytes),
            growth: if limits { bytes(growth) } else { 0 },
            in_flight: bytes(in_flight),
            pipe: bytes(self.own.in_flight),
            rtt,
            flags,
            rate: rate.rate(),
            prior_delivered: rate.prior_delivered,
            flight: self.own.flight,
            marked: if marked { bytes(news.bytes) } else { 0 },
            short: (0, 0),
        };
        let rest = self.notify(now, &sample);
        if rest > 0 {
            self.notify_rest(now, sample, rest);
        }
    }

    /// Packets before the oldest one in flight are of no interest.
    fn forget_oldest(&mut self) {
        while self.own.packets.front().is_some_and(|packet| packet.fate != Fate::Out) {
            // The newest packet of a lost segment is asked for until the segment leaves again.
            let front = self.own.packets[0];
            if front.fate == Fate::Lost && self.own.lost.contains(&front.segment) {
                break;
            }
            self.own.packets.pop_front();
            self.own.oldest += 1;
        }
    }
}
