//! Opening of a connection: by a SYN and its answer, or by a SYN that carries data (RFC 7413, RFC 1644).
//!
//! A SYN with data is the first segment itself, and the first ACK is its answer: the bits that make it a SYN, and the
//! options of a cookie or a connection count, are not counted.

use super::connection::{Connection, SenderKind};
use super::stack::DataInSyn;
use super::{AckIn, Port};
use firstflight_contract::{Entry, Moment, Nanos};

impl<K> Connection<K>
where
    Self: SenderKind,
{
    /// The application begins.
    pub(super) fn begin(&mut self, now: u64, port: &mut impl Port) {
        self.on_begin(now);
        if !self.stack.handshake {
            self.establish(now, 0, port);
        } else if self.stack.data_in_syn == DataInSyn::Never {
            let words = self.request(now);
            self.send_syn(now, words, port);
        } else {
            self.open_with_data(now, port);
        }
    }

    pub(super) fn send_syn(&mut self, now: u64, words: (u64, u64), port: &mut impl Port) {
        self.syn_left = Moment::at(Nanos(now));
        self.rto_at = now + self.rto.timeout();
        port.transmit_syn(now, words);
    }

    fn open_with_data(&mut self, now: u64, port: &mut impl Port) {
        let sent = self.max;
        self.app.resume(now, sent);
        self.hand_over();
        let flow_size = self.app.write_bytes();
        self.opening = true;
        // The answer to the first segment takes the long way, where the connection opens.
        self.orderly = false;
        self.syn_left = Moment::at(Nanos(now));
        self.on_window(now);
        // The schemes begin with the first window that is theirs: here, or when the answer has come.
        self.start_up(now, flow_size);
        self.send_opening(now, port);
        if self.stack.data_in_syn == DataInSyn::Transaction {
            self.on_write();
            self.send(now, port);
        }
    }

    /// The first ACK answers the SYN with data.
    pub(crate) fn on_opened(&mut self, now: u64, ack: AckIn, port: &mut impl Port) {
        if ack.seq == 0 {
            return;
        }
        self.opening = false;
        if self.stack.data_in_syn == DataInSyn::Transaction {
            self.established = true;
            self.on_window(now);
            self.app.established(now);
            self.on_written(now);
            return self.on_ack(now, ack, port);
        }
        let handshake_rtt = self.since_syn(now);
        self.open_acknowledged(now, ack.seq, handshake_rtt, port);
    }

    /// The SYN with data is answered when an ordinary handshake has begun. RFC 9293 section 3.10.7.3 accepts the ACK, because it
    /// acknowledges what was sent. As after any repeated SYN the RTT is not known and the window is one segment.
    pub(crate) fn on_opened_late(&mut self, now: u64, ack: AckIn, port: &mut impl Port) {
        self.rto.restart_after_lost_syn();
        self.stack.initial_window = 1;
        if self.stack.data_in_syn == DataInSyn::Transaction {
            self.connect(now, 0);
            self.app.established(now);
            self.start_up(now, self.app.unsent_bytes(0, self.mss));
            self.on_write();
            self.on_written(now);
            return self.on_ack(now, ack, port);
        }
        self.open_acknowledged(now, ack.seq, 0, port);
    }

    /// The connection opens with an ACK of the data on the SYN. That does not grow the window, because there was none yet.
    fn open_acknowledged(&mut self, now: u64, acked: u32, handshake_rtt: u64, port: &mut impl Port) {
        (self.una, self.nxt) = (acked, acked);
        self.delivered += u64::from(acked);
        self.connect(now, handshake_rtt);
        self.app.established(now);
        self.orderly = self.has_short_path;
        self.start_up(now, self.app.unsent_bytes(acked, self.mss));
        self.on_write();
        self.on_written(now);
        if self.una >= self.write_end {
            self.on_written_acked(now);
        }
        self.send(now, port);
    }

    /// The SYN with data was not answered: an ordinary handshake follows, as in RFC 7413, lest a middlebox that drops data
    /// on a SYN keeps the connection from opening. Nothing that was sent counts.
    pub(super) fn fall_back(&mut self) {
        self.opening = false;
        self.lost += u64::from(self.max);
        self.nxt = 0;
        self.pace_at = u64::MAX;
        self.forget_opening();
    }

    /// The connection is open: the schemes begin, and the first flight leaves.
    pub(super) fn establish(&mut self, now: u64, handshake_rtt: u64, port: &mut impl Port) {
        self.connect(now, handshake_rtt);
        self.app.established(now);
        self.start_up(now, self.app.unsent_bytes(0, self.mss));
        self.on_write();
        self.on_written(now);
        if self.max > 0 {
            self.retransmit_opening(now, port);
        }
        self.send(now, port);
    }

    /// The connection is open; `handshake_rtt` is zero where there was no handshake.
    pub(super) fn connect(&mut self, now: u64, handshake_rtt: u64) {
        self.established = true;
        self.rto_at = u64::MAX;
        self.discard_timed_segment();
        self.on_window(now);
        if handshake_rtt > 0 {
            self.take_sample(now - handshake_rtt, now);
        }
    }

    /// The schemes begin, knowing of `flow_size` payload bytes.
    pub(super) fn start_up(&mut self, now: u64, flow_size: u64) {
        let entry = Entry {
            now: Nanos(now),
            rtt: Nanos(self.known_min_rtt()),
            flow_size,
            receive_window: self.offered(),
            plan: self.plan,
            mss: self.stack.mss,
            granted: self.routers.granted,
            ..Entry::default()
        };
        let ssthresh = self.stack.initial_ssthresh.map_or(u64::MAX, |s| u64::from(s) * self.mss);
        self.common.chain.start(
            &entry,
            u64::from(self.common.stack.initial_window) * self.common.mss,
            ssthresh,
        );
        self.exit_segment = None;
        self.note_startup_exit();
        self.stats.max_cwnd = self.chain.control.cwnd;
        self.on_start_up();
    }

    /// A handshake's answer, with `header` for its high word, arrives at `now`.
    pub(super) fn on_handshake(&mut self, now: u64, header: u64, port: &mut impl Port) {
        if now >= self.check_at {
            self.advance(now, port);
        }
        self.receive_grant(header);
        if self.established {
            return;
        }
        if !self.rto.backed_off() {
            let handshake_rtt = self.since_syn(now);
            return self.establish(now, handshake_rtt, port);
        }
        // The RTT is not known: it is not known which SYN was answered.
        self.rto.restart_after_lost_syn();
        // RFC 5681 section 3.1: "If the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly
        // transmitted SYN MUST be one segment".
        self.stack.initial_window = 1;
        self.establish(now, 0, port);
    }
}
