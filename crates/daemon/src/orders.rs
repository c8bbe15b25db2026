//! Orders of the operator: checked, put in force, kept, audited and shown.

use std::collections::BTreeSet;
use std::path::PathBuf;

use firstflight_contract::Nanos;
use firstflight_gateway::{
    Act, Book, By, Changed, Decision, Event, Kept, MOST_ORDERS, Mode, Origin, Override, Plan, Record, STOCK,
};
use firstflight_paths::Prefix;
use serde_json::{Value, json};

use crate::api::{Answer, Content, Order};
use crate::audit::{self, Audit, Entry};
use crate::clock;
use crate::engine::Engine;
use crate::service::{Setup, Trouble};
use crate::source::{Fresh, Source};
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

    /// What stands of that which an order concerns: the stop, and the orders of its prefix or those that it ends.
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

/// An order of the socket in words.
fn words(order: &Order) -> String {
    // A prefix is any text until it is checked.
    let cut = |prefix: &str| prefix.chars().take(80).collect::<String>();
    match order {
        Order::Set { prefix, window } => format!("set {} {window}", cut(prefix)),
        Order::Freeze(prefix) => format!("freeze {}", cut(prefix)),
        Order::Off(Some(prefix)) => format!("off {}", cut(prefix)),
        Order::Off(None) => "off".to_owned(),
        Order::Release(Some(prefix)) => format!("release {}", cut(prefix)),
        Order::Release(None) => "release".to_owned(),
        Order::Import(bytes) => format!("import of {} bytes", bytes.len()),
        Order::Undo => "undo".to_owned(),
        Order::Reload => "reload".to_owned(),
        Order::Denied { what, .. } => what.clone(),
        _ => unreachable!("a question changes nothing"),
    }
}

/// A prefix with its order in force before and now.
type Shift = (Prefix, Option<Override>, Option<Override>);

/// Difference that a reload has made.
#[derive(Debug, Default)]
struct Reloaded {
    changed: Vec<Changed>,
    orders: Vec<Shift>,
    needs_restart: Vec<String>,
}

impl Engine<'_> {
    /// Carries out an order that changes something, and audits it.
    pub(crate) fn command(&mut self, order: Order, by: &By, decisions: &mut Vec<Decision>) -> Answer {
        if matches!(order, Order::Reload) {
            return self.reload("socket", by, decisions);
        }
        let what = words(&order);
        let networks = matches!(order, Order::Import(_)).then(|| self.gateway.prefixes());
        let before = self.orders.standing(&order);
        // An import takes the bytes away.
        let of = match &order {
            Order::Import(_) => Order::Import(vec![]),
            order => order.clone(),
        };
        let answer = self.carry_out(order, by, decisions);
        let (mut before, mut after) = (before, self.orders.standing(&of));
        if let Some(networks) = networks {
            before = vec![format!("{networks} networks")];
            after = vec![format!("{} networks", self.gateway.prefixes())];
        }
        let refused = answer.as_ref().err().map(String::as_str);
        self.audit(&Entry { via: "socket", by, what, before, after, refused });
        answer.map(Content::Json)
    }

    fn audit(&mut self, entry: &Entry<'_>) {
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
        self.audit(&Entry { via: "start", by: &by, what, before: vec![], after, refused: None });
    }

    fn carry_out(&mut self, order: Order, by: &By, decisions: &mut Vec<Decision>) -> Result<Value, String> {
        let record = |act| Record { act, by: Some(by.clone()) };
        match order {
            Order::Set { prefix, window } => {
                self.give_order(&prefix, Override::Window(window), by, decisions)
            }
            Order::Freeze(prefix) => self.give_order(&prefix, Override::Freeze, by, decisions),
            Order::Off(Some(prefix)) => self.give_order(&prefix, Override::Off, by, decisions),
            Order::Off(None) => {
                self.kernel.stop(true)?;
                self.keep_stop(record(Act::Stop))?;
                Ok(json!({ "stopped": true }))
            }
            Order::Release(Some(prefix)) => self.release(&prefix, by, decisions),
            Order::Release(None) => {
                let prefixes = self.orders.book.prefixes();
                self.keep(record(Act::ReleaseAll))?;
                for prefix in &prefixes {
                    self.follow(*prefix, decisions)?;
                }
                if self.enforces() {
                    self.halt()?;
                    let plans: Vec<_> = self.gateway.plans().collect();
                    plans.iter().try_for_each(|plan| self.kernel.set(plan))?;
                }
                Ok(json!({ "stopped": false, "released": prefixes.len() }))
            }
            Order::Import(bytes) => self.import(&bytes),
            Order::Undo => {
                self.kernel.stop(true)?;
                let plans: Vec<_> = self.gateway.plans().collect();
                plans.iter().try_for_each(|plan| self.kernel.remove(&plan.prefix))?;
                let prefixes = self.orders.book.prefixes();
                let kept = self.keep_stop(record(Act::Undo));
                for prefix in &prefixes {
                    self.follow(*prefix, decisions)?;
                }
                decisions.clear();
                kept?;
                Ok(json!({ "removed_plans": plans.len(), "removed_orders": prefixes.len() }))
            }
            Order::Denied { why, .. } => Err(why),
            _ => unreachable!("a question changes nothing"),
        }
    }

    fn import(&mut self, bytes: &[u8]) -> Result<Value, String> {
        if self.recording.is_some() {
            return Err("a recording holds one state only; expected a gateway without --record".to_owned());
        }
        let plans: Vec<_> = self.gateway.plans().collect();
        self.gateway.load(bytes, clock::since_boot(), Nanos::ZERO).map_err(|error| error.to_string())?;
        // An export does not state when it was made, or of which machine: it weighs half.
        self.gateway.age_samples(self.gateway.settings().half_life);
        if self.enforces() {
            plans.iter().try_for_each(|plan| self.kernel.remove(&plan.prefix))?;
            let plans: Vec<_> = self.gateway.plans().collect();
            plans.iter().try_for_each(|plan| self.kernel.set(plan))?;
        }
        let saved = self.save();
        saved
            .map_err(|why| format!("the import counts until a restart, because it cannot be kept: {why}"))?;
        Ok(json!({ "prefixes": self.gateway.prefixes() }))
    }

    fn give_order(
        &mut self,
        prefix: &str,
        order: Override,
        by: &By,
        decisions: &mut Vec<Decision>,
    ) -> Result<Value, String> {
        let prefix: Prefix = prefix.parse()?;
        order.check(self.orders.book.windows())?;
        let enforcing = self.gateway.settings().mode == Mode::Enforce;
        if !enforcing && matches!(order, Override::Window(_) | Override::Freeze) {
            return Err("no plan is in force in this mode; expected mode = \"enforce\"".to_owned());
        }
        if self.orders.book.is_full(&prefix) {
            return Err(format!("there are {MOST_ORDERS} orders of the socket; expected a release before"));
        }
        self.change(Record { act: Act::Give(prefix, order), by: Some(by.clone()) }, prefix, decisions)?;
        Ok(json!({ "prefix": prefix.to_string(), "ordered": true }))
    }

    fn release(&mut self, prefix: &str, by: &By, decisions: &mut Vec<Decision>) -> Result<Value, String> {
        let prefix: Prefix = prefix.parse()?;
        let kept = self.orders.book.of(&prefix);
        let line = kept.iter().find_map(|kept| match kept.origin {
            Origin::File(line) => Some(line),
            Origin::Socket(_) => None,
        });
        let released = kept.iter().any(|kept| matches!(kept.origin, Origin::Socket(_)));
        if released {
            self.change(Record { act: Act::Release(prefix), by: Some(by.clone()) }, prefix, decisions)?;
        } else if let Some(line) = line {
            return Err(format!(
                "the order for {prefix} is that of {}; it ends when it is removed there and `firstflight gateway reload` is run, and \
                 another one for the same prefix takes its place meanwhile",
                self.orders.source.place(line)
            ));
        }
        let left = self.orders.book.of(&prefix).first().map(|kept| self.orders.view(kept));
        Ok(json!({
            "prefix": prefix.to_string(),
            "ordered": left.is_some(),
            "released": usize::from(released),
            "order": left,
        }))
    }

    /// Puts an order for a prefix in force and keeps it; on an error all is as before.
    fn change(
        &mut self,
        record: Record,
        prefix: Prefix,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), String> {
        let (before, silenced) = (self.orders.book.clone(), self.orders.silenced.contains(&prefix));
        self.orders.book.apply(record.clone());
        let now = self.orders.book.in_force(&prefix);
        let forced = self.force(prefix, now);
        self.orders.book = before;
        let kept = forced.and_then(|()| self.keep(record));
        if let Err(why) = kept {
            let back = match silenced {
                true => self.silence(prefix),
                false => self.force(prefix, self.orders.book.in_force(&prefix)),
            };
            self.note(back);
            return Err(why);
        }
        self.give(&Event::Order { prefix, order: now }, decisions);
        Ok(())
    }

    /// Has kernel and gateway follow the book for a prefix.
    fn follow(&mut self, prefix: Prefix, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let order = self.orders.book.in_force(&prefix);
        self.force(prefix, order)?;
        self.give(&Event::Order { prefix, order }, decisions);
        Ok(())
    }

    /// Puts an order in force in the kernel, in the mode enforce.
    fn force(&mut self, prefix: Prefix, order: Option<Override>) -> Result<(), String> {
        if self.gateway.settings().mode == Mode::Enforce {
            self.kernel.order(&prefix, order)?;
            self.orders.silenced.remove(&prefix);
        }
        Ok(())
    }

    /// Keeps an order of the socket over a restart, and takes it into the book; on an error all is as before.
    fn keep(&mut self, record: Record) -> Result<(), String> {
        let before = self.orders.book.clone();
        self.orders.book.apply(record);
        self.save().map_err(|why| {
            self.orders.book = before;
            format!("nothing was changed, because the order cannot be kept: {why}")
        })
    }

    /// Keeps an order by which every connection starts as the stack starts it: without a disk, too, it is in force.
    fn keep_stop(&mut self, record: Record) -> Result<(), String> {
        self.orders.book.apply(record);
        self.save().map_err(|why| {
            format!("all connections start as the stack starts them until a restart, because the order cannot be kept: {why}")
        })
    }

    /// Reads the configuration again and takes what a running gateway can take. A configuration with an error changes nothing.
    pub(crate) fn reload(&mut self, via: &'static str, by: &By, decisions: &mut Vec<Decision>) -> Answer {
        let result = self.read_again(decisions);
        let (mut before, mut after) = (vec![], vec![]);
        if let Ok(Reloaded { changed, orders, .. }) = &result {
            for Changed { key, before: was, now } in changed {
                before.push(format!("{key} = {was}"));
                after.push(format!("{key} = {now}"));
            }
            for (prefix, was, now) in orders {
                before.extend(was.map(|order| format!("{prefix} {order}")));
                after.extend(now.map(|order| format!("{prefix} {order}")));
            }
        }
        let file = self.orders.source.place(0);
        let refused = result.as_ref().err().map(String::as_str);
        self.audit(&Entry { via, by, what: format!("reload of {file}"), before, after, refused });
        let answer = result.map(|Reloaded { changed, orders, needs_restart }| {
            let changed = changed
                .iter()
                .map(|Changed { key, before, now }| json!({ "key": key, "before": before, "now": now }));
            let orders = orders.iter().map(|(prefix, before, now)| {
                json!({
                    "prefix": prefix.to_string(),
                    "before": before.map(view::order),
                    "now": now.map(view::order),
                })
            });
            json!({
                "file": file,
                "changed": changed.collect::<Vec<_>>(),
                "orders": orders.collect::<Vec<_>>(),
                "needs_restart": needs_restart,
            })
        });
        let error = answer.as_ref().err();
        let restart = answer.as_ref().ok().map(|answer| &answer["needs_restart"]);
        self.orders.reloaded =
            Some(json!({ "at": by.time(), "via": via, "error": error, "needs_restart": restart }));
        answer.map(Content::Json)
    }

    /// Reads the configuration again after SIGHUP.
    pub(crate) fn reload_if_asked(&mut self, decisions: &mut Vec<Decision>) {
        if !self.orders.source.asked.is_some_and(|asked| asked()) {
            return;
        }
        let by = By { at: Nanos(clock::wall()), ..By::default() };
        let line = match self.reload("SIGHUP", &by, decisions) {
            Ok(Content::Json(answer)) => reloaded(&answer),
            Ok(Content::Bytes(_)) => unreachable!("a reload answers in JSON"),
            Err(why) => format!("the configuration was not reloaded, and nothing was changed: {why}"),
        };
        (self.complain)(&line);
    }

    fn read_again(&mut self, decisions: &mut Vec<Decision>) -> Result<Reloaded, String> {
        let reread = self.orders.source.reread.clone();
        let reread =
            reread.ok_or("this gateway was started without a configuration file; expected --config")?;
        let Fresh { settings, orders, mut needs_restart } = reread()?;
        for (_, order, line) in &orders {
            let place = || self.orders.source.place(*line);
            order.check(self.orders.book.windows()).map_err(|why| format!("{}: {why}", place()))?;
        }
        let orders = self.replace_file(orders, decisions)?;
        if self.recording.is_some() {
            // A recording begins with the settings, and replays with them.
            let mut differ = self.gateway.settings().clone();
            let differ = differ.adopt(&settings);
            needs_restart
                .extend(differ.iter().map(|changed| format!("{} (because of --record)", changed.key)));
            return Ok(Reloaded { orders, needs_restart, ..Reloaded::default() });
        }
        let (mode, plans) = (self.gateway.settings().mode, self.gateway.plans().collect::<Vec<_>>());
        let changed = self.gateway.adopt(&settings);
        match (mode, self.gateway.settings().mode) {
            (Mode::Enforce, Mode::Enforce) => {}
            (Mode::Enforce, _) => self.withdraw(&plans),
            (_, Mode::Enforce) => self.enforce(),
            _ => {}
        }
        Ok(Reloaded { changed, orders, needs_restart })
    }

    /// Puts the orders of a configuration in place of those before; if the kernel refuses one, all is as before.
    fn replace_file(
        &mut self,
        orders: Vec<(Prefix, Override, u32)>,
        decisions: &mut Vec<Decision>,
    ) -> Result<Vec<Shift>, String> {
        let before = self.orders.book.clone();
        let changed = self.orders.book.replace_file(orders);
        let changes = changed.iter().map(|at| (*at, before.in_force(at), self.orders.book.in_force(at)));
        let mut changes: Vec<_> = changes.collect();
        // Orders that end make room.
        changes.sort_by_key(|(prefix, _, now)| (now.is_some(), *prefix));
        for (number, (prefix, _, now)) in changes.iter().enumerate() {
            if let Err(why) = self.force(*prefix, *now) {
                for (prefix, was, _) in changes[..=number].iter().rev() {
                    let back = self.force(*prefix, *was);
                    self.note(back);
                }
                self.orders.book = before;
                return Err(format!("{prefix}: {why}"));
            }
        }
        for (prefix, _, order) in &changes {
            self.give(&Event::Order { prefix: *prefix, order: *order }, decisions);
        }
        Ok(changes)
    }

    /// Takes plans and orders out of the kernel, when the mode is no longer enforce.
    fn withdraw(&mut self, plans: &[Plan]) {
        for plan in plans {
            let removed = self.kernel.remove(&plan.prefix);
            self.note(removed);
        }
        for (prefix, _) in self.gateway.settings().overrides.clone() {
            let removed = self.kernel.order(&prefix, None);
            self.note(removed);
        }
        self.orders.silenced.clear();
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

/// The answer of a reload as a line.
fn reloaded(answer: &Value) -> String {
    let words = |key: &str, of: &str| {
        let all = answer[key].as_array().into_iter().flatten();
        let word = |one: &Value| if of.is_empty() { one.clone() } else { one[of].clone() };
        all.filter_map(|one| word(one).as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let changed: Vec<_> = words("changed", "key").into_iter().chain(words("orders", "prefix")).collect();
    let mut line = match changed.is_empty() {
        true => "the configuration was reloaded; nothing has changed that a running gateway takes".to_owned(),
        false => format!("the configuration was reloaded; changed: {}", changed.join(", ")),
    };
    let restart = words("needs_restart", "");
    if !restart.is_empty() {
        line += &format!("; these need a restart: {}", restart.join(", "));
    }
    line
}
