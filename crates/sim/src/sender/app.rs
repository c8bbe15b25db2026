//! The application: when it begins, how much it writes and when, when it stops.

use super::segmentation::Segmentation;
use super::stack::Stack;
use std::collections::VecDeque;

/// The moment from which the time to a further write counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// From the acknowledgement of all that was written: pauses.
    #[default]
    Acknowledged,
    /// From the write before, whether or not it has been acknowledged.
    Written,
}

/// The behaviour of an application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppConfig {
    /// Time at which the connection begins.
    pub start: u64,
    /// Payload bytes of the first write; `None` never ends.
    pub bytes: Option<u64>,
    /// Times to each further write.
    pub pauses: Vec<u64>,
    /// The moment from which these times count.
    pub clock: Clock,
    /// Payload bytes of each further write; empty where each is as large as the first.
    pub sizes: Vec<u64>,
    /// Time from the start until nothing more is written; `None` is for ever.
    pub lifetime: Option<u64>,
}

/// One connection's application. Times are nanoseconds, amounts segments.
#[derive(Clone, Debug)]
pub struct App {
    start: u64,
    segmentation: Segmentation,
    /// Whether a write that waits for the window and the next one share a segment.
    joins: bool,
    /// Whether the writes are a stream, whatever their times.
    streams: bool,
    /// Payload bytes of the first write; `u64::MAX` never ends.
    first: u64,
    /// The writes after it, and those of a stream.
    further: Option<Box<Further>>,
    clock: Clock,
    /// Time from the start until nothing more is written.
    lifetime: u64,
    established_at: Option<u64>,
    /// Time at which the last write was due.
    due: u64,
    /// Time at which each write began.
    began: Vec<u64>,
    /// Duration of each write, from its beginning until it was acknowledged.
    completions: Vec<u64>,
    stopped: bool,
}

/// Writes of an application beside a single one.
#[derive(Clone, Debug, Default)]
struct Further {
    /// Time to each further write.
    pauses: Vec<u64>,
    /// Payload bytes of each further write; empty where each is as large as the first.
    sizes: Vec<u64>,
    /// For a stream: the bytes up to the end of each write that has begun and is not acknowledged.
    ends: VecDeque<u64>,
}

impl App {
    /// An application that has done nothing yet, over segments of `mss` payload bytes. `joins`: of writes that wait for the
    /// window, segments are cut as of a stream of bytes; if false, each write has segments of its own, as in ns-2.
    pub fn new(config: &AppConfig, mss: u32, joins: bool) -> Self {
        Self::cut(config, mss, joins, false)
    }

    /// An application that has done nothing yet, over a connection of `stack`.
    pub fn of(config: &AppConfig, stack: &Stack) -> Self {
        match stack.rules.datagrams {
            Some(datagrams) => Self::cut(config, stack.mss - datagrams.overhead, true, true),
            None => Self::new(config, stack.mss, !stack.rules.whole_packets),
        }
    }

    fn cut(config: &AppConfig, mss: u32, joins: bool, streams: bool) -> Self {
        let stream = is_stream(config, joins, streams);
        Self {
            start: config.start,
            segmentation: segmentation(config, mss, stream),
            joins,
            streams,
            first: config.bytes.unwrap_or(u64::MAX),
            further: (stream || !config.pauses.is_empty()).then(|| {
                let sizes = if stream { config.sizes.clone() } else { vec![] };
                Box::new(Further { pauses: config.pauses.clone(), sizes, ends: VecDeque::new() })
            }),
            clock: config.clock,
            lifetime: config.lifetime.unwrap_or(u64::MAX),
            established_at: None,
            due: config.start,
            began: Vec::new(),
            completions: Vec::new(),
            stopped: false,
        }
    }

    /// An application without writes of its own, over segments of `mss` payload bytes: [`super::Sender::open`],
    /// [`super::Sender::queue`] and [`super::Sender::write`] take their place.
    pub fn driven(mss: u32, joins: bool) -> Self {
        Self {
            start: u64::MAX,
            segmentation: Segmentation::stream(mss),
            stopped: true,
            ..Self::new(&AppConfig::default(), mss, joins)
        }
    }

    /// Makes the writes as large as `config` says.
    pub(super) fn write_in_all(&mut self, config: &AppConfig, mss: u32) {
        self.first = config.bytes.unwrap_or(u64::MAX);
        if let Some(further) = &mut self.further {
            further.ends.clear();
        }
        if self.streams {
            // The datagrams that were sent stay as they are.
            if let Some(stream) = self.segmentation.as_stream_mut().filter(|_| !self.began.is_empty()) {
                stream.end_with(self.first);
                self.further.get_or_insert_default().ends.push_back(stream.end());
            }
            return;
        }
        self.segmentation = segmentation(config, mss, is_stream(config, self.joins, false));
        if !self.began.is_empty() {
            self.append(0);
        }
    }

    /// Time at which the connection is to begin.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Time at which the connection was open.
    pub fn established_at(&self) -> Option<u64> {
        self.established_at
    }

    /// The connection is open, and the first write begins; one that left with the SYN counts from here too.
    pub(super) fn established(&mut self, now: u64) {
        self.established_at = Some(now);
        match self.began.first_mut() {
            Some(began) => *began = now,
            None => self.resume(now, 0),
        }
    }

    /// A write begins, after `sent` segments have been sent.
    pub(super) fn resume(&mut self, now: u64, sent: u32) {
        self.began.push(now);
        self.append(sent);
    }

    /// Appends the write that has begun to the stream, if there is one.
    fn append(&mut self, sent: u32) {
        let Some(stream) = self.segmentation.as_stream_mut() else { return };
        let Further { sizes, ends, .. } = &mut **self.further.get_or_insert_default();
        let further = self.began.len().checked_sub(2).and_then(|further| sizes.get(further));
        stream.write_at_most(*further.unwrap_or(&self.first), sent);
        ends.push_back(stream.end());
    }

    /// A tool hands over `bytes`, after `sent` segments have been sent. Returns false, and changes nothing, where they would be
    /// more segments than can be numbered.
    pub(super) fn queue(&mut self, bytes: u64, sent: u32) -> bool {
        let sent = if self.joins { sent } else { u32::MAX };
        self.segmentation.as_stream_mut().is_some_and(|stream| stream.write(bytes, sent).is_some())
    }

    /// A segment without data comes before `segment`, of a stream.
    pub(super) fn insert_empty(&mut self, segment: u32) {
        if let Some(stream) = self.segmentation.as_stream_mut() {
            stream.insert_empty(segment);
        }
    }

    /// `segment` and all after it, of a stream, have `mss` bytes.
    pub(super) fn resize_from(&mut self, segment: u32, mss: u32) {
        if let Some(stream) = self.segmentation.as_stream_mut() {
            stream.resize_from(segment, mss);
        }
    }

    /// `segment` becomes two, the first of `bytes` payload bytes.
    pub(super) fn split(&mut self, segment: u32, bytes: u32) {
        if let Some(stream) = self.segmentation.as_stream_mut() {
            stream.split(segment, bytes);
        }
    }

    /// Payload bytes of the first write; `u64::MAX` never ends.
    pub(crate) fn write_bytes(&self) -> u64 {
        self.first
    }

    /// Segments written so far.
    pub(super) fn written(&self) -> u32 {
        match self.segmentation.as_stream() {
            Some(stream) => stream.segments(),
            None => self.segmentation.end(self.began.len()),
        }
    }

    /// Segments up to the end of the first write that is not acknowledged; `u32::MAX` if all are. Zero for the writes of a tool:
    /// any of their segments may be short.
    pub(super) fn open_end(&self) -> u32 {
        if let Some(stream) = self.segmentation.as_stream() {
            return match self.further.as_ref().and_then(|further| further.ends.front()) {
                Some(&end) => stream.first_from(end),
                None if self.start == u64::MAX => 0,
                None => u32::MAX,
            };
        }
        match self.completions.len() {
            done if done < self.began.len() => self.segmentation.end(done + 1),
            _ => u32::MAX,
        }
    }

    /// Time of the next write, now that one has begun; `u64::MAX` if it depends on acknowledgements or there is none.
    pub(super) fn after_write(&mut self, now: u64) -> u64 {
        match self.clock {
            Clock::Written => self.next_write(self.due).max(now),
            Clock::Acknowledged => u64::MAX,
        }
    }

    /// The first `acked` segments are acknowledged: writes end. Returns when the next one begins, if that depends on it.
    pub(super) fn on_acked(&mut self, now: u64, acked: u32) -> u64 {
        if self.stopped {
            return u64::MAX;
        }
        while self.open_end() <= acked && self.completions.len() < self.began.len() {
            self.completions.push(now - self.began[self.completions.len()]);
            if let Some(further) = &mut self.further {
                further.ends.pop_front();
            }
        }
        if let Some(stream) = self.segmentation.as_stream_mut() {
            stream.forget_before(acked);
        }
        match self.clock {
            Clock::Acknowledged if self.completions.len() == self.began.len() => self.next_write(now),
            _ => u64::MAX,
        }
    }

    fn pauses(&self) -> &[u64] {
        self.further.as_ref().map_or(&[], |further| &further.pauses)
    }

    fn next_write(&mut self, from: u64) -> u64 {
        if self.stopped {
            return u64::MAX;
        }
        let pause = self.pauses().get(self.began.len() - 1);
        self.due = pause.map_or(u64::MAX, |pause| from.saturating_add(*pause));
        if self.due < self.stops_at() { self.due } else { u64::MAX }
    }

    /// Time at which the application stops writing, however much is left; `u64::MAX` if it does not.
    pub(super) fn stops_at(&self) -> u64 {
        if self.stopped { u64::MAX } else { self.start.saturating_add(self.lifetime) }
    }

    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Duration of each finished write.
    pub fn completions(&self) -> &[u64] {
        &self.completions
    }

    /// Whether every write is acknowledged, or writing has stopped.
    pub fn finished(&self) -> bool {
        self.stopped || self.completions.len() > self.pauses().len()
    }

    /// Payload bytes in the first `segments` segments.
    pub fn bytes_in(&self, segments: u32, mss: u64) -> u64 {
        self.segmentation.bytes_in(segments, mss)
    }

    /// Payload bytes that a tool has handed over beyond the first `segments` segments.
    pub(super) fn queued_bytes(&self, segments: u32) -> u64 {
        self.segmentation.as_stream().map_or(0, |stream| stream.end() - stream.start(segments))
    }

    /// Payload bytes written that lie beyond the first `segments` segments; `u64::MAX` if there is no end of them.
    pub(super) fn unsent_bytes(&self, segments: u32, mss: u64) -> u64 {
        match self.first {
            u64::MAX => u64::MAX,
            _ => self.bytes_in(self.written(), mss) - self.bytes_in(segments, mss),
        }
    }

    /// Whether a write ends with the first `segments` segments, and its last one is short of `mss` bytes.
    pub(crate) fn ends_short_with(&self, segments: u32, mss: u64) -> bool {
        segments > 0 && u64::from(self.segmentation.bytes(segments - 1, mss as u32)) < mss
    }

    /// The segmentation of the writes.
    pub fn segmentation(&self) -> &Segmentation {
        &self.segmentation
    }
}

/// Whether writes of `config` may wait for the window when the next one begins, and join it. Writes that follow the
/// acknowledgement of the one before never wait.
fn is_stream(config: &AppConfig, joins: bool, streams: bool) -> bool {
    streams || joins && config.clock == Clock::Written && config.bytes.is_some()
}

fn segmentation(config: &AppConfig, mss: u32, stream: bool) -> Segmentation {
    match stream {
        true => Segmentation::stream(mss),
        false => Segmentation::new(config.bytes, &config.sizes, mss),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_follow_each_other_after_their_pauses() {
        let config = AppConfig { start: 7, bytes: Some(1000), pauses: vec![50, 60], ..AppConfig::default() };
        let mut app = App::new(&config, 1000, false);
        app.established(10);
        assert_eq!((app.write_bytes(), app.written(), app.after_write(10)), (1000, 1, u64::MAX));
        assert_eq!(app.on_acked(30, 1), 80);
        app.resume(80, 1);
        assert_eq!((app.written(), app.on_acked(100, 2)), (2, 160));
        assert!(!app.finished());
        app.resume(160, 2);
        assert_eq!((app.written(), app.on_acked(190, 3)), (3, u64::MAX));
        assert_eq!(app.completions(), [20, 20, 30]);
        assert!(app.finished());
    }

    #[test]
    fn writes_at_times_of_their_own_do_not_wait_for_acknowledgements() {
        let config = AppConfig {
            start: 7,
            bytes: Some(1000),
            pauses: vec![5, 60, 60],
            clock: Clock::Written,
            lifetime: Some(100),
            ..AppConfig::default()
        };
        let mut app = App::new(&config, 1000, false);
        // The handshake took longer than the second write was to wait: it is late, those after it are not.
        app.established(20);
        assert_eq!(app.after_write(20), 20);
        app.resume(20, 1);
        assert_eq!((app.written(), app.after_write(20)), (2, 72));
        assert_eq!((app.on_acked(40, 1), app.open_end()), (u64::MAX, 2));
        app.resume(72, 2);
        // The fourth would be due at 132, after the end at 107.
        assert_eq!(app.after_write(72), u64::MAX);
        // One acknowledgement ends both.
        assert_eq!((app.on_acked(90, 3), app.open_end()), (u64::MAX, u32::MAX));
        assert_eq!(app.completions(), [20, 70, 18]);
    }
}
