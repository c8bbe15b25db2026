//! Resources that the kernel must grant, and the message where it does not.

use core::fmt;
use std::io;

/// A resource that the lab needs and did not get.
#[derive(Debug)]
pub struct Need {
    what: &'static str,
    error: io::Error,
}

impl Need {
    pub(crate) fn of(what: &'static str, error: io::Error) -> Self {
        Self { what, error }
    }

    /// The same for the call that just failed.
    pub(crate) fn last(what: &'static str) -> Self {
        Self::of(what, io::Error::last_os_error())
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.error)?;
        match self.error.kind() {
            io::ErrorKind::PermissionDenied => f.write_str("; run as root"),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for Need {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}
