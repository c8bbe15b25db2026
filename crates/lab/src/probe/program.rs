//! A server that is a program: started in the near network, ended with everything that it started.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::files::COMPLAINTS;

/// Time after which the program is looked at again.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a program in the namespaces of the calling thread until `stop`. The thread's files are made before.
///
/// The program is the first process of a PID namespace, which ends with `unshare`, which ends with the calling thread: nothing that the program
/// starts remains, however this process ends.
pub(super) fn run(words: &[String], environment: &[(&str, String)], stop: &AtomicBool) -> Result<(), String> {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child=KILL", "--"]).args(words);
    command.envs(environment.iter().map(|(name, value)| (*name, value)));
    let complaints = fs::File::create(COMPLAINTS).map_err(|error| error.to_string())?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints);
    // SAFETY: prctl takes no pointer here, and may be called between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    let child =
        command.spawn().map_err(|error| format!("unshare of util-linux could not be started: {error}"))?;
    let mut child = Killed(child);
    while !stop.load(Ordering::Relaxed) {
        if let Some(status) = child.0.try_wait().map_err(|error| error.to_string())? {
            let said = fs::read(COMPLAINTS).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.map_or(String::new(), |line| format!(": {}", line.trim().escape_debug()));
            return Err(format!("the server ended ({status}){last}"));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// A process that is killed when this value is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
