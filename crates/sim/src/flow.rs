//! One connection: sender, receiver, delivery record, and the sender's port to the wire.

use crate::ahead::touch;
use crate::config::{FlowConfig, LinkConfig, Network, QueueConfig};
use crate::observe::{Observer, Seen};
use crate::receiver::{Receiver, Reports};
use crate::sender::app::{App, AppConfig};
use crate::sender::{AckIn, Port, Segment, Sender};
use crate::wire::{Content, SYN, Wire};

/// One connection.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    // The ends are processed one at a time; in each, the fields that every packet touches come first.
    pub(crate) receiver: Receiver,
    /// Expiry of the valid entry in the timer heap for each end: the earliest one.
    pub(crate) receiver_armed: u64,
    pub(crate) sender_armed: u64,
    grid_at: u64,
    header: u32,
    pub(crate) counted_finished: bool,
    pub(crate) sender: Sender,
    grid: Vec<u32>,
    grid_points: usize,
}

impl Flow {
    pub(crate) fn new(config: &FlowConfig, network: &Network) -> Self {
        let app = App::of(&config.app, &config.stack);
        let mut sender = Sender::new(config.stack.clone(), (*config.chain).clone(), app);
        sender.run_over(routers(config, &network.links), config.header);
        Self {
            sender,
            receiver: Receiver::new(config.ack_policy, Reports::to(config.stack.recovery))
                .waking_in(config.stack.wakes_in())
                .reading(config.stack.receive_window)
                .opened_by_data(config.stack.opens_with_data()),
            header: config.header,
            grid_at: u64::MAX,
            grid: vec![],
            grid_points: network.grid_points.try_into().unwrap_or(usize::MAX),
            counted_finished: false,
            sender_armed: u64::MAX,
            receiver_armed: u64::MAX,
        }
    }

    /// Whether the connection has sent anything: before, its only timer is that of its start.
    pub(crate) fn has_begun(&self) -> bool {
        self.sender_armed != self.sender.app().start()
    }

    /// Whether a connection that has begun and writes as `own` says might have written as `other` says so far.
    pub(crate) fn may_write(&self, own: &AppConfig, other: &AppConfig) -> bool {
        let first = |bytes: Option<u64>| bytes.map_or(u64::MAX, |bytes| bytes / self.sender.mss());
        let open = self.sender.app().completions().is_empty() && own.pauses.is_empty();
        own == other
            || open
                && *own == AppConfig { bytes: own.bytes, ..other.clone() }
                && first(other.bytes) > u64::from(self.sender.max)
    }

    /// A connection that has not begun, anew.
    pub(crate) fn anew(&self, config: &FlowConfig, network: &Network) -> Self {
        Self { sender_armed: self.sender_armed, ..Self::new(config, network) }
    }

    /// Lets a connection that has begun write as much as `config` says.
    pub(crate) fn go_on_as(&mut self, config: &FlowConfig) {
        self.sender.write_in_all(&config.app);
    }

    /// Sender, and the port through which it sends on the leg `leg`.
    #[inline(always)]
    pub(crate) fn split<'a, 'r, O>(
        &'a mut self,
        wire: &'a mut Wire<'r, O>,
        leg: u32,
    ) -> (&'a mut Sender, FlowPort<'a, 'r, O>) {
        (&mut self.sender, FlowPort { wire, leg, header: self.header })
    }

    /// Asks for the memory that a packet of data in order touches.
    #[inline(always)]
    pub(crate) fn expect_data(&self) {
        self.receiver.expect_data();
    }

    /// Asks for the memory that an ACK in order touches.
    #[inline(always)]
    pub(crate) fn expect_ack(&self) {
        touch(&self.grid_at);
        self.sender.expect_ack();
    }

    /// Lets the sender see the window that an ACK up to `next` carries.
    #[inline(always)]
    pub(crate) fn pass_window(&mut self, next: u32) {
        if self.sender.is_offered_a_tuned_window() && next >= self.sender.acked() {
            self.sender.offer(self.receiver.offered(next));
        }
    }

    /// Time at which the sender's host has processed an ACK that arrives at `now`: at once, unless the host needs time. `None`
    /// if the host has no room for the ACK. Delivery is recorded up to then.
    #[inline]
    pub(crate) fn processed_at(&mut self, now: u64, ack: &AckIn, step: u64) -> Option<u64> {
        let una = self.sender.acked();
        let Some(host) = &mut self.sender.processor else { return Some(now) };
        let at = host.accept(now, ack, una)?;
        self.keep_grid(at, step);
        Some(at)
    }

    /// Time at which the sender's host has processed all ACKs that have arrived; zero if it needs no time.
    pub(crate) fn processes_until(&self) -> u64 {
        self.sender.processor.as_ref().map_or(0, |host| host.free_at())
    }

    /// Starts the delivery record when the connection is established.
    pub(crate) fn begin_grid(&mut self, step: u64) {
        if self.grid_at == u64::MAX
            && self.grid.is_empty()
            && let Some(start) = self.sender.app().established_at()
        {
            self.grid_at = start + step;
        }
    }

    /// Records delivery at every grid time that has passed by `now`.
    #[inline(always)]
    pub(crate) fn keep_grid(&mut self, now: u64, step: u64) {
        if now >= self.grid_at {
            self.record_grid(now, step);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_grid(&mut self, now: u64, step: u64) {
        while self.grid_at <= now {
            self.grid.push(self.sender.acked());
            self.grid_at += step;
            if self.grid.len() > self.grid_points {
                self.grid_at = u64::MAX;
            }
        }
    }

    /// Delivery record up to the end of the run.
    pub(crate) fn close_grid(&mut self, end: u64, step: u64) -> Vec<u32> {
        self.keep_grid(end, step);
        let mut grid = std::mem::take(&mut self.grid);
        // A run that drains goes on for a while after its end.
        let lasted = self.sender.app().established_at().map_or(0, |start| end.saturating_sub(start));
        grid.truncate((lasted / step).try_into().unwrap_or(usize::MAX));
        grid
    }
}

/// Number of routers towards the receiver that can delay or drop a packet: those whose queue is limited.
fn routers(config: &FlowConfig, links: &[LinkConfig]) -> u8 {
    let bounded = config.forward.iter().filter(|&&link| links[link].queue != QueueConfig::Unlimited);
    bounded.count().min(u8::MAX.into()) as u8
}

/// Port that puts a sender's packets onto its first leg.
pub(crate) struct FlowPort<'a, 'r, O> {
    wire: &'a mut Wire<'r, O>,
    leg: u32,
    header: u32,
}

impl<O: Observer> Port for FlowPort<'_, '_, O> {
    #[inline(always)]
    fn transmit(&mut self, now: u64, segment: Segment, (flags, high): (u64, u64), retransmission: bool) {
        let size = segment.bytes + self.header;
        let leg = self.wire.leg(self.leg);
        let mut content = Content { seq: segment.number, low: u64::from(size) | flags, high };
        if O::ON {
            let seen = Seen { payload: segment.data, ..Seen::data(leg.flow, segment.number, content.low) };
            self.wire.observer.sent(now, seen, retransmission);
        }
        self.wire.carry(now, leg, size, &mut content);
    }

    fn transmit_syn(&mut self, now: u64, (flags, high): (u64, u64)) {
        let leg = self.wire.leg(self.leg);
        let mut content = Content { seq: SYN, low: u64::from(self.header) | flags, high };
        if O::ON {
            self.wire.observer.sent(now, Seen::data(leg.flow, SYN, content.low), false);
        }
        self.wire.carry(now, leg, self.header, &mut content);
    }
}
