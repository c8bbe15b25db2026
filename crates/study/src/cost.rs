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

/// Processor seconds of all threads of this process, from the kernel's accounting in nanoseconds; zero if the
/// kernel has none.
#[cfg(feature = "clock")]
fn cpu_seconds() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let of_task = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<f64>().ok()
    };
    tasks.flatten().filter_map(of_task).sum::<f64>() * 1e-9
}
