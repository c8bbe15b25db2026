//! The configuration of a running gateway, read again.

use firstflight_contract::Nanos;
use firstflight_gateway::{By, Changed, Event, Mode, Override, Plan};
use firstflight_paths::Prefix;
use serde_json::{Value, json};

use crate::api::{Answer, Content};
use crate::audit::Entry;
use crate::engine::Engine;
use crate::source::Fresh;
use crate::{clock, view};

/// A prefix with its order in force before and now.
type Shift = (Prefix, Option<Override>, Option<Override>);

/// Difference that a reload has made.
#[derive(Debug, Default)]
struct Reloaded {
    changed: Vec<Changed>,
    orders: Vec<Shift>,
    needs_restart: Vec<String>,
    canary: bool,
}

impl Engine<'_> {
    /// Reads the configuration again and takes what a running gateway can take. A configuration with an error changes nothing.
    pub(crate) fn reload(&mut self, via: &'static str, by: &By) -> Answer {
        let result = self.read_again();
        self.metrics.ordered("reload", result.is_ok());
        let (mut before, mut after) = (vec![], vec![]);
        if let Ok(Reloaded { changed, orders, canary, .. }) = &result {
            after.extend(canary.then(|| self.canary.line()));
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
        self.audit(&Entry {
            via,
            by,
            what: format!("reload of {file}"),
            before,
            after,
            refused,
            durable: None,
        });
        let answer = result.map(|Reloaded { changed, orders, needs_restart, canary }| {
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
                "canary_changed": canary,
            })
        });
        let error = answer.as_ref().err();
        let restart = answer.as_ref().ok().map(|answer| &answer["needs_restart"]);
        self.orders.reloaded =
            Some(json!({ "at": by.time(), "via": via, "error": error, "needs_restart": restart }));
        answer.map(Content::Json)
    }

    /// Reads the configuration again after SIGHUP.
    pub(crate) fn reload_if_asked(&mut self) {
        if !self.orders.source.asked.is_some_and(|asked| asked()) {
            return;
        }
        let by = By { at: Nanos(clock::wall()), ..By::default() };
        let line = match self.reload("SIGHUP", &by) {
            Ok(Content::Json(answer)) => reloaded(&answer),
            Ok(Content::Bytes(_)) => unreachable!("a reload answers in JSON"),
            Err(why) => format!("the configuration was not reloaded, and nothing was changed: {why}"),
        };
        (self.troubles.say)(&line);
    }

    fn read_again(&mut self) -> Result<Reloaded, String> {
        let reread = self.orders.source.reread.clone();
        let reread =
            reread.ok_or("this gateway was started without a configuration file; expected --config")?;
        let Fresh { settings, orders, canary, mut needs_restart } = reread()?;
        for (_, order, line) in &orders {
            let place = || self.orders.source.place(*line);
            order.check(self.orders.book.windows()).map_err(|why| format!("{}: {why}", place()))?;
        }
        let orders = self.replace_file(orders)?;
        self.orders.source.canary.clone_from(&canary);
        let canary = self.take_canary(canary);
        if self.logs.is_recording() {
            // A recording begins with the settings, and replays with them.
            let mut differ = self.gateway.settings().clone();
            let differ = differ.adopt(&settings);
            needs_restart
                .extend(differ.iter().map(|changed| format!("{} (because of --record)", changed.key)));
            return Ok(Reloaded { orders, needs_restart, canary, ..Reloaded::default() });
        }
        let (mode, plans) = (self.gateway.settings().mode, self.gateway.plans().collect::<Vec<_>>());
        let changed = self.gateway.adopt(&settings);
        match (mode, self.gateway.settings().mode) {
            (Mode::Enforce, Mode::Enforce) => {}
            (Mode::Enforce, _) => self.withdraw(&plans),
            (_, Mode::Enforce) => self.enforce(),
            _ => {}
        }
        Ok(Reloaded { changed, orders, needs_restart, canary })
    }

    /// Puts the orders of a configuration in place of those before; if the kernel refuses one, all is as before.
    fn replace_file(&mut self, orders: Vec<(Prefix, Override, u32)>) -> Result<Vec<Shift>, String> {
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
            self.give(&Event::Order { prefix: *prefix, order: *order });
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
