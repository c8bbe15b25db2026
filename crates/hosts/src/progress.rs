//! Progress reports of long work, independent of their display, and its end before its answer.

use std::fmt;

use firstflight_scenario::Error;

/// Receiver of progress reports.
pub trait Progress: Sync {
    /// Work of `total` steps begins.
    fn begin(&self, what: &str, total: u64);
    /// `by` more steps are done; called from any thread.
    fn advance(&self, by: u64);
    /// The work is done.
    fn finish(&self);
    /// Whether the answer so far is asked for. Work that has no answer until its end goes on.
    fn stopped(&self) -> bool {
        false
    }
}

/// End of work without its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt<E> {
    /// The answer is no longer waited for.
    Stopped,
    /// The work failed.
    Failed(E),
}

impl<E> Halt<E> {
    /// The same end, with another error.
    pub fn map<F>(self, of: impl FnOnce(E) -> F) -> Halt<F> {
        match self {
            Self::Stopped => Halt::Stopped,
            Self::Failed(error) => Halt::Failed(of(error)),
        }
    }
}

impl<E> From<E> for Halt<E> {
    fn from(error: E) -> Self {
        Self::Failed(error)
    }
}

impl<E: fmt::Display> fmt::Display for Halt<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("it was stopped"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<Halt<Self>> for Error {
    fn from(halt: Halt<Self>) -> Self {
        match halt {
            Halt::Stopped => Self::invalid(halt.to_string()),
            Halt::Failed(error) => error,
        }
    }
}

/// Ends work whose answer is not waited for.
///
/// # Errors
/// [`Halt::Stopped`] if the progress is stopped.
pub fn go_on<E>(progress: &dyn Progress) -> Result<(), Halt<E>> {
    if progress.stopped() { Err(Halt::Stopped) } else { Ok(()) }
}

/// Ignores progress reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
}
