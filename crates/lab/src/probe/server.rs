//! The server under test.

use core::fmt;
use std::net::SocketAddrV4;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use super::credentials::Credentials;
use super::stacks::{STACKS, Stack, Start};
use super::{PRIORITY, files, own, program};

/// A protocol of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// QUIC: HTTP/3, or requests of one line.
    Quic,
    /// TCP: HTTP/1.1.
    Tcp,
}

impl Protocol {
    /// Its word in rows and options.
    pub fn word(self) -> &'static str {
        match self {
            Self::Quic => "quic",
            Self::Tcp => "tcp",
        }
    }
}

/// A server that can be started.
#[derive(Clone, Debug)]
pub struct Server {
    name: String,
    version: String,
    protocol: Protocol,
    start: How,
}

#[derive(Clone, Debug)]
enum How {
    Program { words: Vec<String>, environment: Vec<(&'static str, String)> },
    Quinn,
    Tcp,
}

/// A named stack that is not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    name: &'static str,
    remedy: &'static str,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, remedy } = self;
        write!(
            f,
            "the stack {name} is not installed; to install it: {remedy}, or `make stacks` (`tools/stacks {name}`) in Firstflight's repository"
        )
    }
}

impl Server {
    /// The stack of [`STACKS`] with this name, whose programs are on the `PATH` or in the folder `bin` of `folder`; `None` if there is no such
    /// name.
    pub fn named(name: &str, folder: &Path) -> Option<Result<Self, Missing>> {
        let stack = STACKS.iter().find(|stack| stack.name == name)?;
        Some(Self::of(stack, folder))
    }

    fn of(stack: &Stack, folder: &Path) -> Result<Self, Missing> {
        let &Stack { name, protocol, ref start } = stack;
        let named =
            |version: &str, start| Self { name: name.into(), version: version.into(), protocol, start };
        match *start {
            Start::Quinn => Ok(named(QUINN, How::Quinn)),
            Start::Linux => Ok(named(&kernel(), How::Tcp)),
            Start::Script { script, remedy } => {
                let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
                let environment =
                    vec![("STACK", name.to_owned()), ("STACKS", folder.to_string_lossy().into_owned())];
                let words = |what: &str| ["sh", "-c", script, name, what].map(String::from).to_vec();
                let version = words("version");
                let asked = Command::new(&version[0])
                    .args(&version[1..])
                    .envs(environment.iter().map(|(name, value)| (*name, value)))
                    .stdin(Stdio::null())
                    .output();
                let missing = Missing { name, remedy };
                let said = asked.ok().filter(|said| said.status.success()).ok_or(missing)?;
                let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
                Ok(named(&version, How::Program { words: words("serve"), environment }))
            }
        }
    }

    /// The program `words` with its arguments, in which `{address}`, `{port}`, `{certificate}`, `{key}`, `{files}` and `{work}` are replaced.
    pub fn command(words: &[String], protocol: Protocol) -> Self {
        let start = How::Program { words: words.to_vec(), environment: vec![] };
        Self { name: words.join(" "), version: String::new(), protocol, start }
    }

    /// Name of the stack, or the command.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Version that the stack states.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Serves files of these sizes at `at` in the network of the calling thread until `stop`.
    pub(crate) fn run(
        &self,
        at: SocketAddrV4,
        sizes: &[u64],
        credentials: &Credentials,
        stop: &AtomicBool,
    ) -> Result<(), String> {
        match &self.start {
            How::Quinn => own::quinn(at, credentials, stop, PRIORITY),
            How::Tcp => own::tcp(at, stop, PRIORITY),
            How::Program { words, environment } => {
                files::make(credentials, sizes)?;
                let values = [
                    ("ADDRESS", at.ip().to_string()),
                    ("PORT", at.port().to_string()),
                    ("CERTIFICATE", files::CERTIFICATE.into()),
                    ("KEY", files::KEY.into()),
                    ("FILES", files::FILES.into()),
                    ("WORK", files::WORK.into()),
                ];
                let mut environment = environment.clone();
                let mut words = words.clone();
                // The texts of scripts have other braces.
                if environment.is_empty() {
                    for (name, value) in &values {
                        let place = format!("{{{}}}", name.to_lowercase());
                        words.iter_mut().for_each(|word| *word = word.replace(&place, value));
                    }
                }
                environment.extend(values);
                program::run(&words, &environment, stop)
            }
        }
    }
}

/// Version of quinn in this program.
const QUINN: &str = "quinn-proto 0.11.19";

/// Release of the running kernel.
fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} cubic", release.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_quinn_is_that_of_the_lock_file() {
        let [name, version] = QUINN.split(' ').collect::<Vec<_>>()[..] else { panic!("{QUINN}") };
        let lock = include_str!("../../../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")), "{QUINN}");
    }
}
