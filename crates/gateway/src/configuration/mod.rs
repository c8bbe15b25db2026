//! The configuration file, `gateway.toml`: docs/gateway-configuration.md.

mod change;
mod format;
mod values;

use core::fmt::Write;
use core::net::SocketAddr;
use std::path::PathBuf;

use firstflight_contract::Nanos;
use firstflight_document::quantity::show_time;
use firstflight_document::{Error, Item, Table, reference};
use firstflight_paths::Prefix;

use crate::canary::Rules;
use crate::orders::MOST_ORDERS;
use crate::plan::Limits;
use crate::settings::{Mode, Override, Policy, Settings};

/// A configuration with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Rules of learning and planning. The secret is zero: the host of the gateway draws it.
    pub settings: Settings,
    /// Bounds that the kernel's program keeps.
    pub limits: Limits,
    /// Orders of `[[override]]`, as in `settings`, each with its line.
    pub orders: Vec<(Prefix, Override, u32)>,
    /// Folder of the cgroup; [`None`] is the root of the cgroup2 hierarchy, wherever it is mounted.
    pub cgroup: Option<PathBuf>,
    /// Folder of the state and the log.
    pub state: PathBuf,
    /// Unix socket.
    pub socket: PathBuf,
    /// User that the gateway becomes.
    pub user: Option<String>,
    /// System group that may read.
    pub read_group: Option<String>,
    /// System group that may give orders.
    pub admin_group: Option<String>,
    /// System group that may ask for plans of transfers.
    pub plan_group: Option<String>,
    /// Whether plans hold after an idle time, too.
    pub idle: bool,
    /// Whether a loss in a planned window leaves half of what arrived of that window.
    pub retreat: bool,
    /// Rules by which plans are for a share of the connections, with their line.
    pub canary: Option<(Rules, u32)>,
    /// Starts for single transfers.
    pub transfers: Transfers,
    /// Observations of other hosts.
    pub share: Option<Share>,
    /// Interface between the gateway of a site and those of its hosts.
    pub site: Option<Site>,
    /// Ways to the metrics besides the socket.
    pub metrics: Metrics,
}

/// Starts for single transfers whose size the application knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfers {
    /// Whether they are applied to sockets.
    pub apply: bool,
    /// Whether they set the slow-start threshold.
    pub ssthresh: bool,
}

/// Exchange of observations with other hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Store.
    pub url: String,
    /// File of the private key of this host.
    pub key_file: PathBuf,
    /// Folder of the public keys of the hosts.
    pub keys: PathBuf,
    /// File of the certificates of those who may vouch for the store.
    pub ca_file: Option<PathBuf>,
    /// Name of this host.
    pub host: String,
    /// Weight of an observation of another host, thousandths of an own one.
    pub weight: u16,
    /// Age from which an observation is refused.
    pub max_age: Nanos,
}

impl Share {
    /// Whether the address of the store has a password, before its host or as a parameter.
    pub fn has_password(&self) -> bool {
        let place = self.url.split_once("://").map_or("", |(_, place)| place);
        let (place, query) = place.split_once('?').unwrap_or((place, ""));
        place.split_once('/').map_or(place, |(place, _)| place).contains('@')
            || query.split('&').any(|word| word.starts_with("pass=") || word.starts_with("password="))
    }
}

/// Interface between the gateway of a site and those of its hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Address and port of this gateway.
    pub listen: SocketAddr,
    /// The hosts of the site.
    pub hosts: Vec<Prefix>,
    /// File of the private or the public key of the site.
    pub key_file: PathBuf,
    /// Weight of an observation that is pushed, thousandths of an own one.
    pub weight: u16,
}

/// Ways to the metrics besides the socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Address and port of the HTTP server.
    pub listen: Option<SocketAddr>,
    /// Whether other hosts may reach that address.
    pub any_host: bool,
    /// File for the textfile collector, and the time between two writings.
    pub textfile: Option<(PathBuf, Nanos)>,
}

/// Steps of a canary that names none.
const RAMP: &str = "1 % 60 min, 5 % 240 min, 25 % 1440 min, 100 %";
/// Most cgroups of a canary, which the kernel's table holds.
const MOST_CGROUPS: usize = 64;

/// Schemes of a URL of a store.
const STORES: &[&str] = &["redis://", "valkey://", "rediss://", "valkeys://", "unix:///"];
/// Those of them with TLS.
const ENCRYPTED: &[&str] = &["rediss://", "valkeys://"];

const SECOND: Nanos = Nanos::from_secs(1);
const MINUTE: Nanos = Nanos::from_secs(60);
const HOUR: Nanos = Nanos::from_secs(3600);
const DAY: Nanos = Nanos::from_secs(86_400);

impl Configuration {
    /// Reads the text of a configuration file; `file` is its name in errors.
    ///
    /// # Errors
    /// The first [`Error`] found: place, problem, expected values, nearest valid name.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        firstflight_document::read(text, file, &format::ROOT, read)
    }
}

impl Default for Configuration {
    fn default() -> Self {
        Self::parse("", "").expect("the defaults are valid")
    }
}

fn read(root: &Table<'_>) -> Result<Configuration, Error> {
    let text =
        |name: &str, default: &str| root.get(name).map_or(Ok(default.to_owned()), |item| filled(&item));
    let given = |name: &str| root.get(name).map(|item| filled(&item)).transpose();
    let default = Settings::default();
    let (bits, split, most) = prefixes(root, &default)?;
    let estimator = section(root, "estimator", &format::ESTIMATOR)?;
    let plan = section(root, "plan", &format::PLAN)?;
    let trial = section(root, "trial", &format::TRIAL)?;
    let transfers = section(root, "transfers", &format::TRANSFERS)?;
    let holdout = (10.0 * number(&trial, "holdout", f64::from(default.holdout) / 10.0)?) as u16;
    let window = integer(&plan, "window", default.window)?;
    let ssthresh = flag(&plan, "ssthresh", default.ssthresh)?;
    let (prefix_alarm, host_alarm) = default.false_alarm;
    let mut settings = Settings {
        mode: root.get("mode").map_or(Ok(default.mode), |item| item.choice(mode))?,
        policy: root.get("policy").map_or(Ok(default.policy), |item| item.choice(Policy::by_label))?,
        bits,
        split,
        window,
        ssthresh,
        half_life: time(&estimator, "half_life", default.half_life, Nanos::from_secs(10), DAY)?,
        samples: integer(&estimator, "samples", default.samples)?,
        hosts: integer(&estimator, "hosts", default.hosts)?,
        lifetime: time(&plan, "lifetime", default.lifetime, MINUTE, DAY)?,
        hold_down: time(&plan, "hold_down", default.hold_down, SECOND, DAY)?,
        freeze: time(&plan, "freeze", default.freeze, SECOND, Nanos(7 * DAY.0))?,
        holdout,
        prefixes: most,
        false_alarm: (
            number(&trial, "false_alarm_prefix", prefix_alarm)?,
            number(&trial, "false_alarm_host", host_alarm)?,
        ),
        overrides: vec![],
        secret: 0,
    };
    let orders = overrides(root, &settings)?;
    settings.overrides = orders.iter().map(|(prefix, order, _)| (*prefix, *order)).collect();
    let hosts = settings.hosts;
    let lease = time(&plan, "lease", Nanos::from_secs(10), SECOND, HOUR)?;
    Ok(Configuration {
        settings,
        limits: Limits { window, ssthresh, lease, holdout },
        orders,
        cgroup: given("cgroup")?.map(PathBuf::from),
        state: text("state", "/var/lib/firstflight")?.into(),
        socket: text("socket", "/run/firstflight/gateway.sock")?.into(),
        user: given("user")?,
        read_group: given("read_group")?,
        admin_group: given("admin_group")?,
        plan_group: given("plan_group")?,
        idle: flag(&plan, "idle", false)?,
        retreat: flag(&plan, "retreat", false)?,
        transfers: Transfers {
            apply: flag(&transfers, "apply", false)?,
            ssthresh: flag(&transfers, "ssthresh", false)?,
        },
        canary: root.get("canary").map(|item| canary(&item)).transpose()?,
        share: root.get("share").map(|item| share(&item, hosts)).transpose()?,
        site: root.get("site").map(|item| site(&item)).transpose()?,
        metrics: metrics(root)?,
    })
}

fn mode(word: &str) -> Option<Mode> {
    [Mode::Observe, Mode::Advise, Mode::Enforce]
        .into_iter()
        .zip(format::MODES)
        .find(|(_, w)| **w == word)
        .map(|(m, _)| m)
}

/// A table that may be absent.
fn section<'a>(
    root: &Table<'a>,
    name: &str,
    section: &'static firstflight_document::format::Section,
) -> Result<Option<Table<'a>>, Error> {
    root.get(name).map(|item| item.table(section)).transpose()
}

fn get<'a>(table: &Option<Table<'a>>, name: &str) -> Option<Item<'a>> {
    table.as_ref().and_then(|table| table.get(name))
}

fn integer<T: TryFrom<u64>>(table: &Option<Table<'_>>, name: &str, default: T) -> Result<T, Error> {
    let Some(item) = get(table, name) else { return Ok(default) };
    item.integer().map(|n| T::try_from(n).ok().expect("the format bounds the number"))
}

fn number(table: &Option<Table<'_>>, name: &str, default: f64) -> Result<f64, Error> {
    get(table, name).map_or(Ok(default), |item| item.number())
}

fn flag(table: &Option<Table<'_>>, name: &str, default: bool) -> Result<bool, Error> {
    get(table, name).map_or(Ok(default), |item| item.flag())
}

fn time(
    table: &Option<Table<'_>>,
    name: &str,
    default: Nanos,
    least: Nanos,
    most: Nanos,
) -> Result<Nanos, Error> {
    let Some(item) = get(table, name) else { return Ok(default) };
    match item.time()? {
        time if (least..=most).contains(&time) => Ok(time),
        _ => Err(item.invalid("out of range").expecting(format!(
            "a time from {} to {}",
            show_time(least),
            show_time(most)
        ))),
    }
}

/// A text that is not empty.
fn filled(item: &Item<'_>) -> Result<String, Error> {
    match item.text()? {
        "" => Err(item.invalid("it is empty").expecting("a text")),
        text => Ok(text.into()),
    }
}

type Bits = (u8, u8);

fn prefixes(root: &Table<'_>, default: &Settings) -> Result<(Bits, Option<Bits>, u32), Error> {
    let table = section(root, "prefixes", &format::PREFIXES)?;
    let parts = Settings::default().split.expect("the default splits");
    let whole = (integer(&table, "v4", default.bits.0)?, integer(&table, "v6", default.bits.1)?);
    let part = (integer(&table, "split_v4", parts.0)?, integer(&table, "split_v6", parts.1)?);
    let most = integer(&table, "most", default.prefixes)?;
    if !flag(&table, "split", true)? {
        if let Some(item) = get(&table, "split_v4").or_else(|| get(&table, "split_v6")) {
            return Err(item.invalid("split = false leaves it without effect"));
        }
        return Ok((whole, None, most));
    }
    for (name, own, whole, part) in [("split_v4", "v4", whole.0, part.0), ("split_v6", "v6", whole.1, part.1)]
    {
        if part <= whole
            && let Some(item) = get(&table, name).or_else(|| get(&table, own))
        {
            let why = format!("{name} = {part} is no more than {own} = {whole}, so that nothing is split");
            return Err(item.invalid(why).expecting(format!("{name} above {own}, or split = false")));
        }
    }
    Ok((whole, Some(part), most))
}

fn overrides(root: &Table<'_>, settings: &Settings) -> Result<Vec<(Prefix, Override, u32)>, Error> {
    let mut out = vec![];
    let mut sorted = std::collections::BTreeSet::new();
    for item in root.tables("override", MOST_ORDERS)? {
        let table = item.table(&format::OVERRIDE)?;
        let place = table.need("prefix")?;
        let prefix: Prefix = place.text()?.parse().map_err(|why: String| place.invalid(why))?;
        if let Some(other) = overlapping(&sorted, &prefix) {
            let why = format!("{prefix} overlaps {other}, which another [[override]] has");
            return Err(place.invalid(why).expecting("prefixes of which none contains another"));
        }
        let order = match (table.get("window"), table.get("action")) {
            (Some(window), None) => {
                let order = Override::Window(window.integer()? as u32);
                let refused = |why| window.invalid(why).expecting("no more than plan.window");
                order.check(&settings.windows()).map_err(refused)?;
                order
            }
            (None, Some(action)) => match action.word()? {
                "off" => Override::Off,
                _ => Override::Freeze,
            },
            (None, None) => return Err(table.invalid("there is no order").expecting("window or action")),
            (Some(_), Some(action)) => {
                return Err(action.invalid("there is a window, too").expecting("window or action"));
            }
        };
        sorted.insert(prefix);
        out.push((prefix, order, place.line().unwrap_or(0)));
    }
    Ok(out)
}

/// A prefix of a set without overlaps that contains `prefix` or is part of it: in the order of addresses it is next to it.
fn overlapping(sorted: &std::collections::BTreeSet<Prefix>, prefix: &Prefix) -> Option<Prefix> {
    let before = sorted.range(..=prefix).next_back();
    let after = sorted.range(prefix..).next();
    before.into_iter().chain(after).find(|other| other.contains(prefix) || prefix.contains(other)).copied()
}

/// The rules of a `[canary]` without its heading, as an order of the socket has them: the same keys, the same checks, the same errors.
///
/// # Errors
/// The first error found.
pub fn canary_rules(text: &str) -> Result<Rules, Error> {
    let text = format!("[canary]\n{text}\n");
    let one = |root: &Table<'_>| root.need("canary").and_then(|item| canary(&item));
    firstflight_document::read(&text, "the order", &format::ROOT, one).map(|(rules, _)| rules)
}

fn canary(item: &Item<'_>) -> Result<(Rules, u32), Error> {
    let table = item.table(&format::CANARY)?;
    let words = |name: &str| -> Result<Option<(Item<'_>, Vec<String>)>, Error> {
        let Some(item) = table.get(name) else { return Ok(None) };
        let words = filled(&item)?.split_whitespace().map(str::to_owned).collect();
        Ok(Some((item, words)))
    };
    let mut ports = vec![];
    if let Some((place, words)) = words("ports")? {
        for word in words {
            let port = word.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                place
                    .invalid(format!("\"{word}\" is no port"))
                    .expecting("numbers from 1 to 65535, with spaces between them")
            })?;
            ports.push(port);
        }
    }
    let mut cgroups = vec![];
    if let Some((place, words)) = words("cgroups")? {
        if words.len() > MOST_CGROUPS {
            return Err(place
                .invalid(format!("{} cgroups", words.len()))
                .expecting(format!("at most {MOST_CGROUPS}")));
        }
        if let Some(word) = words.iter().find(|word| !word.starts_with('/')) {
            return Err(place
                .invalid(format!("\"{word}\" is no folder"))
                .expecting("paths that begin with /"));
        }
        cgroups = words;
    }
    let place = table.get("ramp");
    let text = place.as_ref().map_or(Ok(RAMP.to_owned()), filled)?;
    let refused = |why: String, expected: &str| match &place {
        Some(place) => place.invalid(why).expecting(expected),
        None => item.invalid(why).expecting(expected),
    };
    let ramp = Rules::ramp(&text).map_err(|(why, expected)| refused(why, expected))?;
    let line = item.line().unwrap_or(0);
    let table = Some(table);
    let rules = Rules {
        ports,
        cgroups,
        ramp,
        retransmissions: number(&table, "retransmissions", 1.0)?,
        p95: number(&table, "p95", 10.0)?,
        evidence: integer(&table, "evidence", 200)?,
    };
    rules.check().map_err(|wrong| refused(wrong.why, wrong.expected))?;
    Ok((rules, line))
}

fn share(item: &Item<'_>, hosts: u32) -> Result<Share, Error> {
    let table = item.table(&format::SHARE)?;
    if hosts < 2 {
        let why = "with estimator.hosts = 1, one host of the exchange would found plans alone";
        return Err(item.invalid(why).expecting("estimator.hosts of 2 or more, or no [share]"));
    }
    let url = table.need("url")?;
    if !STORES
        .iter()
        .any(|scheme| url.text().is_ok_and(|text| text.len() > scheme.len() && text.starts_with(scheme)))
    {
        return Err(url
            .invalid("not the address of a store")
            .expecting(format!("one that begins with {}", STORES.join(", "))));
    }
    let key_file = filled(&table.need("key_file")?)?.into();
    let keys = filled(&table.need("keys")?)?.into();
    let host = table.need("host")?.name()?.to_owned();
    let ca_file = table.get("ca_file");
    if let Some(item) = &ca_file
        && !ENCRYPTED.iter().any(|scheme| url.text().is_ok_and(|text| text.starts_with(scheme)))
    {
        let why = "the way to the store is not encrypted";
        return Err(item
            .invalid(why)
            .expecting(format!("a url that begins with {}, or no key", ENCRYPTED.join(" or "))));
    }
    let ca_file = ca_file.map(|item| filled(&item)).transpose()?.map(PathBuf::from);
    let url = url.text()?.to_owned();
    let table = Some(table);
    Ok(Share {
        url,
        key_file,
        keys,
        ca_file,
        host,
        weight: (1000.0 * number(&table, "weight", 0.5)?) as u16,
        max_age: time(&table, "max_age", Nanos::from_secs(1800), Nanos::from_secs(10), DAY)?,
    })
}

fn site(item: &Item<'_>) -> Result<Site, Error> {
    let table = item.table(&format::SITE)?;
    let place = table.need("listen")?;
    let listen: SocketAddr = place.text()?.parse().map_err(|_| {
        place.invalid("not an address with a port").expecting("one as 10.0.0.1:4646 or [2001:db8::1]:4646")
    })?;
    if listen.ip().is_unspecified() || listen.port() == 0 {
        return Err(place
            .invalid("not an address of one interface")
            .expecting("an address and a port above zero"));
    }
    let place = table.need("hosts")?;
    let hosts: Vec<Prefix> = filled(&place)?
        .split_whitespace()
        .map(|text| text.parse().map_err(|why: String| place.invalid(why)))
        .collect::<Result<_, _>>()?;
    let key_file = filled(&table.need("key_file")?)?.into();
    let weight = (1000.0 * number(&Some(table), "weight", 0.5)?) as u16;
    Ok(Site { listen, hosts, key_file, weight })
}

fn metrics(root: &Table<'_>) -> Result<Metrics, Error> {
    let table = section(root, "metrics", &format::METRICS)?;
    let any_host = flag(&table, "any_host", false)?;
    let listen = get(&table, "listen").map(|item| listener(&item, any_host)).transpose()?;
    let every = time(&table, "every", Nanos::from_secs(15), SECOND, HOUR)?;
    let textfile = get(&table, "textfile").map(|item| collected(&item)).transpose()?;
    for (name, without, of) in
        [("any_host", listen.is_none(), "listen"), ("every", textfile.is_none(), "textfile")]
    {
        if without && let Some(item) = get(&table, name) {
            return Err(item
                .invalid(format!("it has no effect without {of}"))
                .expecting(format!("{of}, or no {name}")));
        }
    }
    Ok(Metrics { listen, any_host, textfile: textfile.map(|file| (file, every)) })
}

/// The address of the metrics: of this host alone, unless the configuration says that others may reach it.
fn listener(item: &Item<'_>, any_host: bool) -> Result<SocketAddr, Error> {
    const USUAL: &str = "127.0.0.1:9475";
    let listen: SocketAddr = item.text()?.parse().map_err(|_| {
        item.invalid("not an address with a port").expecting(format!("one as {USUAL} or [::1]:9475"))
    })?;
    if listen.port() == 0 {
        return Err(item.invalid("no port").expecting(format!("a port above zero, as in {USUAL}")));
    }
    if !any_host && !listen.ip().to_canonical().is_loopback() {
        let own = if listen.is_ipv4() { "127.0.0.1" } else { "[::1]" };
        let why = "other hosts could read the metrics at this address";
        return Err(item
            .invalid(why)
            .expecting(format!("{own}:{}, or metrics.any_host = true", listen.port())));
    }
    Ok(listen)
}

/// A file that the textfile collector reads.
fn collected(item: &Item<'_>) -> Result<PathBuf, Error> {
    let path = PathBuf::from(filled(item)?);
    let nearest = path.with_extension("prom");
    if !path.is_absolute() {
        return Err(item.invalid("not the whole path").expecting("a path that begins with /"));
    }
    if path.extension() != nearest.extension() {
        let why = "node_exporter reads no file of this name";
        return Err(item
            .invalid(why)
            .expecting(format!("a name that ends with .prom, as {}", nearest.display())));
    }
    Ok(path)
}

/// `docs/gateway-configuration.md` with its generated parts renewed.
///
/// # Panics
/// If a part does not exist or an end is missing.
pub fn refresh(page: &str) -> String {
    reference::renew(page, |name| match name {
        "tables" => reference::tables(format::SECTIONS),
        "units" => {
            let mut out = String::from("| Unit | Nanoseconds |\n|---|---|\n");
            for (unit, scale) in firstflight_document::quantity::TIME_UNITS {
                let _ = writeln!(out, "| `{unit}` | {scale} |");
            }
            out
        }
        other => panic!("there is no generated part \"{other}\""),
    })
}
