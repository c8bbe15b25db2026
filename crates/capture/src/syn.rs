//! The SYN that opened one end of a connection. A second one with another number, such as the late answer of a middlebox, is not
//! the connection's: that is the first one that the other end acknowledges (RFC 9293, section 3.5).

use crate::packet::TcpPacket;

/// A SYN of one end: its number, and the options that hold for the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Syn {
    /// Unwrapped sequence number.
    pub(crate) seq: u64,
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    /// Whether the capture truncated the options, so that they are unknown.
    pub(crate) cut: bool,
}

impl Syn {
    pub(crate) fn new(seq: u64, packet: &TcpPacket) -> Self {
        Self { seq, mss: packet.mss, window_scale: packet.window_scale, cut: !packet.whole }
    }

    /// Adds the options of a copy or a retransmission.
    fn join(&mut self, other: Self) {
        self.mss = other.mss.or(self.mss);
        self.window_scale = other.window_scale.or(self.window_scale);
        self.cut |= other.cut;
    }
}

/// The SYNs of one end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Syns {
    /// The one of the connection, as far as is known.
    own: Option<Syn>,
    /// Others, while none is acknowledged.
    others: [Option<Syn>; 3],
    acknowledged: bool,
}

impl Syns {
    /// The SYN of the connection.
    pub(crate) fn own(&self) -> Option<Syn> {
        self.own
    }

    /// The windows of this end are shifted by so many bits.
    pub(crate) fn scale_windows(&mut self, shift: u8) {
        if let Some(own) = &mut self.own {
            (own.window_scale, own.cut) = (Some(shift), false);
        }
    }

    /// Adds a SYN. Returns whether its number is that of the connection, as far as is known.
    pub(crate) fn add(&mut self, syn: Syn) -> bool {
        match &mut self.own {
            None => {
                self.own = Some(syn);
                true
            }
            Some(own) if own.seq == syn.seq => {
                own.join(syn);
                true
            }
            Some(_) => {
                let known = |place: &&mut Option<Syn>| place.is_none_or(|other| other.seq == syn.seq);
                if !self.acknowledged
                    && let Some(place) = self.others.iter_mut().find(known)
                {
                    place.get_or_insert(syn).join(syn);
                }
                false
            }
        }
    }

    /// Whether an acknowledgement may decide which SYN is the connection's.
    pub(crate) fn undecided(&self) -> bool {
        self.own.is_some() && !self.acknowledged
    }

    /// The other end acknowledges all before `ack`: the connection's SYN is the one closest before it. Returns the SYN if it is another
    /// than the one so far.
    pub(crate) fn acknowledge(&mut self, ack: u32) -> Option<Syn> {
        // More data than this does not pass between two captured packets at the start of a connection.
        const NEAR: u32 = 1 << 30;
        let all = self.own.into_iter().chain(self.others.into_iter().flatten());
        let behind = |syn: &Syn| ack.wrapping_sub(syn.seq as u32).wrapping_sub(1);
        let syn = all.min_by_key(behind).filter(|syn| behind(syn) < NEAR)?;
        self.acknowledged = true;
        let changed = self.own != Some(syn);
        self.own = Some(syn);
        changed.then_some(syn)
    }
}
