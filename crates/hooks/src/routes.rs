//! First windows without eBPF: `initcwnd` of routes.
//!
//! A route has no pacing, no bound on round-trip times, no lease and no holdout. Windows are therefore small, and the
//! number of routes is bounded. Each route is a copy of the one that the main table has for the prefix, with all of its metrics and a
//! number of its own as protocol. By that number a process of its own removes the routes when this one ends without doing so.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use firstflight_paths::Prefix;

use crate::refusal::Refusal;

/// The protocol of our routes; iproute2's `rt_protos` names no program with this number.
const PROTOCOL: &str = "211";
/// Largest first window: unpaced, a larger one overflows the queue of a slow link.
pub const WIDEST: u32 = 16;
/// Waits for the end of standard input, whose other end the gateway holds, and removes its routes. Signals that end a group of
/// processes leave it alone.
const WATCHDOG: &str = "trap '' HUP INT TERM; while read -r _; do :; done; \
    for family in -4 -6; do ip $family route flush table main proto 211 2>/dev/null; done";

/// The route of a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Route {
    window: u32,
    /// Words of the route that it copies: next hop, device, source, metrics.
    path: Vec<String>,
}

/// Routes in the network namespace of this thread that give connections their first window. The routes are removed, newest
/// first, when the value is dropped. If this process dies, a second process removes them.
#[derive(Debug)]
pub struct Routes {
    most: usize,
    routes: BTreeMap<Prefix, Route>,
    /// Oldest first.
    order: Vec<Prefix>,
    /// Process that removes the routes when this one dies; begun with the first route, so that it has no more rights than this one.
    watchdog: Option<Child>,
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
        Ok(Self { most, routes: BTreeMap::new(), order: vec![], watchdog: None })
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

    /// Begins the process that removes the routes when this one dies, if there is none.
    fn watch(&mut self) -> Result<(), Refusal> {
        const WHAT: &str = "the process that removes routes (sh)";
        if let Some(child) = &mut self.watchdog
            && child.try_wait().map_err(|error| Refusal::failed(WHAT, error))?.is_none()
        {
            return Ok(());
        }
        let mut command = Command::new("sh");
        command.args(["-c", WATCHDOG]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own: the signal of a terminal does not reach it.
        let child = command.process_group(0).spawn();
        self.watchdog = Some(child.map_err(|error| Refusal::failed(WHAT, error))?);
        Ok(())
    }

    fn put(&mut self, prefix: Prefix, route: Route) -> Result<(), Refusal> {
        self.watch()?;
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

    /// Follows changes of the main table: routes whose path or metrics have changed take the new ones, routes that another program
    /// has removed come back, and routes that have lost their path are removed. Answers with the number of changes. Call it every few seconds.
    ///
    /// # Errors
    /// If `ip` fails.
    pub fn refresh(&mut self) -> Result<usize, Refusal> {
        let mut changes = 0;
        if !self.routes.is_empty() {
            self.watch()?;
        }
        for v4 in [true, false] {
            let ours: Vec<_> = self.order.iter().copied().filter(|prefix| prefix.is_v4() == v4).collect();
            let Some(first) = ours.first() else { continue };
            let table = table(*first)?;
            for prefix in ours {
                let Some(route) = self.routes.get(&prefix).cloned() else { continue };
                let stands = table.iter().any(|entry| entry.to == prefix && entry.is_ours());
                match path(&table, prefix) {
                    Ok(path) if stands && path == route.path => continue,
                    Ok(path) => self.put(prefix, Route { path, ..route })?,
                    Err(_) => drop(self.remove(&prefix)?),
                }
                changes += 1;
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
        let covering = self.routes.iter().filter(|(prefix, _)| prefix.has(address));
        covering.max_by_key(|(prefix, _)| prefix.length()).map(|(_, route)| route.window)
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        for prefix in self.order.clone().into_iter().rev() {
            // The other process removes what remains.
            let _ = self.remove(&prefix);
        }
        if let Some(mut child) = self.watchdog.take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

fn family(prefix: Prefix) -> &'static str {
    if prefix.is_v4() { "-4" } else { "-6" }
}

/// A route of the main table.
#[derive(Debug)]
struct Entry {
    to: Prefix,
    /// `unicast` or another type.
    kind: String,
    protocol: String,
    metric: u64,
    /// Whether it is for packets of one type of service only.
    marked: bool,
    several: bool,
    /// Words that a copy has: next hop, device, scope, source, metrics with their locks.
    words: Vec<String>,
}

impl Entry {
    /// Reads a line of `ip -oneline route show`, whose words `ip route add` takes, with few exceptions. `all` is the family's default.
    fn read(line: &str, all: Prefix) -> Option<Self> {
        let mut words = line.split_whitespace().filter(|word| *word != "\\");
        let prefix = |word: &str| match word {
            "default" => Some(all),
            _ if word.contains('/') => word.parse().ok(),
            _ => word.parse().ok().map(|address| Prefix::around(address, 128)),
        };
        let first = words.next()?;
        let (kind, to) = match prefix(first) {
            Some(to) => ("unicast", to),
            None => (first, prefix(words.next()?)?),
        };
        let mut entry = Self {
            to,
            kind: kind.to_owned(),
            protocol: String::new(),
            metric: 0,
            marked: false,
            several: false,
            words: vec![],
        };
        // A lock stands before its value.
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let locked = words.peek() == Some(&"lock");
            match word {
                "proto" => entry.protocol = words.next()?.to_owned(),
                "metric" => entry.metric = words.next()?.parse().ok()?,
                "tos" | "dsfield" => {
                    entry.marked = true;
                    words.next()?;
                }
                "nexthop" => entry.several = true,
                "initcwnd" => drop(words.nth(usize::from(locked))?),
                // `ip` shows the lock, always sets it, and does not read it.
                "rto_min" => {
                    entry.words.extend([word.to_owned(), words.nth(usize::from(locked))?.to_owned()]);
                }
                // A copy does not expire before its route is gone, and uses the hop of a hop object.
                "expires" | "nhid" | "error" => drop(words.next()?),
                "linkdown" | "dead" | "pervasive" | "offload" | "trap" | "notify" | "rt_offload"
                | "rt_trap" | "rt_offload_failed" | "cache" => {}
                "dev" | "via" | "src" => {
                    entry.words.extend([word.to_owned(), words.next()?.to_owned()]);
                }
                _ => entry.words.push(word.to_owned()),
            }
        }
        Some(entry)
    }

    fn is_ours(&self) -> bool {
        self.protocol == PROTOCOL
    }
}

/// The main table for the prefix's family.
fn table(prefix: Prefix) -> Result<Vec<Entry>, Refusal> {
    let text = ip(&["-oneline", family(prefix), "route", "show", "table", "main"])?;
    let all = Prefix::around(prefix.first(), 0);
    Ok(text.lines().filter_map(|line| Entry::read(line, all)).collect())
}

/// Words of the path that this table has for the prefix, without our own routes.
fn path(table: &[Entry], prefix: Prefix) -> Result<Vec<String>, Refusal> {
    let none = |why: &str| Refusal::failed("a route for the prefix", format!("{prefix}: {why}"));
    let covers = |entry: &&Entry| !entry.is_ours() && !entry.marked && entry.to.contains(&prefix);
    // The longest prefix, then the least metric.
    let best = table.iter().filter(covers).min_by_key(|entry| (u8::MAX - entry.to.length(), entry.metric));
    let best = best.ok_or_else(|| none("the main table has none"))?;
    if best.to == prefix {
        return Err(none("the main table has a route for exactly this prefix, which is left alone"));
    }
    if best.kind != "unicast" {
        return Err(none("the main table rejects it"));
    }
    if best.several || !best.words.iter().any(|word| word == "dev") {
        return Err(none("the main table has several paths, and a copy would use one"));
    }
    Ok(best.words.clone())
}

/// Runs `ip` and answers with its output.
fn ip(words: &[&str]) -> Result<String, Refusal> {
    const WHAT: &str = "ip route (iproute2)";
    let output = Command::new("ip").args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| Refusal::failed(WHAT, error))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        // A namespace without any route has no table, in which there is nothing to show or to remove.
        if !error.contains("FIB table does not exist") {
            let lines: Vec<_> = error.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            return Err(Refusal::failed(WHAT, format!("{}: {}", words.join(" "), lines.join("; "))));
        }
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(table: &str, prefix: &str) -> Result<String, String> {
        let prefix: Prefix = prefix.parse().expect("a prefix");
        let all = Prefix::around(prefix.first(), 0);
        let table: Vec<_> = table.lines().map(|line| Entry::read(line, all).expect("a route")).collect();
        path(&table, prefix).map(|words| words.join(" ")).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_route_copies_the_longest_path_that_is_not_ours() {
        let table = "default via 192.0.2.1 dev eth0 proto dhcp
            default via 192.0.2.9 dev eth1 metric 100
            198.51.0.0/16 via 192.0.2.2 dev eth2 src 192.0.2.5 onlink
            198.51.100.0/25 via 192.0.2.3 dev eth3
            198.51.100.0/24 via 192.0.2.4 dev eth4 proto 211 initcwnd 16
            203.0.113.7 dev tun0 scope link
            203.0.112.0/20 tos 0x10 via 192.0.2.6 dev eth5";
        assert_eq!(
            words(table, "198.51.100.0/24").as_deref(),
            Ok("via 192.0.2.2 dev eth2 src 192.0.2.5 onlink")
        );
        assert_eq!(words(table, "203.0.113.0/24").as_deref(), Ok("via 192.0.2.1 dev eth0"));
        let refusal = words(table, "203.0.113.7/32").expect_err("a route of someone else");
        assert!(refusal.contains("203.0.113.7/32: the main table has a route for exactly this prefix"));
    }

    #[test]
    fn a_copy_keeps_every_metric_and_its_lock_but_the_first_window() {
        // Shown by iproute2 6.1 for a route that was added with these words. It shows a lock of `rto_min`, and refuses one.
        let table = "default via 10.9.0.2 dev lo src 10.9.0.1 metric 7 mtu lock 1400 window 65000 rtt 30ms ssthresh lock 40 \
                     advmss 1300 reordering 5 hoplimit 33 initcwnd lock 12 features ecn rto_min lock 40ms initrwnd 20 \
                     quickack 1 congctl lock reno fastopen_no_cookie 1 linkdown ";
        assert_eq!(
            words(table, "198.51.100.0/24").as_deref(),
            Ok(
                "via 10.9.0.2 dev lo src 10.9.0.1 mtu lock 1400 window 65000 rtt 30ms ssthresh lock 40 advmss 1300 reordering 5 \
                hoplimit 33 features ecn rto_min 40ms initrwnd 20 quickack 1 congctl lock reno fastopen_no_cookie 1"
            )
        );
    }

    #[test]
    fn a_path_that_a_copy_would_change_is_refused() {
        let several =
            "default \\ nexthop via 192.0.2.1 dev a weight 1 \\ nexthop via 192.0.2.2 dev b weight 1";
        assert!(words(several, "198.51.100.0/24").expect_err("several").contains("several paths"));
        let rejected = "unreachable default dev lo metric 4294967295 error -101 pref medium";
        assert!(words(rejected, "2001:db8::/48").expect_err("rejected").contains("rejects it"));
        assert!(words("", "198.51.100.0/24").expect_err("none").contains("has none"));
    }
}
