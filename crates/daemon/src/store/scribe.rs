//! The thread that makes orders durable, and the orders that wait for it.
//!
//! The gateway's thread never waits for a disk. An order that begins something is applied when it is durable, or refused. One
//! that ends plans is applied at once: its answer waits for the disk for half a second, and states whether it is durable. It
//! overtakes the orders that still wait, which are refused. The gateway's thread has the book of the orders in force; here they
//! are lines of text.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use firstflight_contract::Nanos;
use firstflight_gateway::{Book, Record};

use super::ledger::Ledger;
use super::{News, lines};
use crate::requests::Waiting;

/// Longest time for which an order waits for the disk.
const LONGEST: Nanos = Nanos::from_secs(5);
/// Longest time for which the answer to an order that is in force waits for the disk.
const LONGEST_IN_FORCE: Nanos = Nanos::from_millis(500);
/// Time between two attempts to write the orders that are in force and not durable.
const RETRY: Nanos = Nanos::from_secs(1);

/// Work for the thread.
struct Job {
    change: Vec<String>,
    /// The orders after the change.
    all: Vec<String>,
    /// Whether the file is to be replaced.
    anew: bool,
}

/// Answer of the thread.
struct Done {
    result: io::Result<()>,
    number: u64,
    /// Whether a new file would be shorter or is missing.
    long: bool,
}

/// A change that waits.
struct Request {
    /// The order; [`None`] if the file is only to be replaced.
    record: Option<Record>,
    kind: Kind,
    until: Nanos,
    /// Whether the thread replaces the file.
    anew: bool,
}

enum Kind {
    /// It is applied when it is durable.
    First(Waiting),
    /// It is in force; [`None`] when it was answered.
    InForce(Option<Waiting>),
    /// Nothing waits for it: the file is replaced.
    Rewrite,
    /// It was refused, and may become durable nevertheless.
    Refused,
}

/// The thread, and the orders that wait for it.
pub(crate) struct Scribe {
    jobs: Sender<Job>,
    done: Receiver<Done>,
    /// The request that the thread has.
    busy: Option<Request>,
    waiting: VecDeque<Request>,
    /// News that the gateway's thread has not taken yet.
    ready: VecDeque<News>,
    /// Whether the file differs from the orders in force by more than the changes that wait: it has to be replaced.
    behind: bool,
    /// Whether a new file would be shorter.
    long: bool,
    /// Time of the next attempt to write what is behind.
    retry: Nanos,
    /// Number of the newest record.
    pub(crate) number: u64,
    /// Failures of the disk.
    pub(crate) failures: u64,
}

impl Scribe {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no further thread.
    pub(crate) fn start(mut ledger: Ledger, behind: bool) -> io::Result<Self> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let (outbox, done) = mpsc::channel();
        let number = ledger.number();
        // It ends with its channel. Nobody waits for it: the disk may never answer.
        thread::Builder::new().name("orders".to_owned()).spawn(move || {
            for Job { change, all, anew } in inbox {
                let result = if anew { ledger.rewrite(&all) } else { ledger.append(&change, &all) };
                let (number, long) = (ledger.number(), ledger.is_to_be_rewritten());
                if outbox.send(Done { result, number, long }).is_err() {
                    break;
                }
            }
        })?;
        let (busy, waiting, ready, retry) = (None, VecDeque::new(), VecDeque::new(), Nanos::ZERO);
        Ok(Self { jobs, done, busy, waiting, ready, behind, long: false, retry, number, failures: 0 })
    }

    /// Has an order applied when it is durable.
    pub(crate) fn first(&mut self, record: Record, waiting: Waiting, book: &Book, now: Nanos) {
        let (record, kind) = (Some(record), Kind::First(waiting));
        self.waiting.push_back(Request { record, kind, until: now + LONGEST, anew: false });
        self.work(book, now);
    }

    /// Makes an order durable that is in force, and in the book. Orders that still wait are refused, because they are older.
    pub(crate) fn in_force(&mut self, record: Record, waiting: Waiting, book: &Book, now: Nanos) {
        for request in self.waiting.iter_mut().chain(&mut self.busy) {
            let why = "a later order to end plans went before it; nothing was changed";
            request.refuse(why, &mut self.ready);
        }
        let (record, kind) = (Some(record), Kind::InForce(Some(waiting)));
        self.waiting.push_back(Request { record, kind, until: now + LONGEST_IN_FORCE, anew: false });
        self.work(book, now);
    }

    /// The order that was durable cannot be applied: the file has to have those of the book.
    pub(crate) fn take_back(&mut self, book: &Book, now: Nanos) {
        (self.behind, self.retry) = (true, now);
        self.work(book, now);
    }

    /// Replaces the file by a shorter one, if there is nothing else to do.
    pub(crate) fn shorten(&mut self, book: &Book, now: Nanos) {
        if self.long && self.is_idle() {
            self.waiting.push_back(Request::rewrite());
            self.work(book, now);
        }
    }

    /// Whether all orders in force are on disk.
    pub(crate) fn is_durable(&self) -> bool {
        let waits = |request: &Request| matches!(request.kind, Kind::InForce(_));
        !self.behind && !self.waiting.iter().chain(&self.busy).any(waits)
    }

    /// Whether nothing waits for the thread.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.is_none() && self.waiting.is_empty() && self.ready.is_empty()
    }

    /// The next news, which the book has to have before the next call. Answers that have waited for too long are given.
    pub(crate) fn news(&mut self, book: &Book, now: Nanos) -> Option<News> {
        if let Some(news) = self.ready.pop_front() {
            return Some(news);
        }
        for request in self.waiting.iter_mut().chain(&mut self.busy) {
            if now >= request.until {
                let why = "the disk of the state folder has not answered for 5 s; nothing was changed";
                request.refuse(why, &mut self.ready);
                let why = "the disk of the state folder has not answered for 0.5 s";
                request.answer(Err(why.to_owned()), &mut self.ready);
            }
        }
        if let Ok(done) = self.done.try_recv()
            && let Some(durable) = self.take(done, now)
        {
            return Some(durable);
        }
        self.work(book, now);
        self.ready.pop_front()
    }

    /// Takes an answer of the thread; gives an order that is to be applied.
    fn take(&mut self, Done { result, number, long }: Done, now: Nanos) -> Option<News> {
        (self.number, self.long) = (number, long);
        let mut request = self.busy.take()?;
        let failed = result.err().map(|error| format!("the orders cannot be saved: {error}"));
        self.failures += u64::from(failed.is_some());
        let Some(why) = failed else {
            self.behind &= !request.anew;
            match (request.kind, request.record) {
                (Kind::First(waiting), Some(record)) => return Some(News::Durable(record, waiting)),
                (Kind::Refused, _) => (self.behind, self.retry) = (true, now),
                (Kind::InForce(waiting), _) => {
                    self.ready.extend(waiting.map(|waiting| News::Answered(waiting, Ok(()))));
                }
                (Kind::First(_) | Kind::Rewrite, _) => {}
            }
            return None;
        };
        self.retry = now + RETRY;
        self.behind |= matches!(request.kind, Kind::InForce(_));
        request.refuse(&format!("{why}; nothing was changed"), &mut self.ready);
        request.answer(Err(why.clone()), &mut self.ready);
        self.ready.push_back(News::Trouble(why));
        None
    }

    /// Gives the thread its next work.
    fn work(&mut self, book: &Book, now: Nanos) {
        while self.busy.is_none() {
            let Some(mut request) = self.waiting.pop_front() else {
                if self.behind && now >= self.retry {
                    self.waiting.push_back(Request::rewrite());
                    continue;
                }
                return;
            };
            if matches!(request.kind, Kind::Refused) {
                continue;
            }
            let all = match (&request.kind, &request.record) {
                (Kind::First(_), Some(record)) => {
                    let mut book = book.clone();
                    book.apply(record.clone());
                    lines(&book)
                }
                _ => lines(book),
            };
            request.anew = self.behind || request.record.is_none();
            let change = request.record.iter().map(Record::to_string).collect();
            let job = Job { change, all, anew: request.anew };
            self.busy = Some(request);
            // The thread lives as long as this.
            let _ = self.jobs.send(job);
        }
    }
}

impl Request {
    fn rewrite() -> Self {
        Self { record: None, kind: Kind::Rewrite, until: Nanos::NEVER, anew: true }
    }

    /// Refuses an order that is not in force.
    fn refuse(&mut self, why: &str, ready: &mut VecDeque<News>) {
        if !matches!(self.kind, Kind::First(_)) {
            return;
        }
        if let Kind::First(waiting) = std::mem::replace(&mut self.kind, Kind::Refused) {
            ready.push_back(News::Refused(waiting, why.to_owned()));
        }
    }

    /// Answers an order that is in force.
    fn answer(&mut self, durable: Result<(), String>, ready: &mut VecDeque<News>) {
        let Kind::InForce(waiting) = &mut self.kind else { return };
        ready.extend(waiting.take().map(|waiting| News::Answered(waiting, durable)));
    }
}
