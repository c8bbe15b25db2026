//! The service: its state folder, its socket, its thread.

use std::io::{self, BufWriter, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use firstflight_contract::Nanos;
use firstflight_gateway::{Gateway, Keys, Logged, Metrics as Ways, Settings, Signer};
use firstflight_hooks::Transfers;
use firstflight_paths::Prefix;
use sd_notify::NotifyState;
use tokio::sync::oneshot;

use crate::access::Groups;
use crate::addresses::Addresses;
use crate::api::{Api, Doors, Message};
use crate::canary::Keeper;
use crate::clock;
use crate::engine::{Engine, Machine};
use crate::exchange::{Exchange, Sharing};
use crate::files;
use crate::foreign::Foreign;
use crate::journal::Journal;
use crate::kernel::Kernel;
use crate::limits;
use crate::logs::{Logs, Troubles};
use crate::metrics::Metrics;
use crate::metrics::textfile::Textfile;
use crate::orders::Orders;
use crate::others::Others;
use crate::pending::Pending;
use crate::source::Source;
use crate::store::{self, Found, Store};

/// Files and sockets of the service.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Rules of the gateway.
    pub settings: Settings,
    /// Path of the socket.
    pub socket: PathBuf,
    /// Groups that may use the socket.
    pub groups: Groups,
    /// Folder of the store and the decision log; created if it is missing.
    pub state: PathBuf,
    /// Time between two snapshots.
    pub snapshot_every: Nanos,
    /// Size at which the decision log starts anew, bytes.
    pub journal_bytes: u64,
    /// File that gets every event and decision, which `firstflight_gateway::replay` reads.
    pub record: Option<PathBuf>,
    /// Starts for single transfers that the kernel was loaded with.
    pub transfers: Option<Transfers>,
    /// Whether the kernel was loaded to start idle connections as planned.
    pub idle: bool,
    /// Interface to the other gateways of a site.
    pub site: Option<Site>,
    /// Exchange of observations with other hosts.
    pub share: Option<Sharing>,
    /// Ways to the metrics besides the socket.
    pub metrics: Ways,
    /// Mechanisms of this machine, one line each.
    pub tiers: Vec<String>,
    /// Source of the settings.
    pub source: Source,
}

/// The interface between the gateway of a site and those of its hosts.
#[derive(Clone, Debug)]
pub struct Site {
    /// Address and port at which this gateway serves the others.
    pub listen: SocketAddr,
    /// The hosts of the site.
    pub hosts: Vec<Prefix>,
    /// Secret by which this gateway signs as the site, if it is the site's.
    pub signer: Option<Signer>,
    /// Public keys of the site.
    pub keys: Keys,
    /// Weight of an observation that is pushed, thousandths of an own one.
    pub weight: u16,
}

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
#[error("{what} {}: {error}", path.display())]
pub struct Trouble {
    what: &'static str,
    path: PathBuf,
    error: String,
}

impl Trouble {
    pub(crate) fn of(what: &'static str, path: &Path, error: &dyn ToString) -> Self {
        Self { what, path: path.to_owned(), error: error.to_string() }
    }

    /// A file that is not usable and cannot be kept under another name.
    pub(crate) fn kept(what: &'static str, path: &Path, why: &dyn ToString, error: &dyn ToString) -> Self {
        let why =
            format!("{}; and it cannot be kept under another name: {}", why.to_string(), error.to_string());
        Self::of(what, path, &why)
    }
}

/// Serves until `over`, then keeps a snapshot. `complain` gets one line for each new trouble; the service goes on.
///
/// # Errors
/// [`Trouble`] if the state folder, the decision log or the socket cannot be used; nothing was changed in the kernel.
pub fn serve(
    setup: &Setup,
    kernel: Box<dyn Kernel + '_>,
    over: impl Fn() -> bool,
    complain: fn(&str),
) -> Result<(), Trouble> {
    // A second gateway leaves no socket behind.
    store::is_free(&setup.state)?;
    let doors =
        Doors::open(&setup.socket, setup.site.as_ref().map(|site| site.listen), setup.metrics.listen)?;
    serve_at(setup, doors, kernel, over, || (), complain)
}

/// [`serve`], with listeners that were opened before. `ready` is called when plans and orders are in force and the socket answers.
///
/// # Errors
/// As [`serve`].
pub fn serve_at(
    setup: &Setup,
    doors: Doors,
    kernel: Box<dyn Kernel + '_>,
    over: impl Fn() -> bool,
    ready: impl FnOnce(),
    complain: fn(&str),
) -> Result<(), Trouble> {
    let Setup { state, socket, .. } = setup;
    let lock = store::claim(state)?;
    files::prepare(state, None)?;
    let log = state.join(files::LOG);
    let journal = Journal::open(&log, setup.journal_bytes, 1)
        .map_err(|error| Trouble::of("the decision log", &log, &error))?;
    let mut operator = Orders::open(setup, kernel.widest())?;
    let rules = setup.source.canary.clone().map(|(rules, line)| (rules, setup.source.place(line)));
    let (canary, damaged) = Keeper::open(state, rules, setup.settings.secret)
        .map_err(|error| Trouble::of("the canary of", state, &error))?;
    damaged.iter().for_each(|line| complain(line));
    let started = clock::wall() as f64 / 1e9;
    let metrics = Arc::new(Metrics::new(setup.settings.prefixes, started, kernel.mechanism()));
    let (orders, inbox) = mpsc::channel::<Message>();
    let hosts = setup.site.as_ref().map(|site| site.hosts.clone());
    let import = limits::import(setup.settings.prefixes);
    let api = Api::new(&doors, hosts, setup.groups, import, Arc::clone(&metrics), orders);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Trouble::of("the socket", socket, &error))?;
    let fresh = Gateway::new(setup.settings.clone());
    let Found { store, gateway, complaints } =
        Store::open(state, lock, setup.snapshot_every, fresh, &mut operator.book)?;
    complaints.iter().for_each(|line| complain(line));
    let record = |path: &PathBuf| {
        let mut first = String::new();
        Logged::begin(gateway.clone(), &mut first);
        let mut file = BufWriter::new(files::own(path, false)?);
        file.write_all(first.as_bytes()).map(|()| file)
    };
    let recording = setup
        .record
        .as_ref()
        .map(|path| record(path).map_err(|error| Trouble::of("the recording", path, &error)));
    let recording = recording.transpose()?;
    let (exchange, postman) = match setup.share.clone() {
        Some(sharing) => {
            let (exchange, postman) = Exchange::new(sharing, &setup.settings, Arc::clone(&metrics));
            (Some(exchange), Some(postman))
        }
        None => (None, None),
    };
    let machine = Machine {
        started: clock::since_boot(),
        own: Addresses::default(),
        tiers: setup.tiers.clone(),
        transfers: setup.transfers,
        idle: setup.idle,
    };
    let mut engine = Engine {
        gateway,
        kernel,
        store,
        orders: operator,
        canary,
        foreign: Foreign::default(),
        pending: Pending::default(),
        rankings: vec![],
        others: Others::new(setup.site.clone(), exchange),
        machine,
        metrics: Arc::clone(&metrics),
        logs: Logs::new(journal, recording),
        troubles: Troubles::new(complaints.last().cloned(), complain, Arc::clone(&metrics)),
    };
    engine.count();
    let textfile = setup.metrics.textfile.as_ref();
    let textfile =
        textfile.map(|(path, every)| Textfile::begin(path, *every, metrics, complain)).transpose()?;
    engine.begin();
    let (end, ended) = oneshot::channel();
    let (end_exchange, exchange_ended) = oneshot::channel();
    thread::scope(|scope| {
        let served = scope.spawn(move || runtime.block_on(api.serve(doors, ended)));
        // Without this thread the gateway works with its own measurements.
        let exchanged = postman.map(|postman| scope.spawn(move || postman.work(exchange_ended)));
        ready();
        // Without systemd there is nobody to notify.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        engine.work(&inbox, over, || {
            let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        });
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        drop(textfile);
        // The thread of the socket has ended if nobody takes this.
        let _ = end.send(());
        let _ = end_exchange.send(());
        // An order that waits is answered by the end of its channel.
        drop(inbox);
        engine.rankings.clear();
        // To give back the memory of a million prefixes takes a tenth of a second, for which nobody should wait.
        let known = std::mem::replace(&mut engine.gateway, Gateway::new(Settings::default()));
        thread::spawn(move || drop(known));
        let exchanged = exchanged
            .map_or(Ok(()), |thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        if let Err(error) = exchanged {
            complain(&format!("the exchange with other gateways did not start: {error}"));
        }
        served
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map_err(|error: io::Error| Trouble::of("the socket", socket, &error))
    })
}
