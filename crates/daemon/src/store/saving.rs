//! Snapshots and exports of what was learned, made part by part between the other work of the gateway's thread.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{Gateway, Restore, StateError, seal, unsealed};
use tokio::sync::oneshot;

use super::News;
use super::disk::Disk;
use super::snapshot::{AT_ONCE, Facts, PIECE, Writer};
use crate::api::{Answer, Content};
use crate::clock;
use crate::requests::Waiting;

/// Work for a snapshot between two looks at the kernel's reports.
const TURN: Nanos = Nanos::from_millis(3);

/// Makes snapshots when they are due.
pub(crate) struct Saver {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    every: Nanos,
    next: Nanos,
    /// Bytes after which the disk is waited for.
    at_once: u64,
    saving: Option<Saving>,
    /// States that are being read for clients.
    imports: Vec<Import>,
    /// Clients that wait for the state.
    exports: Vec<oneshot::Sender<Answer>>,
    /// Imports in force that are answered when a snapshot that begins from now on is durable.
    held: Vec<Waiting>,
    /// Imports that are to be answered.
    pub(crate) ready: VecDeque<News>,
    /// Wall time of the newest durable snapshot.
    taken: Option<u64>,
    /// Bytes of the newest snapshot.
    pub(crate) bytes: u64,
    pub(crate) failures: u64,
    /// Reason of the newest failure, until a snapshot succeeds.
    pub(crate) failing: Option<String>,
}

/// A state that is being read, and the client that brought it.
struct Import {
    thread: JoinHandle<Result<Gateway, StateError>>,
    waiting: Waiting,
}

/// A state that is being saved.
struct Saving {
    to: To,
    /// Piece that is being filled, or waits for room.
    piece: Vec<u8>,
    /// Whether all parts were made.
    whole: bool,
    /// Whether the end was handed over.
    ended: bool,
}

enum To {
    /// A file, and the imports that wait for it.
    File(Writer, Facts, Vec<Waiting>),
    Client(oneshot::Sender<Answer>),
    /// A file that was given up.
    Nothing(Writer),
}

impl Saver {
    /// `taken` is the wall time of the snapshot that is there.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        path: PathBuf,
        every: Nanos,
        now: Nanos,
        taken: Option<u64>,
    ) -> Self {
        Self {
            disk,
            path,
            every,
            next: now + every,
            at_once: AT_ONCE,
            saving: None,
            imports: vec![],
            exports: vec![],
            held: vec![],
            ready: VecDeque::new(),
            taken,
            bytes: 0,
            failures: 0,
            failing: None,
        }
    }

    /// Age of the newest snapshot by the wall clock, seconds; [`None`] without one.
    pub(crate) fn age(&self) -> Option<f64> {
        self.taken.map(|taken| clock::wall().saturating_sub(taken) as f64 / 1e9)
    }

    /// Gives the state to a client when it is complete.
    pub(crate) fn export(&mut self, reply: oneshot::Sender<Answer>) {
        self.exports.push(reply);
    }

    /// Reads a state beside the gateway's thread: [`Saver::imported`].
    pub(crate) fn import(&mut self, state: Vec<u8>, into: Restore, waiting: Waiting) {
        let work = move || into.whole(&state);
        match thread::Builder::new().name("import".to_owned()).spawn(work) {
            Ok(thread) => self.imports.push(Import { thread, waiting }),
            Err(error) => {
                self.ready.push_back(News::Refused(waiting, format!("no thread for it: {error}")));
            }
        }
    }

    /// A state that was read for a client.
    pub(crate) fn imported(&mut self) -> Option<(Gateway, Waiting)> {
        loop {
            let at = self.imports.iter().position(|import| import.thread.is_finished())?;
            let Import { thread, waiting } = self.imports.swap_remove(at);
            match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(gateway) => return Some((gateway, waiting)),
                Err(error) => self.ready.push_back(News::Refused(waiting, error.to_string())),
            }
        }
    }

    /// The gateway has another state: what is being saved of the old one is given up, and a snapshot is due.
    pub(crate) fn replaced(&mut self, waiting: Waiting) {
        self.held.push(waiting);
        if let Some(To::Client(reply)) = self.give_up() {
            self.exports.push(reply);
        }
    }

    /// Gives up what is being saved, and has a snapshot begin as soon as that has ended.
    fn give_up(&mut self) -> Option<To> {
        self.next = Nanos::ZERO;
        let writer = match self.saving.take()?.to {
            To::File(writer, _, held) => {
                self.held.extend(held);
                writer.give_up()
            }
            To::Nothing(writer) => writer,
            client @ To::Client(_) => return Some(client),
        };
        self.saving = Some(Saving::new(To::Nothing(writer)));
        None
    }

    /// Makes some parts; answers with the result of a snapshot that has ended. `orders` is the number of the newest record of
    /// the orders.
    pub(crate) fn turn(
        &mut self,
        gateway: &mut Gateway,
        now: Nanos,
        orders: u64,
    ) -> Option<Result<u64, String>> {
        let until = clock::since_boot() + TURN;
        // The clock may have stepped back, of a machine that was moved.
        let is_due = now >= self.next || self.next.0 - now.0 > self.every.0;
        if self.saving.is_none() {
            if is_due {
                if let Err(why) = self.begin(gateway, now, orders) {
                    return Some(Err(self.failed(why, vec![])));
                }
            } else if let Some(reply) = self.exports.pop() {
                gateway.begin_save();
                self.saving = Some(Saving { piece: unsealed(), ..Saving::new(To::Client(reply)) });
            }
        }
        let saving = self.saving.as_mut()?;
        while !saving.ended && saving.step(gateway) && clock::since_boot() < until {}
        self.ended()
    }

    /// Begins a snapshot and makes all of it.
    ///
    /// # Errors
    /// It is not durable.
    pub(crate) fn finish(&mut self, gateway: &mut Gateway, orders: u64, until: Nanos) -> Result<(), String> {
        let late = format!("the snapshot {}: the disk has not answered for 10 s", self.path.display());
        // One that was begun lacks the newest reports.
        drop(self.give_up());
        self.exports.clear();
        // No order waits any more.
        self.at_once = u64::MAX;
        loop {
            if let Some(result) = self.turn(gateway, clock::since_boot(), orders) {
                return result.map(drop);
            }
            if clock::since_boot() >= until {
                return Err(late);
            }
            if self.saving.as_ref().is_some_and(Saving::waits) {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn begin(&mut self, gateway: &mut Gateway, now: Nanos, orders: u64) -> Result<(), String> {
        self.next = now + self.every;
        let facts = Facts { taken: clock::wall(), orders };
        let writer = Writer::begin(Arc::clone(&self.disk), self.path.clone(), facts, self.at_once);
        let writer = writer.map_err(|error| format!("the snapshot {}: {error}", self.path.display()))?;
        gateway.begin_save();
        self.saving = Some(Saving::new(To::File(writer, facts, std::mem::take(&mut self.held))));
        Ok(())
    }

    /// Ends what has ended.
    fn ended(&mut self) -> Option<Result<u64, String>> {
        let is_over = match &self.saving.as_ref()?.to {
            To::File(writer, ..) | To::Nothing(writer) => writer.is_over(),
            To::Client(_) => self.saving.as_ref()?.ended,
        };
        if !is_over {
            return None;
        }
        let Saving { to, piece, .. } = self.saving.take()?;
        match to {
            To::Nothing(_) => None,
            To::Client(reply) => {
                hand_over(piece, reply);
                None
            }
            To::File(writer, facts, held) => match writer.end() {
                Ok(bytes) => {
                    (self.taken, self.bytes, self.failing) = (Some(facts.taken), bytes, None);
                    self.ready.extend(held.into_iter().map(|waiting| News::Answered(waiting, Ok(()))));
                    Some(Ok(bytes))
                }
                Err(error) => {
                    Some(Err(self.failed(format!("the snapshot {}: {error}", self.path.display()), held)))
                }
            },
        }
    }

    fn failed(&mut self, why: String, mut held: Vec<Waiting>) -> String {
        held.append(&mut self.held);
        self.ready.extend(held.into_iter().map(|waiting| News::Answered(waiting, Err(why.clone()))));
        self.failures += 1;
        self.failing = Some(why.clone());
        why
    }
}

/// Seals a state and gives it to a client, beside the gateway's thread: the checksum of a million prefixes takes a while.
fn hand_over(mut state: Vec<u8>, reply: oneshot::Sender<Answer>) {
    let work = move || {
        seal(&mut state);
        // The client may have gone.
        let _ = reply.send(Ok(Content::Bytes(state)));
    };
    // Without a thread the client gets the answer that the gateway is stopping.
    let _ = thread::Builder::new().name("export".to_owned()).spawn(work);
}

impl Saving {
    fn new(to: To) -> Self {
        Self { to, piece: vec![], whole: false, ended: false }
    }

    /// Whether only the disk has work left.
    fn waits(&self) -> bool {
        self.ended || self.whole || self.piece.len() >= PIECE || matches!(self.to, To::Nothing(_))
    }

    /// Makes the next parts and hands them over; false if there is no room for them.
    fn step(&mut self, gateway: &mut Gateway) -> bool {
        match &self.to {
            To::Nothing(_) => return false,
            To::Client(_) => self.ended = gateway.save_part(&mut self.piece),
            To::File(writer, ..) => {
                if !self.whole && self.piece.len() < PIECE {
                    self.whole = gateway.save_part(&mut self.piece);
                }
                if self.whole && self.piece.is_empty() {
                    self.ended = writer.give(None).is_ok();
                    return self.ended;
                }
                if self.whole || self.piece.len() >= PIECE {
                    let piece = std::mem::take(&mut self.piece);
                    if let Err(Some(back)) = writer.give(Some(piece)) {
                        self.piece = back;
                        return false;
                    }
                }
            }
        }
        true
    }
}
