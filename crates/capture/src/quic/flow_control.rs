//! Flow control of a sender (RFC 9000 section 4): how much more the other end lets it send.

use std::collections::BTreeMap;

/// Maximum number of streams whose limits are kept.
const MAX_STREAMS: usize = 1 << 12;

/// Limits that an end announces in its transport parameters (RFC 9000 section 18.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::quic) struct Limits {
    /// Limit of the connection.
    pub(in crate::quic) connection: Option<u64>,
    /// Limits of streams for both directions that the other end opens, of those that this end opens, and of streams for one direction.
    pub(in crate::quic) streams: [Option<u64>; 3],
}

/// Data that one end may send and has sent.
#[derive(Debug, Default)]
pub(in crate::quic) struct Credit {
    /// Limit of the connection.
    connection: Option<u64>,
    /// Limits of streams that the sender opens for both directions, that the other end opens for both, and that the sender opens for one.
    initial: [Option<u64>; 3],
    /// Limits, and highest offsets sent, of streams whose data has not ended.
    streams: BTreeMap<u64, Stream>,
    /// Data sent on all streams, each byte once.
    sent: u64,
    /// Stream whose data was sent last.
    last: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    limit: Option<u64>,
    sent: u64,
    ended: bool,
}

impl Credit {
    /// Takes the limits that the other end announced. The streams that are its remote ones are those that the sender opens.
    pub(in crate::quic) fn announce(&mut self, limits: Limits) {
        self.connection = limits.connection.or(self.connection);
        self.initial.iter_mut().zip(limits.streams).for_each(|(own, limit)| *own = limit.or(*own));
    }

    /// Takes a limit of the connection that the other end sent. Returns whether it raises the one before.
    pub(in crate::quic) fn raise(&mut self, limit: u64) -> bool {
        let raised = self.connection.is_none_or(|before| before < limit);
        self.connection = self.connection.max(Some(limit));
        raised
    }

    /// The same of a stream.
    pub(in crate::quic) fn raise_stream(&mut self, id: u64, limit: u64) -> bool {
        let Some(stream) = self.stream(id) else { return false };
        let raised = stream.limit.is_none_or(|before| before < limit);
        stream.limit = stream.limit.max(Some(limit));
        raised
    }

    /// Counts the data of a STREAM frame that was sent: stream, offset of its end, whether it ends the stream.
    pub(in crate::quic) fn send(&mut self, id: u64, end: u64, ends: bool) {
        let Some(stream) = self.stream(id) else { return };
        let new = end.saturating_sub(stream.sent);
        stream.sent += new;
        stream.ended |= ends;
        self.sent = self.sent.saturating_add(new);
        self.last = Some(id);
    }

    fn stream(&mut self, id: u64) -> Option<&mut Stream> {
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&id) {
            self.streams.retain(|_, stream| !stream.ended);
        }
        (self.streams.len() < MAX_STREAMS || self.streams.contains_key(&id))
            .then(|| self.streams.entry(id).or_default())
    }

    /// Bytes that the sender may send now, `None` if a limit is not known, or the stream that it will use. `client` is whether the sender is the client.
    pub(in crate::quic) fn room(&self, client: bool) -> Option<u64> {
        let connection = self.connection?.saturating_sub(self.sent);
        let last = self.last?;
        let sending = self.streams.get(&last)?;
        if !sending.ended {
            return Some(connection.min(self.room_of(last, *sending, client)?));
        }
        // Behind the end of a stream come others of its kind. Those of another kind, as the control streams of HTTP/3, never end.
        let same = |id: u64| id & 3 == last & 3;
        let mut open = self
            .streams
            .iter()
            .filter(|(id, stream)| same(**id) && stream.sent > 0 && !stream.ended)
            .peekable();
        if open.peek().is_none() {
            return Some(connection);
        }
        let mut streams = 0_u64;
        for (&id, &stream) in open {
            streams = streams.saturating_add(self.room_of(id, stream, client)?);
        }
        Some(connection.min(streams))
    }

    /// Bytes that the sender may send on this stream, on which it has sent nothing, `None` if a limit is not known.
    pub(in crate::quic) fn room_before(&self, id: u64, client: bool) -> Option<u64> {
        let stream = self.streams.get(&id).copied().unwrap_or_default();
        Some(self.connection?.saturating_sub(self.sent).min(self.room_of(id, stream, client)?))
    }

    fn room_of(&self, id: u64, stream: Stream, client: bool) -> Option<u64> {
        // RFC 9000 section 2.1: the lowest bit names the end that opens a stream, the next one those for one direction.
        let own = (id & 1 == 0) == client;
        let initial = self.initial[if id & 2 != 0 { 2 } else { usize::from(!own) }];
        Some(stream.limit.max(initial)?.saturating_sub(stream.sent))
    }
}
