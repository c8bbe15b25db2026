//! What the application does: when it begins, how much it writes, how long it pauses, when it stops.

/// One connection's application. Times are nanoseconds, amounts segments.
#[derive(Clone, Debug)]
pub struct App {
    start: u64,
    /// Segments of each write; `u32::MAX` never ends.
    write: u32,
    /// Payload bytes of each write; `u64::MAX` never ends.
    write_bytes: u64,
    /// Idle times before each further write.
    pauses: Vec<u64>,
    /// Time from the start until nothing more is written.
    lifetime: u64,
    written: u32,
    writes: usize,
    established_at: Option<u64>,
    write_began: u64,
    /// How long each write took, from its beginning until it was acknowledged.
    completions: Vec<u64>,
    stopped: bool,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppConfig {
    /// When the connection begins.
    pub start: u64,
    /// Payload bytes of each write; `None` never ends.
    pub bytes: Option<u64>,
    /// Idle times before each further write of as much.
    pub pauses: Vec<u64>,
    /// Time from the start until nothing more is written; `None` is for ever.
    pub lifetime: Option<u64>,
}

impl App {
    /// An application that has done nothing yet, over segments of `mss` payload bytes.
    pub fn new(config: &AppConfig, mss: u32) -> Self {
        let segments = |bytes: u64| bytes.div_ceil(mss.into()).clamp(1, (u32::MAX - 1).into()) as u32;
        Self {
            start: config.start,
            write: config.bytes.map_or(u32::MAX, segments),
            write_bytes: config.bytes.unwrap_or(u64::MAX),
            pauses: config.pauses.clone(),
            lifetime: config.lifetime.unwrap_or(u64::MAX),
            written: 0,
            writes: 0,
            established_at: None,
            write_began: config.start,
            completions: Vec::new(),
            stopped: false,
        }
    }

    /// An application that plans nothing: [`super::Sender::open`] and [`super::Sender::write`] stand for it.
    pub fn driven() -> Self {
        Self {
            start: u64::MAX,
            write: 0,
            write_bytes: 0,
            pauses: Vec::new(),
            lifetime: u64::MAX,
            written: 0,
            writes: 0,
            established_at: None,
            write_began: 0,
            completions: Vec::new(),
            stopped: true,
        }
    }

    /// Payload bytes of each write; `u64::MAX` never ends.
    pub(super) fn queued(&self) -> u64 {
        self.write_bytes
    }

    /// When the connection is to begin.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Payload bytes of each write; `u64::MAX` never ends.
    pub(crate) fn write_bytes(&self) -> u64 {
        self.write_bytes
    }

    pub(super) fn established(&mut self, now: u64) {
        self.established_at = Some(now);
        self.write_began = now;
    }

    /// When the connection was open.
    pub fn established_at(&self) -> Option<u64> {
        self.established_at
    }

    /// The next write: total segments written with it, and its bytes.
    pub(super) fn next_write(&mut self) -> (u32, u64) {
        self.written = self.written.saturating_add(self.write);
        self.writes += 1;
        (self.written, self.write_bytes)
    }

    /// A later write begins at `now`.
    pub(super) fn resume(&mut self, now: u64) -> u32 {
        self.write_began = now;
        self.next_write().0
    }

    /// All that was written is acknowledged; returns when the next write begins, `u64::MAX` if none does.
    pub(super) fn on_all_acked(&mut self, now: u64) -> u64 {
        if self.stopped {
            return u64::MAX;
        }
        self.completions.push(now - self.write_began);
        match self.pauses.get(self.writes - 1) {
            Some(pause) if now + pause < self.stops_at() => now + pause,
            _ => u64::MAX,
        }
    }

    /// When it stops writing, however much is left; `u64::MAX` if it does not.
    pub(super) fn stops_at(&self) -> u64 {
        if self.stopped { u64::MAX } else { self.start.saturating_add(self.lifetime) }
    }

    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// How long each finished write took.
    pub fn completions(&self) -> &[u64] {
        &self.completions
    }

    /// Whether every write is acknowledged, or writing has stopped.
    pub fn finished(&self) -> bool {
        self.stopped || self.completions.len() > self.pauses.len()
    }

    /// Payload bytes in the first `segments` segments, where every write ends with a short one.
    pub fn bytes_in(&self, segments: u32, mss: u64) -> u64 {
        if self.write == u32::MAX {
            return u64::from(segments) * mss;
        }
        let (writes, rest) = (segments / self.write, segments % self.write);
        u64::from(writes) * self.write_bytes + u64::from(rest) * mss
    }

    /// Payload bytes written that lie beyond the first `segments` segments; `u64::MAX` if there is no end of them.
    pub(super) fn unsent_bytes(&self, segments: u32, mss: u64) -> u64 {
        if self.write == u32::MAX {
            return u64::MAX;
        }
        self.bytes_in(self.written, mss) - self.bytes_in(segments, mss)
    }

    /// Whether a write ends with the first `segments` segments, and its last one is short of `mss` bytes.
    pub(crate) fn ends_short_with(&self, segments: u32, mss: u64) -> bool {
        self.write > 0 && segments.is_multiple_of(self.write) && !self.write_bytes.is_multiple_of(mss)
    }

    /// How the segments of a write are cut from segments of `mss` payload bytes.
    pub fn tail(&self, mss: u32) -> Tail {
        let last = u64::from(self.write - 1).saturating_mul(mss.into());
        Tail { write: self.write, last: self.write_bytes.saturating_sub(last).min(mss.into()) as u32 }
    }
}

/// The short segment at the end of each write.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    write: u32,
    last: u32,
}

impl Tail {
    /// Payload bytes of `segment`.
    pub fn bytes(&self, segment: u32, mss: u32) -> u32 {
        if (segment + 1).is_multiple_of(self.write) { self.last } else { mss }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_segment_of_every_write_carries_what_is_left() {
        let config = AppConfig { start: 0, bytes: Some(2500), pauses: vec![5, 5], lifetime: None };
        let app = App::new(&config, 1000);
        let sizes: Vec<u32> = (0..6).map(|s| app.tail(1000).bytes(s, 1000)).collect();
        assert_eq!(sizes, [1000, 1000, 500, 1000, 1000, 500]);
        assert_eq!(app.bytes_in(4, 1000), 3500);
    }

    #[test]
    fn writes_follow_each_other_after_their_pauses() {
        let config = AppConfig { start: 7, bytes: Some(1000), pauses: vec![50, 60], lifetime: None };
        let mut app = App::new(&config, 1000);
        app.established(10);
        assert_eq!(app.next_write(), (1, 1000));
        assert_eq!(app.on_all_acked(30), 80);
        assert_eq!(app.resume(80), 2);
        assert_eq!(app.on_all_acked(100), 160);
        assert!(!app.finished());
        assert_eq!(app.resume(160), 3);
        assert_eq!(app.on_all_acked(190), u64::MAX);
        assert_eq!(app.completions(), [20, 20, 30]);
        assert!(app.finished());
    }
}
