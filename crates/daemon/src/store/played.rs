//! A disk that a test plays: every step can fail, and what a crash would leave is known.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::disk::{Disk, Stored};

/// Fault of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// From this step on there is no room: a write is done by halves, and no file is begun.
    Full(usize),
    /// This step fails, a write by halves.
    Once(usize),
    /// From this step on nothing is done: the process or the machine has ended.
    Dead(usize),
    /// From this step on nothing returns until [`Played::wake`].
    Asleep(usize),
}

/// The files that a crash leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Crash {
    /// The process was killed: all that it wrote.
    Process,
    /// The machine lost its power: what was durable.
    Power,
    /// The same, but names were durable sooner.
    PowerBehindNames,
    /// The same, and of contents that were not durable a half.
    PowerByHalves,
}

pub(crate) const CRASHES: [Crash; 4] =
    [Crash::Process, Crash::Power, Crash::PowerBehindNames, Crash::PowerByHalves];

#[derive(Clone, Debug, Default)]
struct Body {
    data: Vec<u8>,
    durable: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
struct State {
    bodies: Vec<Body>,
    names: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    steps: usize,
    fault: Option<Fault>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Played(Arc<(Mutex<State>, Condvar)>);

impl Played {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().expect("no panic")
    }

    pub(crate) fn with(fault: Fault) -> Self {
        let disk = Self::default();
        disk.fail(Some(fault));
        disk
    }

    /// Sets the fault; the next step is step 0.
    pub(crate) fn fail(&self, fault: Option<Fault>) {
        let mut state = self.state();
        (state.fault, state.steps) = (fault, 0);
    }

    pub(crate) fn wake(&self) {
        self.fail(None);
        self.0.1.notify_all();
    }

    /// Steps since the fault was set.
    pub(crate) fn steps(&self) -> usize {
        self.state().steps
    }

    /// The disk after a crash.
    pub(crate) fn after(&self, crash: Crash) -> Self {
        let mut state = self.state().clone();
        (state.fault, state.steps) = (None, 0);
        if let Crash::Power | Crash::PowerByHalves = crash {
            state.names = state.durable.clone();
        }
        for body in &mut state.bodies {
            let unsure = match crash {
                Crash::Process => body.data.len(),
                Crash::Power | Crash::PowerBehindNames => 0,
                Crash::PowerByHalves => body.durable.len().midpoint(body.data.len()),
            };
            if !matches!(crash, Crash::Process) {
                let more = body.data.get(body.durable.len()..unsure).unwrap_or_default().to_vec();
                body.data = [body.durable.clone(), more].concat();
            }
        }
        Self(Arc::new((Mutex::new(state), Condvar::new())))
    }

    pub(crate) fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        state.names.get(path).map(|at| state.bodies[*at].data.clone())
    }

    /// Writes a file that is durable.
    pub(crate) fn put(&self, path: &Path, data: &[u8]) {
        let mut state = self.state();
        let at = state.bodies.len();
        state.bodies.push(Body { data: data.to_vec(), durable: data.to_vec() });
        state.names.insert(path.to_owned(), at);
        state.durable.insert(path.to_owned(), at);
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.state()
            .names
            .keys()
            .map(|path| path.file_name().expect("a name").to_string_lossy().into())
            .collect()
    }

    /// Counts a step; an error if it fails. `grows` steps need room.
    fn step(&self, grows: bool) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        let step = state.steps;
        state.steps += 1;
        while matches!(state.fault, Some(Fault::Asleep(from)) if step >= from) {
            state = self.0.1.wait(state).expect("no panic");
        }
        match state.fault {
            Some(Fault::Full(from)) if step >= from && grows => Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::Once(at)) if step == at => Err(io::Error::other("input/output error")),
            Some(Fault::Dead(from)) if step >= from => Err(io::Error::other("dead")),
            _ => Ok(state),
        }
    }
}

impl Disk for Played {
    fn open(&self, path: &Path) -> io::Result<Option<Box<dyn Stored>>> {
        let state = self.state();
        let body = state.names.get(path).copied();
        Ok(body.map(|body| Box::new(Open { disk: self.clone(), body, at: 0 }) as _))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Stored>> {
        let mut state = self.step(true)?;
        let body = state.bodies.len();
        state.bodies.push(Body::default());
        state.names.insert(path.to_owned(), body);
        Ok(Box::new(Open { disk: self.clone(), body, at: 0 }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.step(false)?;
        let body = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), body);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.step(false)?;
        let body = *state.names.get(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), body);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(false)?.names.remove(path);
        Ok(())
    }

    fn sync(&self, _: &Path) -> io::Result<()> {
        let mut state = self.step(false)?;
        state.durable = state.names.clone();
        Ok(())
    }
}

#[derive(Debug)]
struct Open {
    disk: Played,
    body: usize,
    at: usize,
}

impl Open {
    fn put(&mut self, state: &mut State, data: &[u8]) {
        let body = &mut state.bodies[self.body].data;
        body.resize(body.len().max(self.at + data.len()), 0);
        body[self.at..self.at + data.len()].copy_from_slice(data);
        self.at += data.len();
    }
}

impl Read for Open {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let disk = self.disk.clone();
        let state = disk.state();
        let rest = state.bodies[self.body].data.get(self.at..).unwrap_or_default();
        let count = rest.len().min(to.len());
        to[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

impl Write for Open {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let disk = self.disk.clone();
        match disk.step(true) {
            Ok(mut state) => {
                self.put(&mut state, data);
                Ok(data.len())
            }
            Err(error) => {
                let mut state = disk.state();
                // The step at which the process ended was done by halves, none behind it.
                if !matches!(state.fault, Some(Fault::Dead(from)) if state.steps > from + 1) {
                    self.put(&mut state, &data[..data.len() / 2]);
                }
                Err(error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Open {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        self.at = at as usize;
        Ok(at)
    }
}

impl Stored for Open {
    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.step(false)?;
        let body = &mut state.bodies[self.body];
        body.durable = body.data.clone();
        Ok(())
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        let mut state = self.disk.step(false)?;
        state.bodies[self.body].data.truncate(length as usize);
        Ok(())
    }
}
