//! End of a comparison without its answer.

use firstflight_document::Error;
use firstflight_hosts::progress;

/// End of work without its answer.
pub(crate) type Halt = progress::Halt<Error>;

/// The result of work that may fail without an end of the whole.
///
/// # Errors
/// If the work was stopped.
pub(crate) fn failed<T>(result: Result<T, Halt>) -> Result<Result<T, Error>, Halt> {
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(Halt::Failed(error)) => Ok(Err(error)),
        Err(Halt::Stopped) => Err(Halt::Stopped),
    }
}
