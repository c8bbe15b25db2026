//! Congestion episodes: each series of losses or marks of one window of data, and each timeout, is reported to the schemes
//! once (RFC 6582, RFC 3168 section 6.1.2, RFC 9002 section 7.3).
//!
//! An episode begins with a loss, a mark or a timeout, and covers all data that was sent before its beginning. A position
//! is a sequence number or a packet number, counted from zero without wrapping around: bytes, segments or packets.

/// Answers to congestion at most once per window of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OncePerWindow {
    /// First position sent after the last answer.
    end: u64,
}

impl OncePerWindow {
    /// Whether data that was sent before the last answer is still to be acknowledged. `acked` is the cumulative ACK, or the
    /// number of the newest packet that the ACK delivers.
    pub fn is_open(&self, acked: u64) -> bool {
        acked < self.end
    }

    /// Congestion is reported by an ACK; `acked` as in [`OncePerWindow::is_open`], `next` is the position of the next new data.
    /// Returns true if the host answers: no window is open. The answer opens one.
    pub fn begin(&mut self, acked: u64, next: u64) -> bool {
        let begins = !self.is_open(acked);
        if begins {
            self.end = next;
        }
        begins
    }
}

/// The present congestion episode of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Episodes {
    /// First position sent after the last loss or timeout episode began (RFC 6582: one above `recover`); `None` before the
    /// first.
    recover: Option<u64>,
    /// Data below `recover` is still to be acknowledged.
    recovering: bool,
    marks: OncePerWindow,
    /// Position of the cumulative ACK when the timer last fired.
    timeout_at: Option<u64>,
}

impl Episodes {
    /// The packet at position `lost` was found to be lost; `next` is the position of the next new data. Returns true if an
    /// episode begins, which the host then reports as a loss.
    ///
    /// RFC 9002 section 7.3.2: a loss belongs to the present episode if the packet
    /// was sent before the episode began, whether a loss or a mark began it.
    pub fn on_loss(&mut self, lost: u64, next: u64) -> bool {
        let begins = self.recover.is_none_or(|recover| lost >= recover) && !self.marks.is_open(lost);
        if begins {
            self.begin(next);
        }
        begins
    }

    /// An ACK reports ECN marks; `acked` as in [`OncePerWindow::is_open`], `next` is the position of the next new data. Returns true if an episode begins, which the host then reports as a mark.
    ///
    /// RFC 3168 section 6.1.2: once per window of data, and not while losses of the window are recovered.
    pub fn on_mark(&mut self, acked: u64, next: u64) -> bool {
        !self.recovering && self.marks.begin(acked, next)
    }

    /// The retransmission timer fired with the cumulative ACK at `acked`; `next` is the position of the next new data. Returns
    /// true if the host reports a timeout: RFC 5681 section 3.1 holds the threshold constant after a second timeout of the
    /// same segment.
    pub fn on_timeout(&mut self, acked: u64, next: u64) -> bool {
        let begins = self.timeout_at != Some(acked);
        self.timeout_at = Some(acked);
        self.begin(next);
        begins
    }

    /// An ACK delivered data; `acked` as in [`OncePerWindow::is_open`]. Returns true if the ACK ends the recovery of the present
    /// loss or timeout episode: data sent before the episode is acknowledged in full (RFC 6582), or a packet sent after the
    /// beginning is delivered (RFC 9002 section 7.3.2).
    pub fn on_ack(&mut self, acked: u64) -> bool {
        let ends = self.recovering && self.recover.is_some_and(|recover| acked >= recover);
        if ends {
            self.recovering = false;
        }
        ends
    }

    /// Whether data of the present loss or timeout episode is still to be acknowledged. A cumulative ACK that moves in this
    /// state without ending it is a partial ACK (RFC 6582).
    pub fn is_recovering(&self) -> bool {
        self.recovering
    }

    fn begin(&mut self, next: u64) {
        self.recover = Some(next);
        self.recovering = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_of_a_connection_may_be_lost() {
        assert!(Episodes::default().on_loss(0, 4));
    }

    #[test]
    fn a_lost_packet_begins_an_episode_if_it_was_sent_after_the_last_one_began() {
        // Packets 0..10 are out; 3 and 7 are lost, then packet 12, which was sent after the first loss was found.
        let mut episodes = Episodes::default();
        assert!(episodes.on_loss(3, 10));
        assert!(!episodes.on_loss(7, 12));
        assert!(!episodes.on_loss(9, 13));
        assert!(episodes.on_loss(12, 15));
        assert!(!episodes.on_loss(14, 16));
        // RFC 9002 section 7.3.2: the recovery period ends when a packet sent during it is acknowledged.
        assert!(!episodes.on_ack(14));
        assert!(episodes.on_ack(15));
    }

    #[test]
    fn marks_are_reported_once_per_window_of_data() {
        let mut episodes = Episodes::default();
        assert!(episodes.on_mark(4, 10));
        // Every ACK of the window echoes the mark.
        assert!((5..10).all(|acked| !episodes.on_mark(acked, acked + 6)));
        assert!(episodes.on_mark(10, 16));
        assert!(!episodes.on_mark(15, 20));
        assert!(!episodes.is_recovering());
    }

    #[test]
    fn a_mark_during_recovery_belongs_to_the_loss_episode() {
        let mut episodes = Episodes::default();
        assert!(episodes.on_loss(3, 10));
        assert!(!episodes.on_mark(5, 12));
        assert!(episodes.on_ack(10));
        assert!(episodes.on_mark(10, 14));
    }

    #[test]
    fn a_loss_of_a_marked_window_belongs_to_the_mark_episode() {
        let mut episodes = Episodes::default();
        assert!(episodes.on_mark(4, 10));
        assert!(!episodes.on_loss(9, 12));
        assert!(episodes.on_loss(10, 13));
    }

    #[test]
    fn a_timeout_begins_an_episode_in_any_state_but_only_once_per_segment() {
        let mut episodes = Episodes::default();
        assert!(episodes.on_loss(2, 10));
        assert!(episodes.on_timeout(2, 12));
        // The timer backs off and fires again for the same segment.
        assert!(!episodes.on_timeout(2, 12));
        assert!(!episodes.on_ack(11));
        // RFC 6582 section 3.2 step 4: `recover` is the highest position sent before the timeout.
        assert!(episodes.on_ack(12));
        assert!(!episodes.is_recovering());
        assert!(episodes.on_timeout(12, 15));
    }
}
