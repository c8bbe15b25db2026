//! The interface of a phase.

use crate::{Ack, Congestion, Control, DescribeAck, Entry, Exit, Lost, Sent, Step};

/// One phase of a connection. A start-up phase ends; an avoidance phase never does.
///
/// A phase has no clock, no I/O, no randomness, and allocates nothing. The host clamps `cwnd` to at least one segment
/// after every call.
pub trait Phase {
    /// The connection is about to be opened; only the number of queued bytes is known. A phase that wants the routers to
    /// grant a rate writes [`Control::ask`]; the answer arrives in [`Entry::granted`].
    fn open(&mut self, _entry: &Entry, _control: &mut Control) {}

    /// The phase begins. State such as an estimate may survive from an earlier stay in the same connection.
    fn enter(&mut self, entry: &Entry, control: &mut Control);

    /// Data left the host. Called only if a phase of the chain needs [`Signals::SENT`](crate::Signals::SENT).
    fn on_sent(&mut self, _sent: &Sent, _control: &mut Control) {}

    /// A segment was declared lost. The host reports it after the episode that it begins, and before the ACK that showed it.
    /// Called only if a phase of the chain needs [`Signals::LOSSES`](crate::Signals::LOSSES).
    fn on_lost(&mut self, _lost: &Lost, _control: &mut Control) {}

    /// New data was acknowledged. While [`Ack::RECOVERY`] is set the phase measures but leaves `cwnd` alone, unless it is a
    /// standalone scheme. A phase that answered the congestion with [`Step::Over`] may lower `cwnd` and `ssthresh` further.
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step;

    /// [`Phase::on_ack`] with a description that is computed where it is read: a phase that reads two fields costs two.
    #[inline(always)]
    fn on_described_ack(&mut self, ack: &impl DescribeAck, control: &mut Control) -> Step
    where
        Self: Sized,
    {
        ack.show(|ack| self.on_ack(ack, control))
    }

    /// Acknowledged bytes that a growth of the window by `grown` bytes took at the last ACK: as many, unless the phase grows more
    /// slowly. Where growth ends at the threshold, the host lets the next phase count the others.
    fn spent(&self, grown: u64) -> u64 {
        grown
    }

    /// An ACK that another phase answers: a start-up scheme, or slow start below the threshold. `cwnd` is the window at its
    /// arrival. Called only for the last phase of a chain, and only if it [watches](crate::Declaration::watches): it may
    /// need to know the path before avoidance begins.
    fn on_watched(&mut self, _ack: &Ack, _cwnd: u64) {}

    /// A loss, mark or timeout episode began: the phase sets `ssthresh`, and the window to hold after recovery.
    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step;

    /// The last congestion episode was spurious: the phase restores its own state. The host restores the registers.
    fn on_spurious(&mut self) {}
}

/// Slow start's growth (RFC 5681 section 3.1), the rule below the threshold in every phase that has no other.
#[inline]
pub fn slow_start(ack: &Ack, control: &mut Control) -> Step {
    if ack.is(Ack::RECOVERY) {
        return Step::Stay;
    }
    // RFC 5681: "During slow start, a TCP increments cwnd by at most SMSS bytes for each ACK received that
    // cumulatively acknowledges new data." The host puts that bound, or its profile's, into `growth`.
    // Slow start is for a window below the threshold. A step of one segment may pass a threshold that is a part of a segment away;
    // a larger one (Linux, RFC 3465, RFC 9406) ends there, as in Linux's `tcp_slow_start`, and the next phase counts the rest.
    let room = if ack.growth > u64::from(ack.mss) {
        control.ssthresh.saturating_sub(control.cwnd)
    } else {
        u64::MAX
    };
    control.cwnd += ack.growth.min(room);
    // RFC 5681: "Slow start ends when cwnd exceeds ssthresh or when congestion is observed."
    if control.cwnd >= control.ssthresh {
        return Step::Exit(Exit::Threshold);
    }
    Step::Stay
}
