//! The file of the metrics for the textfile collector of node_exporter.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;

use crate::files;
use crate::logs::Troubles;
use crate::metrics::Metrics;
use crate::service::Trouble;

/// Longest wait for the removal of the file at the end: the disk may never answer.
const LAST: Duration = Duration::from_millis(300);

/// A thread that writes the file, until the value is dropped. Nobody else waits for its disk.
pub(crate) struct Textfile {
    end: Option<Sender<()>>,
    ended: Receiver<()>,
}

impl Textfile {
    /// Writes the file at once, and then every `every`.
    ///
    /// # Errors
    /// [`Trouble`] if the file cannot be written.
    pub(crate) fn begin(
        path: &Path,
        every: Nanos,
        metrics: Arc<Metrics>,
        complain: fn(&str),
    ) -> Result<Self, Trouble> {
        let trouble = |error: io::Error| Trouble::of("the file of the metrics", path, &error);
        write(path, &metrics.plain()).map_err(trouble)?;
        let (end, inbox) = mpsc::channel::<()>();
        let (outbox, ended) = mpsc::channel();
        let (path, every) = (path.to_owned(), Duration::from_nanos(every.0));
        let work = move || {
            let mut troubles = Troubles::new(None, complain, Arc::clone(&metrics));
            while inbox.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let written = write(&path, &metrics.plain());
                match written.map_err(|error| format!("the file of the metrics {}: {error}", path.display()))
                {
                    Ok(()) => troubles.newest = None,
                    failed => troubles.note(failed),
                }
            }
            // A file that is no longer written would show a gateway that works.
            let _ = fs::remove_file(&path);
            drop(outbox);
        };
        thread::Builder::new().name("textfile".to_owned()).spawn(work).map_err(trouble)?;
        Ok(Self { end: Some(end), ended })
    }
}

impl Drop for Textfile {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.ended.recv_timeout(LAST);
    }
}

/// Replaces the file as a whole. The collector, another user, may read it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    // The collector reads no file of this name.
    name.push(".new");
    let new = PathBuf::from(name);
    let mut file = files::own(&new, false)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    fs::rename(&new, path)
}
