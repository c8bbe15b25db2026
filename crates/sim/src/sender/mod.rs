//! TCP senders: sequence space, timers and window, in front of a chain of schemes.
//!
//! A sender counts segments; the schemes see bytes. It knows no network: its packets go to a [`Port`], and it may run
//! ahead of the clocks of all others, because only its own ACKs and timers move it. An ACK that finds nothing out of order
//! takes a short path.
//!
//! There are three kinds: [`rfc`] follows the RFCs and, with other rules, ns-2; [`linux`] follows the Linux kernel; [`quic`]
//! follows RFC 9002 and the rules of QUIC stacks. The stack chooses the kind once, when the sender is made. The shared mechanisms are in the other files of this folder:
//! [`connection`] has the events, [`common`] the state.

/// Calls the same method on the connection of either kind.
macro_rules! each {
    ($kinds:expr, $connection:ident => $call:expr) => {
        match $kinds {
            Kinds::Rfc($connection) => $call,
            Kinds::Linux($connection) => $call,
            Kinds::Quic($connection) => $call,
        }
    };
}

pub mod app;
mod common;
pub(crate) mod connection;
mod driven;
mod handshake;
pub mod info;
mod linux;
mod processor;
mod prr;
mod quic;
pub(crate) mod rfc;
pub(crate) mod routers;
pub mod rto;
mod rto_linux;
mod scoreboard;
pub mod segmentation;
pub mod stack;
pub(crate) mod stamps;
pub mod stream;
mod timers;

use crate::alike::Alike;
use crate::packet::{self, Blocks};
use app::App;
pub use common::{Common, SenderStats};
use connection::{Connection, SenderKind};
use core::ops::{Deref, DerefMut};
use firstflight_contract::Signals;
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::AnyPhase;
use linux::Linux;
use quic::Quic;
use rfc::Rfc;
use stack::{Recovery, Stack};

/// A segment that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub number: u32,
    /// Its payload, bytes: of QUIC that of UDP.
    pub bytes: u32,
    /// Data of the application in it, bytes.
    pub data: u32,
}

/// Destination of a sender's packets.
pub trait Port {
    /// `segment` leaves at `now`; `words` are the flags of a data packet and the word that it carries for routers.
    fn transmit(&mut self, now: u64, segment: Segment, words: (u64, u64), retransmission: bool);
    /// The opening packet of a handshake leaves at `now`.
    fn transmit_syn(&mut self, now: u64, words: (u64, u64));
    /// `segment` becomes two, the first of `bytes` payload bytes, and the segments after it get the next number. Only a
    /// receive window that ends inside a segment asks for it, and none in the simulator does.
    fn split(&mut self, _segment: u32, _bytes: u32) {
        unreachable!("receive windows of this host end between segments");
    }
}

/// An ACK as it reaches the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckIn {
    /// The next segment the receiver expects.
    pub seq: u32,
    /// Packed SACK blocks and flags.
    pub low: u64,
    /// Packed SACK blocks.
    pub high: u64,
}

impl AckIn {
    pub(crate) fn blocks(&self) -> Blocks {
        packet::unpack_blocks(self.seq, self.low, self.high)
    }

    pub(crate) fn echoes_mark(&self) -> bool {
        self.low & packet::CWR_ECE != 0
    }
}

/// One connection's sending end.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct Sender(Kinds);

/// The kinds of sender. In each, the common state lies at the same place, so that reading it needs no look at the kind.
#[derive(Clone, Debug)]
#[repr(C)]
enum Kinds {
    Rfc(Connection<Rfc>),
    Linux(Connection<Linux>),
    Quic(Connection<Quic>),
}

impl Deref for Sender {
    type Target = Common;

    #[inline(always)]
    fn deref(&self) -> &Common {
        each!(&self.0, connection => &connection.common)
    }
}

impl DerefMut for Sender {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Common {
        each!(&mut self.0, connection => &mut connection.common)
    }
}

impl Sender {
    /// Signals for schemes that senders of one kind or another offer.
    pub const OFFERED: Signals =
        <Connection<Rfc> as SenderKind>::OFFERED.union(<Connection<Linux> as SenderKind>::OFFERED);

    /// A connection that will begin when its application says so.
    pub fn new(stack: impl Into<Alike<Stack>>, chain: Chain<AnyPhase>, app: App) -> Self {
        let stack = stack.into();
        Self(match stack.recovery {
            Recovery::Rack { .. } => Kinds::Linux(Connection::<Linux>::new(stack, chain, app)),
            Recovery::Packets => Kinds::Quic(Connection::<Quic>::new(stack, chain, app)),
            _ => Kinds::Rfc(Connection::<Rfc>::new(stack, chain, app)),
        })
    }

    /// The sender, of the kind that can share its window.
    pub(crate) fn shared(&self) -> &Connection<Rfc> {
        match &self.0 {
            Kinds::Rfc(connection) => connection,
            _ => unreachable!("a shared window needs a sender by the RFCs"),
        }
    }

    /// The same, to be changed.
    pub(crate) fn sharing(&mut self) -> &mut Connection<Rfc> {
        match &mut self.0 {
            Kinds::Rfc(connection) => connection,
            _ => unreachable!("a shared window needs a sender by the RFCs"),
        }
    }

    /// An ACK arrives at `now`. Timers due before it fire first, at their own times.
    pub fn on_ack(&mut self, now: u64, ack: AckIn, port: &mut impl Port) {
        each!(&mut self.0, connection => connection.on_ack(now, ack, port));
    }

    /// Asks for the memory that an ACK in order touches.
    #[inline(always)]
    pub(crate) fn expect_ack(&self) {
        self.deref().expect_ack();
    }

    /// The short path, for an ACK that [is expected](Common::expects).
    #[inline(always)]
    pub(crate) fn on_next_ack(&mut self, now: u64, ack: u32, port: &mut impl Port) {
        each!(&mut self.0, connection => connection.on_next_ack(now, ack, port));
    }

    /// A handshake's answer, with `header` for its high word, arrives at `now`.
    pub fn on_handshake(&mut self, now: u64, header: u64, port: &mut impl Port) {
        each!(&mut self.0, connection => connection.on_handshake(now, header, port));
    }

    /// Fires every timer due up to `to`, each at its own time.
    #[cold]
    pub fn advance(&mut self, to: u64, port: &mut impl Port) {
        each!(&mut self.0, connection => connection.advance(to, port));
    }

    /// The registers now.
    pub fn info(&self) -> info::Info {
        each!(&self.0, connection => connection.info())
    }
}
