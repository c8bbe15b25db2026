//! `firstflight gateway run`, and the loader that it starts.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use firstflight_contract::Nanos;
use firstflight_daemon::{
    Doors, Fresh, Groups, Keep, Kernel, Routed, Setup, Sharing, Site, Source, User, serve_at,
};
use firstflight_document::file::read_text;
use firstflight_gateway::{Configuration, MOST_ORDERS, Mode, Share};
use firstflight_hooks::{Hooks, Setup as HookSetup, Tiers, Transfers, WIDEST};

use super::check;
use crate::failure::{Failure, wrong_at};
use crate::interrupt;
use crate::output::{complain, show};

/// Configuration where `--config` names none.
const CONFIGURATION: &str = "/etc/firstflight/gateway.toml";
/// Largest configuration file, bytes.
const LARGEST: u64 = 16 << 20;
/// Time between two snapshots.
pub(super) const SNAPSHOT_EVERY: Nanos = Nanos::from_secs(60);
/// Size at which the decision log starts anew, bytes.
pub(super) const JOURNAL_BYTES: u64 = 64 << 20;
/// Most routes, where the gateway works by routes.
const ROUTES: usize = 1000;
/// Longest wait for the loader.
const LOADING: Duration = Duration::from_secs(30);

/// Run the gateway until it is stopped
///
/// A child process, the loader, loads the programs into the kernel and ends. The gateway itself gives up every capability
/// before it reads a report. However it ends, connections after that start as the stack starts them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway run
  firstflight gateway run --mode observe --state ./state --socket ./gateway.sock
  firstflight gateway run --mode enforce --mechanism routes
  firstflight gateway run --config gateway.toml --cgroup /sys/fs/cgroup/system.slice/nginx.service")]
pub(crate) struct Options {
    #[command(flatten)]
    common: Common,
    /// Use of the plans, in place of the configuration's: learn only, say, or do
    #[arg(long, value_enum)]
    mode: Option<ModeWord>,
    /// Folder of the store and the decision log, in place of the configuration's
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Write every event and decision to this file, for `firstflight gateway replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Mechanism: programs in the kernel, or routes, which set a first window of at most 16 segments and nothing else; without
    /// this option, programs where the kernel takes them, else routes
    #[arg(long, value_enum)]
    mechanism: Option<Mechanism>,
    /// Socket, in place of the configuration's
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// Load the programs into the kernel and hand them to the process at the other end of standard input
#[derive(Debug, Args)]
pub(super) struct Load {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    /// Configuration file; without one, /etc/firstflight/gateway.toml if it exists, else the defaults
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Observe and start the connections of this cgroup's processes, in place of the configuration's
    #[arg(long, value_name = "FOLDER")]
    cgroup: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeWord {
    Observe,
    Advise,
    Enforce,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mechanism {
    Programs,
    Routes,
}

impl ModeWord {
    fn mode(self) -> Mode {
        match self {
            Self::Observe => Mode::Observe,
            Self::Advise => Mode::Advise,
            Self::Enforce => Mode::Enforce,
        }
    }
}

impl Common {
    fn configuration(&self) -> Result<Configuration, Failure> {
        let mut configuration = configuration(self.config.as_deref())?;
        if self.cgroup.is_some() {
            configuration.cgroup.clone_from(&self.cgroup);
        }
        Ok(configuration)
    }
}

/// The file of a configuration: this one, else the usual one if it exists.
pub(super) fn place(file: Option<&Path>) -> Option<&Path> {
    let usual = Path::new(CONFIGURATION);
    file.or_else(|| usual.exists().then_some(usual))
}

/// The configuration in this file, else in the usual one if it exists, else the defaults.
pub(super) fn configuration(file: Option<&Path>) -> Result<Configuration, Failure> {
    let Some(file) = place(file) else { return Ok(Configuration::default()) };
    let text = read_text(file, LARGEST).map_err(|error| wrong_at(file.display(), error))?;
    let configuration = Configuration::parse(&text, &file.display().to_string())?;
    if configuration.share.as_ref().is_some_and(Share::has_password) {
        let key = "share.url has a password, and the configuration";
        firstflight_daemon::is_private(key, file).map_err(Failure::new)?;
    }
    Ok(configuration)
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let configuration = options.common.configuration()?;
    let source = source(
        &configuration,
        options.common.config.as_deref(),
        options.common.cgroup.clone(),
        options.mode.map(|mode| (mode.mode(), "--mode")),
    );
    let share = configuration.share.as_ref().map(Sharing::open).transpose().map_err(Failure::new)?;
    let transfers = transfers(&configuration);
    let (groups, site, user) = (groups(&configuration)?, site(&configuration)?, user(&configuration)?);
    let Configuration { mut settings, cgroup, state, socket, idle, retreat, metrics, .. } = configuration;
    if let Some(mode) = options.mode {
        settings.mode = mode.mode();
    }
    let state = options.state.clone().unwrap_or(state);
    // Before a program of a second gateway is in the kernel.
    firstflight_daemon::is_free(&state).map_err(Failure::new)?;
    settings.secret = secret()?;
    let tiers = Tiers::detect();
    let by_routes = match options.mechanism {
        Some(mechanism) => mechanism == Mechanism::Routes,
        None => !tiers.sock_ops.is_present() && tiers.routes.is_present(),
    };
    // A cgroup that cannot be held is refused by the loader, with the reason.
    let folder =
        cgroup.clone().or_else(firstflight_hooks::root).filter(|folder| !by_routes && folder.is_dir());
    let _held =
        folder.map(|folder| firstflight_daemon::claim_cgroup(&folder)).transpose().map_err(Failure::new)?;
    let mut seen = vec![];
    let kernel: Box<dyn Kernel> = match by_routes {
        true if cgroup.is_some() => {
            let why = "routes are for all connections of the machine; expected no cgroup";
            return Err(wrong_at("cgroup", why).into());
        }
        true if transfers.is_some() => {
            let why = "routes cannot start single transfers; expected false";
            return Err(wrong_at("transfers.apply", why).into());
        }
        true if idle || retreat => {
            let why = "routes are not asked after an idle time or a loss; expected false";
            return Err(wrong_at(if idle { "plan.idle" } else { "plan.retreat" }, why).into());
        }
        true if settings.ssthresh => {
            let why = "routes set no slow-start threshold; expected false";
            return Err(wrong_at("plan.ssthresh", why).into());
        }
        true => {
            // No plan is larger than a route that gives it.
            settings.window = settings.window.min(WIDEST);
            Box::new(Routed::new(ROUTES).map_err(Failure::new)?)
        }
        false => {
            let folder = cgroup.clone().or_else(firstflight_hooks::root);
            let beside = folder.map(|folder| firstflight_hooks::beside(&folder)).unwrap_or_default();
            let hooks = hooks(&options.common)?;
            seen.push(format!("network namespaces adopted: {}", hooks.elsewhere()));
            if idle {
                seen.push(format!("plan.idle: {}", check::IDLE));
            }
            if !beside.is_empty() {
                seen.push(format!("other sock_ops programs of the cgroup: {}", beside.join(", ")));
            }
            Box::new(hooks)
        }
    };
    let used = match by_routes {
        true => "routes",
        false if settings.ssthresh || transfers.is_some() || idle || retreat => "sock_ops, struct_ops",
        false => "sock_ops",
    };
    let tiers: Vec<_> =
        tiers.to_string().lines().map(str::to_owned).chain(seen).chain([format!("in use: {used}")]).collect();
    let setup = Setup {
        settings,
        socket: options.socket.clone().unwrap_or(socket),
        groups,
        state,
        snapshot_every: SNAPSHOT_EVERY,
        journal_bytes: JOURNAL_BYTES,
        record: options.record.clone(),
        transfers,
        idle,
        site,
        share,
        metrics,
        tiers,
        source,
    };
    let doors = settle(&setup, user.as_ref(), if by_routes { Keep::Routes } else { Keep::Nothing })?;
    let line = format!(
        "The gateway serves {}, for the connections of {}; its mode is {}, its mechanism {used}.\n",
        setup.socket.display(),
        cgroup.as_ref().map_or("this machine".to_owned(), |folder| folder.display().to_string()),
        setup.settings.mode.label()
    );
    serve(&setup, doors, kernel, &line)
}

/// Serves until a signal, and prints the line when it does.
pub(super) fn serve(setup: &Setup, doors: Doors, kernel: Box<dyn Kernel>, line: &str) -> Result<(), Failure> {
    let mut shown = Ok(());
    let ready = || shown = show(line);
    interrupt::while_serving(|| {
        serve_at(setup, doors, kernel, interrupt::stopped, ready, |line| complain(line))
    })
    .map_err(Failure::new)?;
    shown
}

/// User that the gateway of a configuration becomes, if root runs this process.
pub(super) fn user(configuration: &Configuration) -> Result<Option<User>, Failure> {
    User::to_become(configuration.user.as_deref()).map_err(Failure::new)
}

/// Opens the sockets, makes the state folder and the recording the user's, and gives up all rights but those to keep.
pub(super) fn settle(setup: &Setup, user: Option<&User>, keep: Keep) -> Result<Doors, Failure> {
    let Setup { socket, state, record, site, metrics, .. } = setup;
    let doors =
        Doors::open(socket, site.as_ref().map(|site| site.listen), metrics.listen).map_err(Failure::new)?;
    firstflight_daemon::prepare(state, user).map_err(Failure::new)?;
    if let (Some(user), Some(record)) = (user, record) {
        firstflight_daemon::reserve("the recording", record, Some(user)).map_err(Failure::new)?;
    }
    firstflight_daemon::leave(user, keep).map_err(|error| Failure::new(format!("root's rights: {error}")))?;
    interrupt::clean_up_on_signals();
    if let Some(advice) = user.and_then(User::advice) {
        complain(format_args!("note: {advice}"));
    }
    Ok(doors)
}

/// The groups of a configuration.
pub(super) fn groups(configuration: &Configuration) -> Result<Groups, Failure> {
    let Configuration { read_group, admin_group, plan_group, .. } = configuration;
    let groups = Groups::by_name(read_group.as_deref(), admin_group.as_deref(), plan_group.as_deref());
    groups.map_err(Failure::new)
}

/// The interface to the other gateways of the site, with its secret.
pub(super) fn site(configuration: &Configuration) -> Result<Option<Site>, Failure> {
    let Some(site) = &configuration.site else { return Ok(None) };
    let (signer, keys) = firstflight_daemon::of_site(&site.key_file).map_err(Failure::new)?;
    Ok(Some(Site { listen: site.listen, hosts: site.hosts.clone(), signer, keys, weight: site.weight }))
}

/// The programs for single transfers, if the configuration wants them.
fn transfers(configuration: &Configuration) -> Option<Transfers> {
    let wanted = configuration.transfers;
    wanted.apply.then_some(Transfers { ssthresh: wanted.ssthresh })
}

/// Repeated reading of the configuration of a running gateway. A cgroup of the command line, and a fixed `mode` with its
/// reason, have precedence over those of the file.
pub(super) fn source(
    started: &Configuration,
    file: Option<&Path>,
    cgroup: Option<PathBuf>,
    mode: Option<(Mode, &'static str)>,
) -> Source {
    let asked = Some(interrupt::hung_up as fn() -> bool);
    let Some(file) = place(file) else { return Source { asked, ..Source::default() } };
    let (before, path) = (started.clone(), file.to_owned());
    let reread = move || {
        let read = configuration(Some(&path)).and_then(|found| {
            // Keys that stay are not read: the gateway's user may not be allowed to. Other ones need a restart, and are checked.
            let same = (&found.share, &found.site) == (&before.share, &before.site);
            let checked = if same { groups(&found).map(drop) } else { check::whole(&found) };
            checked.map(|()| found)
        });
        let mut found = read.map_err(|failure| match failure {
            Failure::Because(why) => why,
            _ => unreachable!("nothing is printed"),
        })?;
        if cgroup.is_some() {
            found.cgroup.clone_from(&cgroup);
        }
        let mut needs_restart: Vec<_> = found.needs_restart(&before).into_iter().map(str::to_owned).collect();
        if let Some((mode, why)) = mode {
            if found.settings.mode != before.settings.mode {
                needs_restart.push(format!("mode (because of {why})"));
            }
            found.settings.mode = mode;
        }
        Ok(Fresh { settings: found.settings, orders: found.orders, canary: found.canary, needs_restart })
    };
    Source {
        file: Some(file.to_owned()),
        orders: started.orders.clone(),
        canary: started.canary.clone(),
        reread: Some(Arc::new(reread)),
        asked,
    }
}

/// A number that no client foresees.
pub(super) fn secret() -> Result<u64, Failure> {
    use std::io::Read as _;
    let mut bytes = [0; 8];
    let read = fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| wrong_at("/dev/urandom", error))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Starts the loader and takes the hooks.
fn hooks(common: &Common) -> Result<Hooks, Failure> {
    let (here, there) = UnixStream::pair().map_err(Failure::new)?;
    let program = std::env::current_exe().map_err(Failure::new)?;
    let mut command = Command::new(program);
    command.args(["gateway", "load"]);
    for (option, value) in [("--config", &common.config), ("--cgroup", &common.cgroup)] {
        if let Some(value) = value {
            command.arg(option).arg(value);
        }
    }
    let mut loader = command
        .stdin(Stdio::from(OwnedFd::from(there)))
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| Failure::new(format!("the loader cannot be started: {error}")))?;
    // The command holds the other end too; without it, the end of the loader ends the wait.
    drop(command);
    here.set_read_timeout(Some(LOADING)).map_err(Failure::new)?;
    let hooks = Hooks::receive(&here);
    let ended = loader.wait().map_err(Failure::new)?;
    match hooks {
        Ok(hooks) if ended.success() => Ok(hooks),
        Err(error) if ended.success() => Err(Failure::new(error)),
        // The loader has said why.
        _ => Err(Failure::new("the programs could not be loaded into the kernel")),
    }
}

pub(super) fn load(options: &Load) -> Result<(), Failure> {
    let configuration = options.common.configuration()?;
    let transfers = transfers(&configuration);
    let Configuration { limits, cgroup, settings, idle, retreat, .. } = configuration;
    let to = std::io::stdin().as_fd().try_clone_to_owned().map_err(Failure::new)?;
    let mut setup = HookSetup::new(limits);
    setup.cgroup = cgroup;
    setup.bits = settings.bits;
    setup.parts = settings.split;
    setup.plans = settings.prefixes;
    // Those of the configuration and those of the socket.
    setup.overrides = 2 * MOST_ORDERS as u32;
    setup.transfers = transfers;
    (setup.idle, setup.retreat) = (idle, retreat);
    let mut hooks = Hooks::load(&setup).map_err(Failure::new)?;
    hooks.look_elsewhere();
    hooks.hand_over(&UnixStream::from(to)).map_err(Failure::new)
}
