//! Cost of work: the only place below the command line that reads a clock. Without the feature `clock` every
//! cost is zero.

/// Measures processor time and elapsed time.
#[cfg(feature = "clock")]
pub(crate) struct Stopwatch {
    wall: std::time::Instant,
    cpu: f64,
}

#[cfg(feature = "clock")]
impl Stopwatch {
    /// Starts measuring.
    #[expect(clippy::disallowed_methods, reason = "the cost of a run is reported, never used by it")]
    pub(crate) fn start() -> Self {
        Self { wall: std::time::Instant::now(), cpu: cpu_seconds() }
    }

    /// Processor seconds of all threads and elapsed seconds since the start.
    pub(crate) fn stop(&self) -> (f64, f64) {
        (cpu_seconds() - self.cpu, self.wall.elapsed().as_secs_f64())
    }
}

/// Measures nothing.
#[cfg(not(feature = "clock"))]
pub(crate) struct Stopwatch;

#[cfg(not(feature = "clock"))]
impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self
    }

    pub(crate) fn stop(&self) -> (f64, f64) {
        (0.0, 0.0)
    }
}

/// A clock for the threads of a run; `None` without the feature `clock`.
#[cfg(feature = "clock")]
pub(crate) fn clock() -> Option<Box<firstflight_sim::timings::Clock<'static>>> {
    let since = Stopwatch::start();
    Some(Box::new(move || since.wall.elapsed()))
}

/// No clock.
#[cfg(not(feature = "clock"))]
pub(crate) fn clock() -> Option<Box<firstflight_sim::timings::Clock<'static>>> {
    None
}

/// Processor seconds of all threads of this process, also of those that have ended.
#[cfg(feature = "clock")]
fn cpu_seconds() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9
}
