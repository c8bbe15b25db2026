//! First windows without eBPF: `initcwnd` of routes.
//!
//! A route has no pacing, no bound on round-trip times, no lease and no holdout. Windows are therefore small, and the
//! number of routes is bounded. Each route is a copy of the one that the main table has for the prefix, with a number of
//! its own as protocol, so that a later process finds it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use firstflight_paths::Prefix;
use serde_json::Value;

use crate::refusal::Refusal;

/// The protocol of our routes; iproute2's `rt_protos` names no program with this number.
const PROTOCOL: &str = "211";
/// Largest first window: unpaced, a larger one overflows the queue of a slow link.
pub const WIDEST: u32 = 16;

/// The route of a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Route {
    window: u32,
    /// Words of the route that it copies: next hop, device, source.
    path: Vec<String>,
}

/// Routes in the network namespace of this thread that give connections their first window. They are removed, newest
/// first, when the value is dropped. After a death of the process [`Routes::new`] removes them.
#[derive(Debug)]
pub struct Routes {
    most: usize,
    routes: BTreeMap<Prefix, Route>,
    /// Oldest first.
    order: Vec<Prefix>,
}

impl Routes {
    /// At most so many routes. Removes those that an earlier process left behind.
    ///
    /// # Errors
    /// If `ip` is missing or may not change routes.
    pub fn new(most: usize) -> Result<Self, Refusal> {
        for family in ["-4", "-6"] {
            ip(&[family, "route", "flush", "table", "main", "proto", PROTOCOL])?;
        }
        Ok(Self { most, routes: BTreeMap::new(), order: vec![] })
    }

    /// Gives connections to a prefix this first window, segments, in place of an earlier one.
    ///
    /// # Errors
    /// If the window is not 1 to [`WIDEST`], there are as many routes as may be, the main table has no single path to the
    /// prefix, or it has a route for exactly this prefix that is not ours.
    pub fn set(&mut self, prefix: Prefix, window: u32) -> Result<(), Refusal> {
        if !(1..=WIDEST).contains(&window) {
            let expected = "1 to 16 segments, since routes do not pace";
            return Err(Refusal::Setting { key: "window of a route", value: window.into(), expected });
        }
        if !self.routes.contains_key(&prefix) && self.routes.len() >= self.most {
            return Err(Refusal::Full { what: "routes", most: self.most as u32 });
        }
        let path = path(&table(prefix)?, prefix)?;
        self.put(prefix, Route { window, path })
    }

    fn put(&mut self, prefix: Prefix, route: Route) -> Result<(), Refusal> {
        let (text, window) = (prefix.to_string(), route.window.to_string());
        let mut words = vec![family(prefix), "route", "replace", &text];
        words.extend(route.path.iter().map(String::as_str));
        words.extend(["proto", PROTOCOL, "initcwnd", &window]);
        ip(&words)?;
        if self.routes.insert(prefix, route).is_none() {
            self.order.push(prefix);
        }
        Ok(())
    }

    /// Follows changes of the main table: routes whose path has changed take the new one, routes that have lost it are
    /// removed. Answers with the number of changes. Call it every few seconds.
    ///
    /// # Errors
    /// If `ip` fails.
    pub fn refresh(&mut self) -> Result<usize, Refusal> {
        let mut changes = 0;
        for prefix in self.order.clone() {
            let Some(route) = self.routes.get(&prefix).cloned() else { continue };
            match path(&table(prefix)?, prefix) {
                Ok(path) if path == route.path => {}
                Ok(path) => {
                    self.put(prefix, Route { path, ..route })?;
                    changes += 1;
                }
                Err(_) => {
                    self.remove(&prefix)?;
                    changes += 1;
                }
            }
        }
        Ok(changes)
    }

    /// Removes the route of a prefix; answers whether there was one.
    ///
    /// # Errors
    /// If `ip` fails.
    pub fn remove(&mut self, prefix: &Prefix) -> Result<bool, Refusal> {
        if self.routes.remove(prefix).is_none() {
            return Ok(false);
        }
        self.order.retain(|other| other != prefix);
        // Flushing succeeds where the kernel has removed the route already, with its device.
        ip(&[family(*prefix), "route", "flush", "exact", &prefix.to_string(), "proto", PROTOCOL])?;
        Ok(true)
    }

    /// The first window of connections to an address, segments. [`None`] is the stack's.
    pub fn window(&self, address: IpAddr) -> Option<u32> {
        let covers = |prefix: &Prefix| Prefix::around(address, prefix.length()) == *prefix;
        let same = |prefix: &Prefix| prefix.first().is_ipv4() == address.to_canonical().is_ipv4();
        let covering = self.routes.iter().filter(|(prefix, _)| same(prefix) && covers(prefix));
        covering.max_by_key(|(prefix, _)| prefix.length()).map(|(_, route)| route.window)
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        for prefix in self.order.clone().into_iter().rev() {
            // The next process removes what remains.
            let _ = self.remove(&prefix);
        }
    }
}

fn family(prefix: Prefix) -> &'static str {
    if prefix.first().is_ipv4() { "-4" } else { "-6" }
}

/// The main table for the prefix's family.
fn table(prefix: Prefix) -> Result<Vec<Value>, Refusal> {
    let text = ip(&["-j", family(prefix), "route", "show", "table", "main"])?;
    let table = serde_json::from_str(if text.trim().is_empty() { "[]" } else { &text });
    table.map_err(|error| Refusal::failed("the output of `ip -j route`", error))
}

/// Words of the path that this table has for the prefix, without our own routes.
fn path(table: &[Value], prefix: Prefix) -> Result<Vec<String>, Refusal> {
    let none = |why: &str| Refusal::failed("a route for the prefix", format!("{prefix}: {why}"));
    let text = |route: &Value, key: &str| route.get(key).and_then(Value::as_str).map(str::to_owned);
    let metric = |route: &Value| route.get("metric").and_then(Value::as_u64).unwrap_or(0);
    let mut best: Option<(u8, u64, &Value)> = None;
    for route in table {
        if text(route, "protocol").as_deref() == Some(PROTOCOL) {
            continue;
        }
        let to = match text(route, "dst").as_deref() {
            Some("default") => Some(Prefix::around(prefix.first(), 0)),
            Some(to) if to.contains('/') => to.parse().ok(),
            Some(to) => to.parse().ok().map(|address| Prefix::around(address, 128)),
            None => None,
        };
        let Some(to) = to.filter(|to| to.length() <= prefix.length()) else { continue };
        if Prefix::around(prefix.first(), to.length()) != to {
            continue;
        }
        if to == prefix {
            return Err(none("the main table has a route for exactly this prefix, which is left alone"));
        }
        // The longest prefix, then the least metric.
        if best.is_none_or(|(length, least, _)| {
            to.length() > length || to.length() == length && metric(route) < least
        }) {
            best = Some((to.length(), metric(route), route));
        }
    }
    let (_, _, route) = best.ok_or_else(|| none("the main table has none"))?;
    if text(route, "type").is_some_and(|kind| kind != "unicast") {
        return Err(none("the main table rejects it"));
    }
    let Some(device) = text(route, "dev").filter(|_| route.get("nexthops").is_none()) else {
        return Err(none("the main table has several paths, and a copy would use one"));
    };
    let mut words = vec![];
    if let Some(gateway) = text(route, "gateway") {
        words.extend(["via".to_owned(), gateway]);
    } else if let Some(via) = route.get("via") {
        let host = text(via, "host").ok_or_else(|| none("its next hop has no address"))?;
        words.extend(["via".to_owned(), text(via, "family").unwrap_or_default(), host]);
    }
    words.extend(["dev".to_owned(), device]);
    if let Some(source) = text(route, "prefsrc") {
        words.extend(["src".to_owned(), source]);
    }
    // A next hop that is no neighbour by the table.
    let onlink = |flag: &Value| flag.as_str() == Some("onlink");
    if route.get("flags").and_then(Value::as_array).is_some_and(|flags| flags.iter().any(onlink)) {
        words.push("onlink".into());
    }
    Ok(words)
}

/// Runs `ip` and answers with its output.
fn ip(words: &[&str]) -> Result<String, Refusal> {
    const WHAT: &str = "ip route (iproute2)";
    let output = Command::new("ip").args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Refusal::failed(WHAT, error))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(Refusal::failed(WHAT, format!("{}: {}", words.join(" "), error.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(table: &str, prefix: &str) -> Result<String, String> {
        let table: Vec<Value> = serde_json::from_str(table).expect("JSON");
        let found = path(&table, prefix.parse().expect("a prefix"));
        found.map(|words| words.join(" ")).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_route_copies_the_longest_path_that_is_not_ours() {
        let table = r#"[
            {"dst":"default","gateway":"192.0.2.1","dev":"eth0","flags":[]},
            {"dst":"default","gateway":"192.0.2.9","dev":"eth1","metric":100,"flags":[]},
            {"dst":"198.51.0.0/16","gateway":"192.0.2.2","dev":"eth2","prefsrc":"192.0.2.5","flags":["onlink"]},
            {"dst":"198.51.100.0/25","gateway":"192.0.2.3","dev":"eth3","flags":[]},
            {"dst":"198.51.100.0/24","gateway":"192.0.2.4","dev":"eth4","protocol":"211","flags":[]},
            {"dst":"203.0.113.7","dev":"tun0","scope":"link","flags":[]}]"#;
        assert_eq!(
            words(table, "198.51.100.0/24").as_deref(),
            Ok("via 192.0.2.2 dev eth2 src 192.0.2.5 onlink")
        );
        assert_eq!(words(table, "203.0.113.0/24").as_deref(), Ok("via 192.0.2.1 dev eth0"));
        let refusal = words(table, "203.0.113.7/32").expect_err("a route of someone else");
        assert!(refusal.contains("203.0.113.7/32: the main table has a route for exactly this prefix"));
    }

    #[test]
    fn a_path_that_a_copy_would_change_is_refused() {
        let several = r#"[{"dst":"default","flags":[],"nexthops":[{"gateway":"192.0.2.1","dev":"a"},{"gateway":"192.0.2.2","dev":"b"}]}]"#;
        assert!(words(several, "198.51.100.0/24").expect_err("several").contains("several paths"));
        let rejected = r#"[{"type":"unreachable","dst":"default","dev":"lo","flags":[]}]"#;
        assert!(words(rejected, "2001:db8::/48").expect_err("rejected").contains("rejects it"));
        assert!(words("[]", "198.51.100.0/24").expect_err("none").contains("has none"));
    }
}
