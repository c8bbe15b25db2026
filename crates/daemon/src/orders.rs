//! Orders of the operator: checked, put in force, kept, audited and shown.

use std::collections::BTreeSet;
use std::path::PathBuf;

use firstflight_contract::Nanos;
use firstflight_gateway::{Act, Book, By, Event, Kept, MOST_ORDERS, Mode, Origin, Override, Record, STOCK};
use firstflight_paths::Prefix;
use serde_json::{Value, json};

use crate::api::{Content, Message, Order};
use crate::audit::{self, Audit, Entry};
use crate::clock;
use crate::engine::Engine;
use crate::requests::{Effect, Waiting};
use crate::service::{Setup, Trouble};
use crate::source::Source;
use crate::view;

/// Orders that `status` and the line of a start show.
const SHOWN: usize = 100;

/// The operator's orders, with all that they need.
#[derive(Debug)]
pub(crate) struct Orders {
    /// Those of the configuration and of the socket.
    pub(crate) book: Book,
    /// Prefixes whose ordered window was taken back, because it did harm.
    pub(crate) silenced: BTreeSet<Prefix>,
    pub(crate) audit: Audit,
    pub(crate) source: Source,
    /// Result of the newest reload, for `status`.
    pub(crate) reloaded: Option<Value>,
}

impl Orders {
    /// The orders of the configuration, whose windows the kernel honours up to `widest`, and the audit log.
    ///
    /// # Errors
    /// [`Trouble`] if an order has another window, or the log cannot be opened.
    pub(crate) fn open(setup: &Setup, widest: u32) -> Result<Self, Trouble> {
        let source = setup.source.clone();
        let orders = source.orders_or(&setup.settings);
        let windows = STOCK..=setup.settings.window.min(widest);
        for (prefix, order, line) in &orders {
            let place = PathBuf::from(source.place(*line));
            let refused = |why| Trouble::of("an order of", &place, &format!("{prefix}: {why}"));
            order.check(&windows).map_err(refused)?;
        }
        let audit = Audit::open(&setup.state)
            .map_err(|error| Trouble::of("the audit log", &setup.state.join(audit::FILE), &error))?;
        let book = Book::new(windows, orders);
        Ok(Self { book, silenced: BTreeSet::new(), audit, source, reloaded: None })
    }

    fn view(&self, kept: &Kept) -> Value {
        let mut shown = json!({
            "prefix": kept.prefix.to_string(),
            "order": view::order(kept.order),
            "in_force": kept.why_not.is_none(),
            "why_not": kept.why_not,
        });
        match &kept.origin {
            Origin::File(line) => {
                shown["origin"] = json!("file");
                shown["file"] = json!(self.source.file);
                shown["line"] = json!((*line > 0).then_some(line));
            }
            Origin::Socket(by) => {
                shown["origin"] = json!("socket");
                given_by(&mut shown, by.as_ref());
            }
        }
        shown
    }

    /// An order as a line of the audit log has it.
    fn line(&self, kept: &Kept) -> String {
        let Kept { prefix, order, .. } = kept;
        let origin = match &kept.origin {
            Origin::File(line) => self.source.place(*line),
            Origin::Socket(_) => "socket".to_owned(),
        };
        let waits = if kept.why_not.is_some() { ", not in force" } else { "" };
        format!("{prefix} {order} ({origin}{waits})")
    }

    /// The orders that an order concerns and that stand now: the stop, and those of its prefix or those that it ends.
    fn standing(&self, order: &Order) -> Vec<String> {
        let kept = match order {
            Order::Set { prefix, .. }
            | Order::Freeze(prefix)
            | Order::Off(Some(prefix))
            | Order::Release(Some(prefix)) => {
                prefix.parse().map_or(vec![], |prefix: Prefix| self.book.of(&prefix))
            }
            Order::Release(None) | Order::Undo => {
                let of_socket = |kept: &Kept| matches!(kept.origin, Origin::Socket(_));
                self.book.kept().into_iter().filter(of_socket).collect()
            }
            Order::Denied { .. } => return vec![],
            // A stop of all ends no order.
            _ => vec![],
        };
        let stop = self.book.is_stopped().then(|| "stop (socket)".to_owned());
        stop.into_iter().chain(kept.iter().map(|kept| self.line(kept))).collect()
    }
}

/// Adds the process that gave an order.
fn given_by(shown: &mut Value, by: Option<&By>) {
    shown["at"] = json!(by.map(By::time));
    shown["uid"] = json!(by.map(|by| by.uid));
    shown["pid"] = json!(by.map(|by| by.pid));
    shown["comm"] = json!(by.map(|by| &by.comm));
}

/// An order that may be given.
enum Checked {
    Change(Record),
    /// A release of a prefix that has no order.
    Ended(Prefix),
}

impl Engine<'_> {
    /// Takes an order. One that begins something is applied when it is durable; one that ends plans at once, whatever the disk does.
    pub(crate) fn command(&mut self, message: Message) {
        if message.order == Order::Reload {
            let Message { by, reply, .. } = message;
            let answer = self.following(|engine| engine.reload("socket", &by));
            // The client may have gone.
            let _ = reply.send(answer);
            return;
        }
        let mut waiting = Waiting::new(message);
        if matches!(waiting.order, Order::SetCanary(_)) {
            return self.order_canary(waiting);
        }
        let record = match self.checked(&waiting.order, &waiting.by) {
            Err(why) => return self.refuse(waiting, why),
            Ok(Checked::Ended(prefix)) => {
                let (before, after) = (self.concerns(&waiting.order), self.concerns(&waiting.order));
                waiting.effect = Some(Effect { before, after, answer: self.released(prefix, false) });
                return self.settle(waiting, None);
            }
            Ok(Checked::Change(record)) => record,
        };
        if !matches!(waiting.order, Order::Off(_) | Order::Undo) {
            return self.store.first(record, waiting, &self.orders.book);
        }
        match self.apply_order(&record, &waiting.order) {
            Ok(effect) => {
                waiting.effect = Some(effect);
                self.store.in_force(record, waiting, &self.orders.book);
            }
            Err(why) => self.refuse(waiting, why),
        }
    }

    /// Applies an order that is durable, and answers it.
    pub(crate) fn begin_order(&mut self, record: Record, mut waiting: Waiting) {
        // Orders before it, or a reload, may have changed what is allowed.
        let effect =
            self.checked(&waiting.order, &waiting.by).and_then(|_| self.apply_order(&record, &waiting.order));
        match effect {
            Ok(effect) => {
                waiting.effect = Some(effect);
                self.settle(waiting, Some(Ok(())));
            }
            Err(why) => {
                self.store.take_back(&self.orders.book);
                self.refuse(waiting, why);
            }
        }
    }

    /// Puts an order in force.
    fn apply_order(&mut self, record: &Record, order: &Order) -> Result<Effect, String> {
        let before = self.concerns(order);
        let carry_out = |engine: &mut Self| engine.carry_out(record);
        let answer = self.following(carry_out)?;
        Ok(Effect { before, after: self.concerns(order), answer })
    }

    /// Answers an order that is in force, and audits it. Without a change there is nothing to make durable.
    pub(crate) fn settle(&mut self, waiting: Waiting, durable: Option<Result<(), String>>) {
        let Waiting { order, what, by, reply, effect } = waiting;
        let Some(Effect { before, after, mut answer }) = effect else { return };
        order.kind().into_iter().for_each(|kind| self.metrics.ordered(kind, true));
        let refused = None;
        self.audit(&Entry { via: "socket", by: &by, what, before, after, refused, durable: durable.clone() });
        let answer = match (order, durable) {
            (Order::Import(_), Some(Err(why))) => Err(format!("it is in force, but not durable: {why}")),
            (Order::Off(_) | Order::Undo | Order::SetCanary(_), Some(durable)) => {
                answer["durable"] = json!(durable.is_ok());
                if let Err(why) = durable {
                    answer["why_not_durable"] = json!(why);
                }
                Ok(answer)
            }
            _ => Ok(answer),
        };
        // The client may have gone.
        let _ = reply.send(answer.map(Content::Json));
    }

    /// Refuses an order, which has changed nothing, and audits it.
    pub(crate) fn refuse(&mut self, waiting: Waiting, why: String) {
        let Waiting { order, what, by, reply, .. } = waiting;
        order.kind().into_iter().for_each(|kind| self.metrics.ordered(kind, false));
        let (before, after) = (self.concerns(&order), self.concerns(&order));
        let refused = Some(why.as_str());
        self.audit(&Entry { via: "socket", by: &by, what, before, after, refused, durable: None });
        // The client may have gone.
        let _ = reply.send(Err(why));
    }

    /// Subject of an order, as its line of the audit log has it.
    pub(crate) fn concerns(&self, order: &Order) -> Vec<String> {
        match order {
            Order::Import(_) => vec![format!("{} networks", self.gateway.prefixes())],
            order => self.orders.standing(order),
        }
    }

    pub(crate) fn audit(&mut self, entry: &Entry<'_>) {
        let noted = self.orders.audit.note(entry).map_err(|error| format!("the audit log: {error}"));
        self.note(noted);
    }

    /// Audits the orders with which the gateway starts.
    pub(crate) fn audit_start(&mut self) {
        // SAFETY: getuid has no conditions.
        let uid = unsafe { libc::getuid() };
        let by = By { at: Nanos(clock::wall()), uid: Some(uid), pid: Some(std::process::id()), comm: None };
        let kept = self.orders.book.kept();
        let mut after = self.orders.standing(&Order::Off(None));
        after.extend(kept.iter().take(SHOWN).map(|kept| self.orders.line(kept)));
        if kept.len() > SHOWN {
            after.push(format!("and {} more", kept.len() - SHOWN));
        }
        let what = format!("start with {}", self.orders.source.place(0));
        self.audit(&Entry {
            via: "start",
            by: &by,
            what,
            before: vec![],
            after,
            refused: None,
            durable: None,
        });
    }

    /// Checks an order, and makes the line of it that is kept.
    fn checked(&self, order: &Order, by: &By) -> Result<Checked, String> {
        let act = match order {
            Order::Set { prefix, window } => self.allowed(prefix, Override::Window(*window))?,
            Order::Freeze(prefix) => self.allowed(prefix, Override::Freeze)?,
            Order::Off(Some(prefix)) => self.allowed(prefix, Override::Off)?,
            Order::Off(None) => Act::Stop,
            Order::Release(Some(prefix)) => {
                let prefix: Prefix = prefix.parse()?;
                if !self.ends(&prefix)? {
                    return Ok(Checked::Ended(prefix));
                }
                Act::Release(prefix)
            }
            Order::Release(None) => Act::ReleaseAll,
            Order::Undo => Act::Undo,
            Order::Denied { why, .. } => return Err(why.clone()),
            Order::Import(_) | Order::Reload | Order::SetCanary(_) => unreachable!("an order without a line"),
            Order::Status
            | Order::Orders
            | Order::Prefixes(_)
            | Order::Explain(_)
            | Order::Plan(..)
            | Order::Observation(_)
            | Order::Observed(_)
            | Order::Canary
            | Order::Export => unreachable!("a question changes nothing"),
        };
        Ok(Checked::Change(Record { act, by: Some(by.clone()) }))
    }

    fn allowed(&self, prefix: &str, order: Override) -> Result<Act, String> {
        let prefix: Prefix = prefix.parse()?;
        order.check(self.orders.book.windows())?;
        let enforcing = self.gateway.settings().mode == Mode::Enforce;
        if !enforcing && matches!(order, Override::Window(_) | Override::Freeze) {
            return Err("no plan is in force in this mode; expected mode = \"enforce\"".to_owned());
        }
        if self.orders.book.is_full(&prefix) {
            return Err(format!("there are {MOST_ORDERS} orders of the socket; expected a release before"));
        }
        Ok(Act::Give(prefix, order))
    }

    /// Whether the socket has an order for a prefix, which a release ends.
    fn ends(&self, prefix: &Prefix) -> Result<bool, String> {
        let kept = self.orders.book.of(prefix);
        if kept.iter().any(|kept| matches!(kept.origin, Origin::Socket(_))) {
            return Ok(true);
        }
        let line = kept.iter().find_map(|kept| match kept.origin {
            Origin::File(line) => Some(line),
            Origin::Socket(_) => None,
        });
        line.map_or(Ok(false), |line| {
            Err(format!(
                "the order for {prefix} is that of {}; it ends when it is removed there and `firstflight gateway reload` is run, and \
                 another one for the same prefix takes its place meanwhile",
                self.orders.source.place(line)
            ))
        })
    }

    /// The answer to a release of a prefix.
    fn released(&self, prefix: Prefix, released: bool) -> Value {
        let left = self.orders.book.of(&prefix).first().map(|kept| self.orders.view(kept));
        json!({
            "prefix": prefix.to_string(),
            "ordered": left.is_some(),
            "released": usize::from(released),
            "order": left,
        })
    }

    /// Takes an order into the book, and has kernel and gateway follow it; on an error all is as before.
    fn carry_out(&mut self, record: &Record) -> Result<Value, String> {
        match record.act {
            Act::Give(prefix, _) => {
                self.change(record, prefix)?;
                Ok(json!({ "prefix": prefix.to_string(), "ordered": true }))
            }
            Act::Release(prefix) => {
                let ends = self.ends(&prefix)?;
                self.change(record, prefix)?;
                Ok(self.released(prefix, ends))
            }
            Act::Stop => {
                self.kernel.stop(true)?;
                self.orders.book.apply(record.clone());
                Ok(json!({ "stopped": true }))
            }
            Act::ReleaseAll => {
                let before = self.orders.book.clone();
                self.orders.book.apply(record.clone());
                if let Err(why) = self.resume(&before.prefixes()) {
                    self.orders.book = before;
                    for prefix in self.orders.book.prefixes() {
                        let back = self.follow_book(prefix);
                        self.note(back);
                    }
                    let halted = self.halt();
                    self.note(halted);
                    return Err(why);
                }
                Ok(json!({ "stopped": false, "released": before.prefixes().len() }))
            }
            Act::Undo => {
                // From here on every connection starts as the stack starts it: the rest cannot fail the order.
                self.kernel.stop(true)?;
                let prefixes = self.orders.book.prefixes();
                self.orders.book.apply(record.clone());
                let plans = self.gateway.plans().count();
                let failed =
                    self.gateway.plans().filter_map(|plan| self.kernel.remove(&plan.prefix).err()).last();
                self.note(failed.map_or(Ok(()), Err));
                // Earlier decisions still wait to be followed.
                let begin = self.pending.len();
                for prefix in &prefixes {
                    let followed = self.follow_book(*prefix);
                    self.note(followed);
                }
                self.pending.truncate(begin);
                Ok(json!({ "removed_plans": plans, "removed_orders": prefixes.len() }))
            }
        }
    }

    /// Has the orders of these prefixes end, and the stop.
    fn resume(&mut self, prefixes: &[Prefix]) -> Result<(), String> {
        prefixes.iter().try_for_each(|prefix| self.follow_book(*prefix))?;
        if !self.enforces() {
            return Ok(());
        }
        self.halt()?;
        let canary = &self.canary;
        let network = |prefix: &Prefix| self.gateway.prefix(prefix.first());
        let mut plans =
            self.gateway.plans().filter(|plan| canary.keeps_from(&network(&plan.prefix)).is_none());
        plans.try_for_each(|plan| self.kernel.set(&plan))
    }

    /// Puts an order for a prefix in force; on an error all is as before.
    fn change(&mut self, record: &Record, prefix: Prefix) -> Result<(), String> {
        let (before, silenced) = (self.orders.book.clone(), self.orders.silenced.contains(&prefix));
        self.orders.book.apply(record.clone());
        let order = self.orders.book.in_force(&prefix);
        if let Err(why) = self.force(prefix, order) {
            self.orders.book = before;
            let back = match silenced {
                true => self.silence(prefix),
                false => self.force(prefix, self.orders.book.in_force(&prefix)),
            };
            self.note(back);
            return Err(why);
        }
        self.give(&Event::Order { prefix, order });
        Ok(())
    }

    /// Has kernel and gateway follow the book for a prefix.
    fn follow_book(&mut self, prefix: Prefix) -> Result<(), String> {
        let order = self.orders.book.in_force(&prefix);
        self.force(prefix, order)?;
        self.give(&Event::Order { prefix, order });
        Ok(())
    }

    /// Puts an order in force in the kernel, in the mode enforce.
    pub(crate) fn force(&mut self, prefix: Prefix, order: Option<Override>) -> Result<(), String> {
        if self.gateway.settings().mode == Mode::Enforce {
            self.kernel.order(&prefix, order)?;
            self.orders.silenced.remove(&prefix);
        }
        Ok(())
    }

    /// Every order with its origin.
    pub(crate) fn all_orders(&self) -> Value {
        let kept: Vec<_> = self.orders.book.kept().iter().map(|kept| self.orders.view(kept)).collect();
        json!({
            "stopped": self.orders.book.is_stopped(),
            "stopped_by": self.stopped_by(),
            "orders": kept,
        })
    }

    /// Fields of `status` about orders and the configuration.
    pub(crate) fn order_status(&self, status: &mut Value) {
        let kept = self.orders.book.kept();
        status["order_list"] = kept.iter().take(SHOWN).map(|kept| self.orders.view(kept)).collect();
        status["stopped_by"] = self.stopped_by();
        status["configuration"] = json!(self.orders.source.file);
        status["reload"] = json!(self.orders.reloaded);
    }

    fn stopped_by(&self) -> Value {
        let by = self.orders.book.stopped_by();
        by.map_or(Value::Null, |by| {
            let mut shown = json!({});
            given_by(&mut shown, Some(by));
            shown
        })
    }

    /// The order that counts for an address, with its origin.
    pub(crate) fn order_of(&self, address: std::net::IpAddr) -> Value {
        let Some((prefix, _)) = self.gateway.ordered(address) else { return Value::Null };
        self.orders.book.of(&prefix).first().map_or(Value::Null, |kept| self.orders.view(kept))
    }
}
