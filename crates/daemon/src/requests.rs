//! Requests of the socket between the other work of the gateway's thread: those that are answered at once, and those that wait for
//! the disk, for another thread or for further turns.

use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use firstflight_contract::Nanos;
use firstflight_gateway::{By, Explanation, Ranking};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::api::{Answer, Content, Message, Order};
use crate::engine::Engine;
use crate::store::News;
use crate::{clock, view};

/// Most requests that are answered between two other tasks.
const MOST: usize = 64;
/// Prefixes that are ranked between two requests: 1 to 2 ms.
const RANKED: usize = 1 << 16;
/// Longest wait for the disk at the end of the process.
const LAST: Nanos = Nanos::from_secs(10);

/// An order that waits, with all that its answer and its line of the audit log need.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The order; of an import without its bytes.
    pub(crate) order: Order,
    /// The order in words.
    pub(crate) what: String,
    pub(crate) by: By,
    pub(crate) reply: oneshot::Sender<Answer>,
    /// Effect of an order that is in force.
    pub(crate) effect: Option<Effect>,
}

/// Effect of an order.
#[derive(Debug)]
pub(crate) struct Effect {
    /// Subject of the order, before and after.
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
    pub(crate) answer: Value,
}

impl Waiting {
    pub(crate) fn new(Message { order, by, reply }: Message) -> Self {
        let what = order.words().unwrap_or_default();
        Self { what, order, by, reply, effect: None }
    }
}

impl Engine<'_> {
    /// Answers the requests that wait.
    pub(crate) fn take_waiting(&mut self, requests: &Receiver<Message>) {
        for message in requests.try_iter().take(MOST) {
            self.take_request(message);
        }
        self.take_saved();
        self.rank();
    }

    /// Takes a request.
    pub(crate) fn take_request(&mut self, message: Message) {
        let Message { order, by, reply } = message;
        match order {
            Order::Export => self.store.export(reply),
            Order::Prefixes(limit) => self.rankings.push((Ranking::new(limit), reply)),
            Order::Import(state) => {
                self.begin_import(state, Message { order: Order::Import(vec![]), by, reply });
            }
            order if order.changes() => self.command(Message { order, by, reply }),
            order => {
                let answer = self.following(|engine| engine.answer(order));
                // The client may have gone.
                let _ = reply.send(answer);
            }
        }
    }

    /// Does a work of a request. The decisions that follow from it are in force afterwards, and those before them.
    pub(crate) fn following<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.pending.len();
        let done = work(self);
        if self.pending.len() > before {
            self.follow_all();
        }
        done
    }

    /// Takes the news of orders that waited.
    pub(crate) fn take_saved(&mut self) {
        while let Some(news) = self.store.news(&self.orders.book) {
            match news {
                News::Trouble(why) => self.note(Err(why)),
                News::Refused(waiting, why) => self.refuse(waiting, why),
                News::Answered(waiting, durable) => self.settle(waiting, Some(durable)),
                News::Durable(record, waiting) => self.begin_order(record, waiting),
            }
        }
    }

    /// Has a state read that a client brought.
    fn begin_import(&mut self, state: Vec<u8>, message: Message) {
        let waiting = Waiting { what: format!("import of {} bytes", state.len()), ..Waiting::new(message) };
        if self.logs.is_recording() {
            let why = "a recording holds one state only; expected a gateway without --record";
            return self.refuse(waiting, why.to_owned());
        }
        let into = self.gateway.restore(clock::since_boot(), Nanos::ZERO);
        self.store.import(state, into, waiting);
    }

    /// Puts states in force that clients brought.
    pub(crate) fn take_import(&mut self) {
        while let Some((mut restored, mut waiting)) = self.store.imported() {
            let before = self.concerns(&waiting.order);
            // An export does not state when it was made, or of which machine: it weighs half.
            restored.age_samples(self.gateway.settings().half_life);
            let old = self.gateway.replace(restored);
            if self.enforces() {
                // One line for all: a full table has as many reasons as plans.
                let removed = old.plans().filter_map(|plan| self.kernel.remove(&plan.prefix).err()).last();
                self.note(removed.map_or(Ok(()), Err));
                self.refresh_plans();
            }
            // A million prefixes take a while.
            thread::spawn(move || drop(old));
            let answer = json!({ "prefixes": self.gateway.prefixes() });
            let after = self.concerns(&waiting.order);
            waiting.effect = Some(Effect { before, after, answer });
            self.store.replaced(waiting);
        }
    }

    /// Goes on with the rankings of prefixes.
    pub(crate) fn rank(&mut self) {
        let gateway = &self.gateway;
        let done = |(ranking, _): &mut (Ranking, _)| gateway.rank(ranking, RANKED);
        let done: Vec<_> = self.rankings.extract_if(.., done).collect();
        for (ranking, reply) in done {
            let found = self.gateway.ranked(ranking);
            let stopped = self.stopped();
            let view = |found: Explanation| {
                let why = stopped.clone().or_else(|| self.kept_out(&found.prefix));
                view::in_force(&self.living(found), why.as_deref())
            };
            let rows: Vec<_> = found.into_iter().map(view).collect();
            // The client may have gone.
            let _ = reply.send(Ok(Content::Json(json!({ "prefixes": rows }))));
        }
    }

    /// Saves everything at the end of the process, and answers the orders that wait.
    pub(crate) fn end(&mut self) {
        let until = clock::since_boot() + LAST;
        let saved = self.store.finish(&mut self.gateway, &self.orders.book, until);
        self.note(saved);
        self.take_saved();
        while self.store.is_waiting() && clock::since_boot() < until {
            thread::sleep(Duration::from_millis(1));
            self.take_saved();
        }
        self.end_canary(until);
        if !self.store.is_durable() {
            self.note(Err("the orders in force could not all be saved".to_owned()));
        }
    }
}
