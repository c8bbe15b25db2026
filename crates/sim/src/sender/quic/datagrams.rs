//! Sizes of datagrams: tickets behind the handshake, discovery of the path MTU (RFC 8899), and the data between them.

use super::Quic;
use crate::sender::Port;
use crate::sender::connection::Connection;
use crate::sender::stack::{Datagrams, Widening};
use firstflight_contract::mul_div;

/// UDP payload of the packet that takes the place of a lost datagram without data.
pub(super) const STUB: u32 = 40;

/// A datagram without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Control {
    segment: u32,
    bytes: u32,
    probes: bool,
}

/// State of the discovery of the path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// The next probe leaves with the next datagrams.
    Due,
    /// A probe is on its way.
    Out,
    /// All sizes were tried.
    Over,
}

/// Sizes of one connection's datagrams, bytes of UDP payload.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Largest datagram that the network carries.
    largest: u32,
    /// A full datagram now.
    full: u32,
    /// Datagrams without data, in the order of their segments.
    controls: Vec<Control>,
    search: Search,
    /// Time before which no probe leaves, where one waits.
    waits_until: Option<u64>,
    /// Position of the size that is tried in the list of the stack.
    tried: usize,
}

impl Sizes {
    pub(super) fn of(rules: &Datagrams, largest: u32) -> Self {
        let search = if rules.discovery.sizes.is_empty() { Search::Over } else { Search::Due };
        Self { largest, full: rules.first, controls: vec![], search, waits_until: None, tried: 0 }
    }

    /// A full datagram.
    pub(super) fn full(&self) -> u32 {
        self.full
    }

    fn control(&self, segment: u32) -> Option<Control> {
        let last = self.controls.last()?;
        if segment > last.segment {
            return None;
        }
        let place = self.controls.binary_search_by_key(&segment, |control| control.segment).ok()?;
        Some(self.controls[place])
    }
}

impl Connection<Quic> {
    /// UDP payload of a segment that leaves for the first time.
    pub(super) fn datagram_of(&self, segment: u32) -> u32 {
        match self.own.sizes.control(segment) {
            Some(control) => control.bytes,
            None => {
                let offset = self.app.bytes_in(segment, 0);
                let bytes = self.app.segmentation().bytes(segment, 0) + self.own.rules.overhead_at(offset);
                // A later write is a stream of its own, whose frames have short offsets again.
                bytes.min(self.own.sizes.full)
            }
        }
    }

    /// Cuts the data from `segment` on, which has not left, into full datagrams. The offset of a frame takes room.
    fn cut_from(&mut self, segment: u32) {
        let (full, rules) = (self.own.sizes.full, *self.own.rules);
        let (mut from, mut offset) = (segment, self.app.bytes_in(segment, 0));
        loop {
            let data = full - rules.overhead_at(offset);
            self.common.app.resize_from(from, data);
            let until = match offset {
                0 => 1,
                1..Datagrams::LONG_OFFSET => Datagrams::LONG_OFFSET,
                _ => return,
            };
            let more = (until - offset).div_ceil(data.into());
            from += more as u32;
            offset += more * u64::from(data);
        }
    }

    /// Cuts a datagram with data, which has not left, to `bytes`; those behind it are full.
    pub(super) fn cut_to(&mut self, segment: u32, bytes: u32) {
        if self.carries_data(segment) {
            let offset = self.app.bytes_in(segment, 0);
            let data = bytes - self.own.rules.overhead_at(offset);
            self.common.app.resize_from(segment, data);
            self.cut_from(segment + 1);
            self.hand_over();
        }
    }

    /// Whether a segment carries data.
    pub(super) fn carries_data(&self, segment: u32) -> bool {
        self.own.sizes.control(segment).is_none()
    }

    /// Whether a segment is a probe of the path MTU.
    pub(super) fn is_probe(&self, segment: u32) -> bool {
        self.own.sizes.control(segment).is_some_and(|control| control.probes)
    }

    /// The handshake has ended: the stack's own datagrams precede the data.
    pub(super) fn place_opening(&mut self) {
        for &bytes in self.own.rules.opening {
            self.place(bytes, false);
        }
        if self.own.rules.discovery.leads {
            self.place_probe();
        }
        let behind = self.own.sizes.controls.last().map_or(0, |control| control.segment + 1);
        self.cut_from(behind);
    }

    /// Puts a datagram without data behind the last placed one and all that was sent.
    fn place(&mut self, bytes: u32, probes: bool) {
        let behind = self.own.sizes.controls.last().map_or(0, |control| control.segment + 1);
        let segment = behind.max(self.nxt);
        self.common.app.insert_empty(segment);
        self.own.sizes.controls.push(Control { segment, bytes, probes });
    }

    /// Places the next probe, if one is due.
    fn place_probe(&mut self) -> bool {
        if self.own.sizes.search != Search::Due {
            return false;
        }
        let sizes = self.own.rules.discovery.sizes;
        let fits = |size: &&u32| **size <= self.own.sizes.largest;
        let Some(&size) = sizes.get(self.own.sizes.tried).filter(fits) else {
            self.own.sizes.search = Search::Over;
            return false;
        };
        self.own.sizes.search = Search::Out;
        let packets = u64::from(self.stack.initial_window);
        if self.own.rules.discovery.widens == Widening::Probe
            && self.chain.control.cwnd == packets * u64::from(self.stack.mss) + self.own.rules.handshake
        {
            self.chain.control.cwnd = packets * u64::from(size);
        }
        self.place(size, true);
        true
    }

    /// Sends the next probe behind the data, if one is due. Windows count it, and do not hold it back.
    pub(super) fn send_probe(&mut self, now: u64, port: &mut impl Port) {
        if self.own.sizes.search != Search::Due || !self.established {
            return;
        }
        let delay = self.own.rules.discovery.delay;
        let from = *self.own.sizes.waits_until.get_or_insert(now + delay.0);
        if now < from {
            self.pace_at = self.pace_at.min(from);
            self.check_at = self.check_at.min(from);
            return;
        }
        self.own.sizes.waits_until = None;
        if !self.place_probe() {
            return;
        }
        self.cut_from(self.nxt + 1);
        self.hand_over();
        self.send_next(now, port);
    }

    /// A datagram without data has arrived.
    pub(super) fn on_control_delivered(&mut self, segment: u32) {
        let Some(control) = self.own.sizes.control(segment).filter(|control| control.probes) else { return };
        if control.bytes <= self.own.sizes.full {
            return;
        }
        if self.own.rules.discovery.widens == Widening::Arrival {
            let (window, full) = (self.chain.control.cwnd, self.own.sizes.full);
            self.chain.control.cwnd = mul_div(window, control.bytes.into(), full.into());
        }
        self.own.sizes.full = control.bytes;
        self.own.sizes.tried += 1;
        self.own.sizes.search = Search::Due;
        self.cut_from(self.nxt);
        self.hand_over();
        self.mss = control.bytes.into();
        self.chain.set_mss(control.bytes);
    }

    /// A datagram without data was lost: a packet takes its place, and a probe is tried again.
    pub(super) fn on_control_lost(&mut self, segment: u32) {
        let sizes = &mut self.own.sizes;
        let Some(control) = sizes.controls.iter_mut().find(|control| control.segment == segment) else {
            return;
        };
        control.bytes = STUB;
        if std::mem::take(&mut control.probes) {
            sizes.search = Search::Due;
        }
    }
}
