//! `firstflight gateway site`: the gateway of a site, which learns from packets.

use std::path::{Path, PathBuf};

use clap::Args;
use firstflight::Progress;
use firstflight_capture::{PassedOver, Room, Watch, Watched, for_each};
use firstflight_contract::Nanos;
use firstflight_daemon::{Interface, Keep, Mirror, Setup, explanation, report};
use firstflight_document::file;
use firstflight_gateway::{Gateway, Mode, Settings};
use firstflight_paths::Prefix;
use serde_json::{Value, json};

use super::{run, top};
use crate::captures;
use crate::failure::{Failure, wrong_at};
use crate::output::{places, print, print_json, show};
use crate::progress::Bar;

/// Networks in the table.
const ROWS: usize = 40;
/// Time between two ticks of the gateway.
const TICK: Nanos = Nanos::from_secs(1);

/// Learn from packets, for all hosts of a site: from a capture, or from an interface to which their traffic is mirrored
///
/// The senders' windows are rebuilt from their packets: at a loss in congestion avoidance, else at the end of the connection. With
/// --interface, the gateway serves its socket as `gateway run` does, and changes nothing. With [site] in its configuration, the
/// hosts of the site ask it by HTTP, and it pushes what it knows of a network to the gateway of the host that a client asks.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway site border.pcap --hosts 10.0.0.0/24
  firstflight gateway site border.pcap --json --export learned.state
  firstflight gateway site --interface mirror0 --config /etc/firstflight/site.toml")]
pub(super) struct Options {
    /// A capture
    #[arg(value_name = "FILE", required_unless_present = "interface", conflicts_with = "interface")]
    file: Option<PathBuf>,
    /// Learn from the packets of this interface until Ctrl-C
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Hosts of the site, in place of the configuration's: their connections to others are learned from; without any, all
    /// connections
    #[arg(long, value_name = "PREFIX", value_parser = prefix)]
    hosts: Vec<Prefix>,
    /// Configuration file; without one, /etc/firstflight/gateway.toml if it exists, else the defaults
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder of the store and the decision log, in place of the configuration's
    #[arg(long, value_name = "FOLDER", requires = "interface")]
    state: Option<PathBuf>,
    /// Socket, in place of the configuration's
    #[arg(long, value_name = "PATH", requires = "interface")]
    socket: Option<PathBuf>,
    /// Write every event and decision to this file, for `firstflight gateway replay`
    #[arg(long, value_name = "FILE", requires = "interface")]
    record: Option<PathBuf>,
    /// Write what was learned to this file, for `firstflight gateway import`
    #[arg(long, value_name = "FILE", conflicts_with = "interface")]
    export: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long, conflicts_with = "interface")]
    json: bool,
}

impl Options {
    /// Whether it learns from an interface until it is stopped.
    pub(super) fn serves(&self) -> bool {
        self.interface.is_some()
    }
}

fn prefix(text: &str) -> Result<Prefix, String> {
    text.parse()
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let mut configuration = run::configuration(options.config.as_deref())?;
    // It states plans, and puts none in force: it has no connection of its own.
    configuration.settings.mode = Mode::Advise;
    let site = configuration.site.as_ref().map_or(vec![], |site| site.hosts.clone());
    let hosts = if options.hosts.is_empty() { site } else { options.hosts.clone() };
    match (&options.interface, &options.file) {
        (None, Some(file)) => learn(options, file, &hosts, configuration.settings),
        (None, None) => unreachable!("one of the two is required"),
        (Some(interface), _) => {
            let source = run::source(
                &configuration,
                options.config.as_deref(),
                None,
                Some((Mode::Advise, "gateway site")),
            );
            configuration.settings.secret = run::secret()?;
            let user = run::user(&configuration)?;
            let site = run::site(&configuration)?;
            if site.as_ref().is_some_and(|site| site.signer.is_none()) {
                let why = "it has public keys alone; expected the private one, by which the gateway of the site signs";
                return Err(wrong_at("site.key_file", why).into());
            }
            let groups = run::groups(&configuration)?;
            let socket = options.socket.clone().unwrap_or(configuration.socket);
            let packets = Interface::open(interface).map_err(Failure::new)?;
            let setup = Setup {
                groups,
                settings: configuration.settings,
                socket,
                state: options.state.clone().unwrap_or(configuration.state),
                snapshot_every: run::SNAPSHOT_EVERY,
                journal_bytes: run::JOURNAL_BYTES,
                record: options.record.clone(),
                transfers: None,
                idle: false,
                share: None,
                metrics: configuration.metrics,
                site,
                tiers: vec![format!("in use: packets of {interface}")],
                source,
            };
            let doors = run::settle(&setup, user.as_ref(), Keep::Nothing)?;
            let site = setup.site.as_ref();
            let mirror = Mirror::begin(packets, hosts, &setup.socket, site).map_err(Failure::new)?;
            let line =
                format!("The gateway serves {}, and learns from {interface}.\n", setup.socket.display());
            run::serve(&setup, doors, Box::new(mirror), &line)
        }
    }
}

/// Learns from a capture and prints the networks.
fn learn(options: &Options, capture: &Path, hosts: &[Prefix], settings: Settings) -> Result<(), Failure> {
    let head = captures::head(capture)?;
    if !head.is_empty() && !captures::is_one(capture, &head) {
        return Err(wrong_at(capture.display(), "not a capture; expected a pcap or pcapng file").into());
    }
    let input = file::open(capture).map_err(|error| wrong_at(capture.display(), error))?;
    let mut learner = Learner::new(hosts, settings);
    let bar = Bar::new();
    bar.begin("bytes", input.metadata().map_or(0, |known| known.len()));
    for_each(input, capture, |at, link_type, data, length| {
        bar.advance(data.len() as u64);
        learner.frame(at, link_type, data, length);
    })
    .map_err(Failure::new)?;
    bar.finish();
    let Learned { gateway, watched, passed_over, sentences } = learner.finish(capture);
    if watched.tcp == 0 {
        let why = std::iter::once("the capture has no TCP packet".to_owned()).chain(sentences);
        return Err(wrong_at(capture.display(), why.collect::<Vec<_>>().join("; ")).into());
    }
    let networks: Vec<_> = gateway.busiest(usize::MAX).iter().map(explanation).collect();
    if let Some(path) = &options.export {
        let written = super::write(path, &gateway.save())?;
        if !options.json {
            print(&places(&written))?;
        }
    }
    match options.json {
        true => print_json(&json!({
            "seen": watched,
            "passed_over": passed_over,
            "plans": gateway.planned(),
            "networks": networks,
        })),
        false => show(&text(&networks, &watched, &sentences)),
    }
}

/// A gateway that learns from the frames of a capture, by the capture's clock.
struct Learner<'a> {
    hosts: &'a [Prefix],
    watch: Watch,
    gateway: Gateway,
    /// Time of the first frame; the gateway's clock shows a second then.
    first: Option<Nanos>,
    next_tick: Nanos,
}

impl<'a> Learner<'a> {
    fn new(hosts: &'a [Prefix], settings: Settings) -> Self {
        let (watch, gateway) = (Watch::new(Room::default()), Gateway::new(settings));
        Self { hosts, watch, gateway, first: None, next_tick: Nanos::ZERO }
    }

    fn frame(&mut self, at: Nanos, link_type: u32, data: &[u8], length: u32) {
        self.watch.frame(at, link_type, data, length);
        let first = *self.first.get_or_insert(at);
        let now = at.saturating_sub(first) + TICK;
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.watch.sweep(at);
            self.take(now);
        }
    }

    /// Has the gateway learn from the connections that have ended.
    fn take(&mut self, now: Nanos) {
        self.gateway.tick(now, &mut vec![]);
        for captured in self.watch.take_ended() {
            if !firstflight_daemon::leaves(self.hosts, &captured) {
                continue;
            }
            if let Some(connection) = report(&captured) {
                self.gateway.report(&firstflight_gateway::Connection { at: now, ..connection }, &mut vec![]);
            }
        }
    }

    fn finish(mut self, capture: &Path) -> Learned {
        self.watch.finish();
        self.take(self.next_tick);
        Learned {
            gateway: self.gateway,
            watched: self.watch.counts(),
            passed_over: self.watch.passed_over(&capture.display().to_string()),
            sentences: self.watch.passed_over_sentences(),
        }
    }
}

/// A gateway that has seen a capture.
struct Learned {
    gateway: Gateway,
    watched: Watched,
    passed_over: Vec<PassedOver>,
    /// Sentences about what was passed over.
    sentences: Vec<String>,
}

fn text(networks: &[Value], watched: &Watched, sentences: &[String]) -> String {
    let more = networks.len().saturating_sub(ROWS);
    let more = if more > 0 { format!("and {more} networks more\n") } else { String::new() };
    format!(
        "{} connections rebuilt from {} packets, {} ended early for want of room; {} networks\n{}\n{}{more}",
        watched.connections,
        watched.packets,
        watched.early,
        networks.len(),
        sentences.iter().map(|sentence| format!("{sentence}\n")).collect::<String>(),
        top::networks(&networks[..networks.len().min(ROWS)])
    )
}
