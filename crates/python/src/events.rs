//! Events and registers of schemes as Python objects: the structs of the contract, field by field.

use firstflight::scheme::{self as contract, Nanos, Rate};
use pyo3::prelude::*;

/// Mirrors a struct of the contract as a read-only Python class. A field's name in Rust follows `=` where it differs in type.
macro_rules! event {
    ($(#[$meta:meta])* $name:ident of $rust:ident { $($(#[$doc:meta])* $field:ident: $type:ty = $value:expr,)+ }) => {
        $(#[$meta])*
        #[pyclass(frozen, get_all, module = "firstflight")]
        #[derive(Clone, Debug)]
        pub struct $name { $($(#[$doc])* $field: $type,)+ }

        impl From<&contract::$rust> for $name {
            fn from(event: &contract::$rust) -> Self {
                Self { $($field: { let read: fn(&contract::$rust) -> $type = $value; read(event) },)+ }
            }
        }

        #[pymethods]
        impl $name {
            fn __repr__(&self) -> String {
                format!("{self:?}")
            }
        }
    };
}

event! {
    /// One processed ACK that delivered data. Times are nanoseconds, amounts are bytes of payload, rates are bit/s; 0 is unknown.
    Ack of Ack {
        /// Arrival time of the ACK, nanoseconds.
        now: u64 = |it| it.now.0,
        /// Round-trip time of the newest delivered segment, nanoseconds; 0 if only retransmissions were delivered.
        rtt: u64 = |it| it.rtt.0,
        /// Smallest round-trip time of the connection so far, nanoseconds.
        min_rtt: u64 = |it| it.min_rtt.0,
        /// Smoothed round-trip time (RFC 6298), nanoseconds.
        srtt: u64 = |it| it.srtt.0,
        /// Bytes newly delivered by this ACK, cumulatively or selectively.
        acked: u64 = |it| it.acked,
        /// Bytes of `acked` that may enlarge the window under the stack's growth rule.
        growth: u64 = |it| it.growth,
        /// Total bytes delivered since the connection began, this ACK included.
        delivered: u64 = |it| it.delivered,
        /// Total bytes sent since the connection began, retransmissions included.
        sent: u64 = |it| it.sent,
        /// Total bytes declared lost since the connection began.
        lost: u64 = |it| it.lost,
        /// Total bytes retransmitted since the connection began.
        retransmitted: u64 = |it| it.retransmitted,
        /// Bytes in flight before this ACK.
        in_flight: u64 = |it| it.in_flight,
        /// Bytes in flight after this ACK (RFC 6675's pipe).
        pipe: u64 = |it| it.pipe,
        /// Bytes newly reported as marked by ECN.
        ce: u64 = |it| it.ce,
        /// Delivery-rate sample, bit/s; 0 if this ACK gives none. Needs the signal delivery-rate.
        rate: u64 = |it| it.rate.0,
        /// Value of `delivered` when the newest delivered segment was sent. Needs the signal delivery-rate.
        prior_delivered: u64 = |it| it.prior_delivered,
        /// Value of `lost` when that segment was sent. Needs the signal per-packet-loss.
        prior_lost: u64 = |it| it.prior_lost,
        /// Bytes in flight just after that segment was sent, itself included. Needs the signal per-packet-loss.
        prior_in_flight: u64 = |it| it.prior_in_flight,
        /// Packet-timed round trips completed since the connection began.
        round: u32 = |it| it.round,
        /// Whether this is the first ACK of a new round.
        round_start: bool = |it| it.is(contract::Ack::ROUND_START),
        /// Whether the application or the receive window limited the sender.
        app_limited: bool = |it| it.is(contract::Ack::APP_LIMITED),
        /// Whether the stack is recovering from losses: it rules the window then, the scheme only measures.
        recovery: bool = |it| it.is(contract::Ack::RECOVERY),
        /// Whether the application limited the sender during the rate sample: the path may be faster.
        rate_limited: bool = |it| it.is(contract::Ack::RATE_LIMITED),
        /// Whether the ACK covers one segment only: the receiver may have delayed it.
        maybe_delayed: bool = |it| it.is(contract::Ack::MAYBE_DELAYED),
        /// Payload bytes of a full segment; never 0.
        mss: u32 = |it| it.mss,
    }
}

event! {
    /// Data left the sender. Reported to schemes that need the signal per-packet-send.
    Sent of Sent {
        /// Time of sending, nanoseconds.
        now: u64 = |it| it.now.0,
        /// Payload bytes sent.
        bytes: u64 = |it| it.bytes,
        /// Payload bytes of a full segment; never 0.
        mss: u32 = |it| it.mss,
    }
}

event! {
    /// A segment was declared lost. Reported to schemes that need the signal per-packet-loss.
    Lost of Lost {
        /// Time at which the sender declared it, nanoseconds.
        now: u64 = |it| it.now.0,
        /// Its payload bytes.
        bytes: u64 = |it| it.bytes,
        /// Position of the segment in the order of the data: the segment that follows it has the next number.
        number: u64 = |it| it.number,
        /// Total bytes delivered since the connection began, those of the ACK that showed the loss included.
        delivered: u64 = |it| it.delivered,
        /// Total bytes declared lost since the connection began, these included.
        lost: u64 = |it| it.lost,
        /// Value of `delivered` when the segment was sent.
        prior_delivered: u64 = |it| it.prior_delivered,
        /// Value of `lost` when the segment was sent.
        prior_lost: u64 = |it| it.prior_lost,
        /// Bytes in flight just after the segment was sent, itself included.
        prior_in_flight: u64 = |it| it.prior_in_flight,
        /// Whether the application limited the sender when the segment was sent.
        rate_limited: bool = |it| it.flags & contract::Lost::RATE_LIMITED != 0,
        /// Payload bytes of a full segment; never 0.
        mss: u32 = |it| it.mss,
    }
}

event! {
    /// The start of a loss, mark or timeout episode; each episode is reported once.
    Congestion of Congestion {
        /// Time at which the sender detected the episode, nanoseconds.
        now: u64 = |it| it.now.0,
        /// Bytes in flight at that time, lost bytes included.
        in_flight: u64 = |it| it.in_flight,
        /// The window that a multiplicative decrease applies to, bytes; never 0.
        base: u64 = |it| it.base,
        /// Bytes declared lost so far in this episode.
        lost: u64 = |it| it.lost,
        /// Smallest round-trip time of the connection so far, nanoseconds.
        min_rtt: u64 = |it| it.min_rtt.0,
        /// Signal that began the episode, as the reason with which a start-up ends: loss, mark or timeout.
        trigger: &'static str = |it| contract::Exit::from(it.trigger).label(),
        /// Payload bytes of a full segment; never 0.
        mss: u32 = |it| it.mss,
    }
}

event! {
    /// Start that a memory of the path proposes; all fields are 0 without one.
    Plan of Plan {
        /// Proposed window, bytes.
        cwnd: u64 = |it| it.cwnd,
        /// Proposed slow-start threshold, bytes.
        ssthresh: u64 = |it| it.ssthresh,
        /// Round-trip time for which the start was proposed, nanoseconds.
        rtt: u64 = |it| it.rtt.0,
        /// Time since the path was last measured, nanoseconds.
        age: u64 = |it| it.age.0,
        /// Number of samples behind the proposal.
        samples: u64 = |it| it.samples,
    }
}

event! {
    /// Why a scheme begins, and the knowledge of the path at that time.
    Entry of Entry {
        /// Time at which the scheme begins, nanoseconds.
        now: u64 = |it| it.now.0,
        /// Smoothed round-trip time, or the handshake's, nanoseconds; 0 without a sample.
        rtt: u64 = |it| it.rtt.0,
        /// Bytes in flight.
        in_flight: u64 = |it| it.in_flight,
        /// Bytes that the application has queued; 2**64 - 1 if unlimited.
        flow_size: u64 = |it| it.flow_size,
        /// The peer's receive window, bytes.
        receive_window: u64 = |it| it.receive_window,
        /// Congestion window before an idle time, bytes; 0 unless `why` is idle.
        window: u64 = |it| it.window,
        /// Start proposed by a memory of the path.
        plan: Plan = |it| Plan::from(&it.plan),
        /// Rate that the routers granted, bit/s; 0 without one.
        granted: u64 = |it| it.granted.0,
        /// Payload bytes of a full segment; never 0.
        mss: u32 = |it| it.mss,
        /// Cause: connect, handover, idle, migrate or timeout.
        why: &'static str = |it| match it.why {
            contract::Why::Connect => "connect",
            contract::Why::Handover => "handover",
            contract::Why::Idle => "idle",
            contract::Why::Migrate => "migrate",
            contract::Why::Timeout => "timeout",
        },
    }
}

/// The registers that a scheme writes. The sender enforces them, and keeps the window at one segment at least.
#[pyclass(get_all, set_all, module = "firstflight")]
#[derive(Clone, Debug)]
pub struct Control {
    /// Congestion window, bytes.
    cwnd: u64,
    /// Slow-start threshold, bytes; 2**64 - 1 is infinite.
    ssthresh: u64,
    /// Pacing rate, bit/s; 0 sends as the window allows. Needs the signal pacing.
    pacing: u64,
    /// Rate to ask the routers for, bit/s; 0 asks for nothing.
    ask: u64,
    /// Largest number of bytes that may leave back to back under pacing; 0 is one segment.
    burst: u64,
    /// Whether new data is marked as droppable.
    droppable: bool,
    /// Whether the window in use is a guess, which the sender takes back after the first sign of loss.
    provisional: bool,
}

#[pymethods]
impl Control {
    /// Spreads `bytes` evenly over `span` nanoseconds, one segment of `mss` bytes at a time.
    fn pace(&mut self, bytes: u64, span: u64, mss: u64) {
        let mut control = self.register();
        control.pace(bytes, Nanos(span), mss);
        *self = Self::of(&control);
    }

    /// Ends pacing: data leaves as the window allows.
    fn stop_pacing(&mut self) {
        (self.pacing, self.burst) = (0, 0);
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl Control {
    /// The registers as Python sees them.
    pub(crate) fn of(control: &contract::Control) -> Self {
        let contract::Control { cwnd, ssthresh, pacing, ask, burst, droppable, provisional } = *control;
        Self { cwnd, ssthresh, pacing: pacing.0, ask: ask.0, burst, droppable, provisional }
    }

    /// The registers.
    pub(crate) fn register(&self) -> contract::Control {
        let Self { cwnd, ssthresh, pacing, ask, burst, droppable, provisional } = *self;
        contract::Control {
            cwnd,
            ssthresh,
            pacing: Rate(pacing),
            ask: Rate(ask),
            burst,
            droppable,
            provisional,
        }
    }
}

/// Slow start's growth (RFC 5681 section 3.1): the rule below the threshold in every scheme that has no other. The answer is that
/// of on_ack.
#[pyfunction]
pub fn slow_start(ack: PyRef<'_, Ack>, mut control: PyRefMut<'_, Control>) -> Option<&'static str> {
    if ack.recovery {
        return None;
    }
    control.cwnd = control.cwnd.saturating_add(ack.growth);
    (control.cwnd >= control.ssthresh).then_some(contract::Exit::Threshold.label())
}
