//! The sending application of one flow.

use std::io::Write as _;
use std::sync::atomic::Ordering;

use firstflight_sim::sender::app;
use firstflight_sim::sender::app::AppConfig;

use super::{PRIORITY, Start, Tap};
use crate::clock::Clock;
use crate::realtime::be_on_time;
use crate::socket;

/// Most bytes of one call. A call ends with a pushed segment, which a receiver may acknowledge sooner than others, so that
/// a transfer should be one call.
const CHUNK: usize = 16 << 20;
/// Pause between two looks whether a write is acknowledged, nanoseconds.
const LOOK: u64 = 200_000;

/// Waits for the start, connects and writes as `app` asks for, until all is written or the run is `over`.
pub(crate) fn send(app: &AppConfig, tap: &Tap, start: &Start, over: impl Fn() -> bool) {
    let on_time = be_on_time(PRIORITY).map_err(|need| need.to_string());
    let Some(clock) = start.wait() else { return };
    let sender = Sender { app, tap, clock, over: &over };
    if let Err(why) = on_time.and_then(|()| sender.run())
        && !over()
    {
        tap.fail(why);
    }
}

struct Sender<'a> {
    app: &'a AppConfig,
    tap: &'a Tap,
    clock: Clock,
    over: &'a dyn Fn() -> bool,
}

impl Sender<'_> {
    fn run(&self) -> Result<(), String> {
        self.clock.sleep_until(self.app.start, self.over);
        if (self.over)() {
            return Ok(());
        }
        socket::connect(&self.tap.sender, self.tap.to).map_err(|error| format!("to connect: {error}"))?;
        self.tap.opened.store(true, Ordering::Release);
        let first = self.app.bytes.unwrap_or(u64::MAX);
        self.write(first)?;
        let (mut written, mut due) = (first, self.app.start);
        for (number, &pause) in self.app.pauses.iter().enumerate() {
            due = pause
                + match self.app.clock {
                    app::Clock::Acknowledged => self.acknowledged(written),
                    app::Clock::Written => due,
                };
            self.clock.sleep_until(due, self.over);
            if (self.over)() {
                return Ok(());
            }
            let bytes = self.app.sizes.get(number).copied().unwrap_or(first);
            self.write(bytes)?;
            written += bytes;
        }
        Ok(())
    }

    fn write(&self, bytes: u64) -> Result<(), String> {
        static ZEROS: [u8; CHUNK] = [0; CHUNK];
        self.tap.writes.begin(self.clock.now());
        let mut left = bytes;
        while left > 0 && !(self.over)() {
            let chunk = left.min(CHUNK as u64) as usize;
            let written =
                (&self.tap.sender).write(&ZEROS[..chunk]).map_err(|error| format!("to send: {error}"))?;
            // A socket takes no more than the call offers.
            left = left.saturating_sub(written as u64);
        }
        Ok(())
    }

    /// Waits until `bytes` are acknowledged; returns the time at which they were.
    fn acknowledged(&self, bytes: u64) -> u64 {
        loop {
            let (acked, at) = self.tap.acknowledged();
            if acked >= bytes || (self.over)() {
                return at;
            }
            self.clock.sleep_until(self.clock.now() + LOOK, self.over);
        }
    }
}
