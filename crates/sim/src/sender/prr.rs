//! Proportional rate reduction: the amount that each ACK of a recovery may send, in segments or bytes. RFC 6937, with the reduction
//! bound of RFC 9937, which made it a standard.
//!
//! RFC 6675 alone lets a sender that lost much of its flight send the difference to its new window in one burst,
//! into the very queue that had just overflowed. With PRR, sending follows delivery.

use firstflight_contract::mul_div_ceil;

/// The state of one recovery. All amounts are segments, or all are bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// Flight when the recovery began (RecoverFS).
    recover_flight: u64,
    /// Delivered since.
    delivered: u64,
    /// Sent since.
    sent: u64,
}

impl Prr {
    /// A recovery begins with `flight` outstanding.
    pub(crate) fn begin(flight: u64) -> Self {
        Self { recover_flight: flight.max(1), ..Self::default() }
    }

    /// Amount that may leave on an ACK that delivered `delivered`, with `pipe` in the network and a target window of `ssthresh`.
    /// `more` is what a safe ACK, which moved the cumulative ACK and showed no further loss, adds: a segment.
    pub(crate) fn allowance(&mut self, delivered: u64, pipe: u64, ssthresh: u64, more: u64) -> u64 {
        self.delivered += delivered;
        if pipe > ssthresh {
            // "sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out"
            mul_div_ceil(self.delivered, ssthresh, self.recover_flight).saturating_sub(self.sent)
        } else {
            // "limit = MAX(prr_delivered - prr_out, DeliveredData); if (SafeACK) limit += 1;
            //  sndcnt = MIN(ssthresh - pipe, limit)"
            let limit = self.delivered.saturating_sub(self.sent).max(delivered) + more;
            limit.min(ssthresh - pipe)
        }
    }

    /// "Force a fast retransmit upon entering recovery": an amount with at least `least` of it where nothing has left yet.
    pub(crate) fn forced(&self, amount: u64, least: u64) -> u64 {
        if self.sent == 0 { amount.max(least) } else { amount }
    }

    /// This amount left.
    pub(crate) fn on_sent(&mut self, amount: u64) {
        self.sent += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments sent on each of `acks` ACKs of one segment.
    fn walk(prr: &mut Prr, mut pipe: u64, ssthresh: u64, acks: usize, safe: bool) -> Vec<u64> {
        let mut counts = vec![];
        for _ in 0..acks {
            pipe -= 1;
            let count = prr.allowance(1, pipe, ssthresh, safe.into());
            let count = prr.forced(count, 1);
            prr.on_sent(count);
            pipe += count;
            counts.push(count);
        }
        counts
    }

    #[test]
    fn one_loss_of_ten_sends_every_other_ack_until_the_window_is_halved() {
        // RFC 6937 section 4's first case: 10 in flight, one lost, target 5. Nine ACKs send 5 in all:
        // CEIL(n * 5 / 10) after n of them = 1, 1, 2, 2, 3, 3, 4, 4, 5.
        let mut prr = Prr::begin(10);
        let counts = walk(&mut prr, 20, 5, 9, false);
        assert_eq!(counts, [1, 0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn after_heavy_loss_each_ack_sends_what_was_delivered_and_one_more_where_that_is_safe() {
        // 20 were in flight, 16 lost: the pipe of 4 lies far below the target of 10.
        assert_eq!(walk(&mut Prr::begin(20), 4, 10, 3, false), [1, 1, 1]);
        assert_eq!(walk(&mut Prr::begin(20), 4, 10, 3, true), [2, 2, 2]);
    }

    #[test]
    fn never_more_than_up_to_the_target() {
        let mut prr = Prr::begin(20);
        assert_eq!(prr.allowance(8, 9, 10, 1), 1);
    }
}
