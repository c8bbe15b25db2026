//! Work in a thread of its own: the calling thread, without the lock of the interpreter, waits for it, shows its progress and
//! hears the interrupt of the keyboard.
//!
//! A fork has none of its parent's threads. Work in a forked process therefore has a pool of its own for each call: rayon's common
//! pool would wait for ever for the threads that the parent has started.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{process, thread};

use firstflight::{Error, Progress, Stoppable};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::error::raised;

/// Time between two looks at the signals, and two reports of progress.
const TICK: Duration = Duration::from_millis(50);

/// State that the work and the thread that waits for it share.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// Ends every run soon after it becomes true.
    pub(crate) stop: Arc<AtomicBool>,
    /// Whether a scheme is written in Python.
    pub(crate) calls_python: AtomicBool,
    /// The first exception of a scheme in Python: it ends the work.
    pub(crate) exception: Arc<Mutex<Option<PyErr>>>,
    what: Mutex<String>,
    total: AtomicU64,
    done: AtomicU64,
    ended: Mutex<bool>,
    end: Condvar,
}

impl Progress for Job {
    fn begin(&self, what: &str, total: u64) {
        *held(&self.what) = what.into();
        self.total.store(total, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, by: u64) {
        self.done.fetch_add(by, Ordering::Relaxed);
    }

    fn finish(&self) {}

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Job {
    /// The simulator, whose runs end with this job.
    pub(crate) fn host(&self) -> Stoppable {
        Stoppable { stop: Arc::clone(&self.stop) }
    }

    /// The result of `work`. `progress` is called with the name of the present part of the work, the steps done and their
    /// number; it may be 0 if it is unknown.
    ///
    /// # Errors
    /// Those of `work`, as `firstflight.Error`; the exception of a scheme or of `progress`; `KeyboardInterrupt`.
    pub(crate) fn wait<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce() -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                // Also after a panic.
                let _ended = Ended(self);
                if self.calls_python.load(Ordering::Relaxed) { alone(work) } else { on_all_cores(work) }
            });
            let heard = self.watch(py, progress);
            if heard.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            let result = py.detach(|| worker.join());
            // An exception of a scheme is the cause of the refusal that follows it.
            let exception = held(&self.exception).take();
            match (heard, exception, result) {
                (Err(heard), ..) => Err(heard),
                (_, Some(exception), _) => Err(exception),
                (.., Ok(result)) => result.map_err(raised),
                (.., Err(_)) => {
                    Err(PyRuntimeError::new_err("a defect of Firstflight: the message above names its place"))
                }
            }
        })
    }

    /// Waits for the end of the work.
    fn watch(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        loop {
            let ended = py.detach(|| {
                let ended = held(&self.ended);
                let wait = self.end.wait_timeout_while(ended, TICK, |ended| !*ended);
                *wait.unwrap_or_else(PoisonError::into_inner).0
            });
            if ended {
                return Ok(());
            }
            py.check_signals()?;
            if let Some(progress) = progress {
                let what = held(&self.what).clone();
                let [done, total] = [&self.done, &self.total].map(|count| count.load(Ordering::Relaxed));
                progress.call1((what, done, total))?;
            }
        }
    }
}

/// Does all of the work in this thread. Python runs one thread at a time, so that others would only wait for its lock. A thread
/// that has been attached before takes the lock with its state in Python, which it would otherwise make anew for every event.
fn alone<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    let pool = pool.map_err(|error| Error::invalid(error.to_string()))?;
    Python::attach(|py| py.detach(|| pool.install(work)))
}

/// The process that uses rayon's common pool: the first one that works. 0 is none yet.
static COMMON: AtomicU32 = AtomicU32::new(0);

/// Does the work with threads of this process.
fn on_all_cores<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    let own = process::id();
    // An atomic and no lock: a lock that another thread holds during the fork would stay locked.
    match COMMON.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(common) if common != own => {
            let pool = ThreadPoolBuilder::new().build();
            pool.map_err(|error| Error::invalid(error.to_string()))?.install(work)
        }
        _ => work(),
    }
}

/// Reports the end of the work when it is dropped.
struct Ended<'a>(&'a Job);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        *held(&self.0.ended) = true;
        self.0.end.notify_all();
    }
}

/// The value of a lock; a thread that panicked left it whole.
pub(crate) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
