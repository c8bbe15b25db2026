//! Construction of a simulation from a scenario: draws random values, finds paths, converts units.

mod clusters;
mod room;
mod routers;
mod routes;
mod sharing;
mod stack;
mod tcplib;
mod times;
mod traffic;
mod wires;

pub use clusters::Site;

use std::sync::Arc;

use firstflight_contract::{Nanos, Signals};
use firstflight_host::chain::Chain;
use firstflight_random::Stream;
use firstflight_scenario as scenario;
use firstflight_scenario::{FlowGroup, Profile, Scenario, Source, limits};
use firstflight_schemes::registry::AnyPhase;
use firstflight_sim::alike::Alike;
use firstflight_sim::config::{FlowConfig, Network, Sharing, UdpConfig};
use firstflight_sim::schedule::WinnerTree;
use firstflight_sim::sender::Sender;
use firstflight_sim::sender::app::AppConfig;
use firstflight_sim::sender::stack::{Pacing, Stack, Tokens};

use crate::draw::draw;
use crate::host::{Observe, Refusal};
use crate::memory;
use room::Room;
pub(crate) use room::{DELIVERY, RECORDED, estimate};
use sharing::Clusters;
use stack::{ack_policy, chain, idle_conflict, ignored, schemes, stack_of};
use traffic::Connection;
use wires::Wires;

/// Signals available to schemes in a simulated network, from senders and from the network.
pub const OFFERED: Signals =
    Sender::OFFERED.union(Signals::SHARED_WINDOW).union(Signals::PLAN).union(Signals::ROUTERS);

/// A scenario in the form that the simulator runs.
#[derive(Clone, Debug)]
pub struct Built {
    /// Network to simulate.
    pub network: Network,
    /// Group of each flow: its index in the scenario.
    pub group: Vec<usize>,
    /// Destination and cluster of each flow.
    pub site: Vec<Site>,
    /// Label of each flow's chain of schemes.
    pub scheme: Vec<Arc<str>>,
    /// Payload bytes of each flow; `None` is unlimited.
    pub size: Vec<Option<u64>>,
    /// Bandwidth-delay product of each flow's path, segments.
    pub bdp: Vec<f64>,
    /// Limit of the queue at the slowest link of each flow's path, packets.
    pub buffer: Vec<f64>,
    /// Links named in the scenario, which results report; access links of flows are not included.
    pub named_links: Vec<usize>,
}

impl Built {
    /// Lets the run be observed: the links that are named are read at their times, and the run ends where it may.
    pub fn observe(&mut self, observe: &Observe) {
        self.network.until_finished |= observe.until_finished;
        let readings = &observe.links;
        for &index in &self.named_links {
            let link = &mut self.network.links[index];
            if readings.includes(&link.name) {
                link.read_at.clone_from(&readings.times);
            }
        }
    }
}

/// Builds one run of `scenario` under `seed`.
///
/// # Errors
/// [`Refusal`] if a flow needs a feature that the simulator lacks, or the traffic takes more memory than
/// [`memory::DEFAULT`].
pub fn build(scenario: &Scenario, seed: u64, grid: Nanos) -> Result<Built, Refusal> {
    build_within(memory::DEFAULT, scenario, seed, grid)
}

/// Builds one run of `scenario` under `seed`, whose traffic may take `memory` bytes.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_within(
    memory: u64,
    scenario: &Scenario,
    seed: u64,
    grid: Nanos,
) -> Result<Built, Refusal> {
    let mut room = Room::of(memory);
    let mut wires = Wires::new(scenario);
    routers::check_traces(&wires.links)?;
    let ecn = wires.marks();
    let mut built = Built {
        network: Network {
            links: vec![],
            flows: vec![],
            udp: vec![],
            seed,
            end: scenario.duration.unwrap_or(limits::RUN),
            until_finished: scenario.duration.is_none(),
            grid,
            grid_points: u64::MAX,
            stop: None,
        },
        group: vec![],
        site: vec![],
        scheme: vec![],
        size: vec![],
        bdp: vec![],
        buffer: vec![],
        named_links: vec![],
    };
    let mut clusters = Clusters::default();
    for (index, group) in scenario.flows.iter().enumerate() {
        let place = place(scenario, index);
        check(group, scenario.packet.payload(group.profile), &place)?;

        let key = || room::key_of_many(scenario, index);
        room.foresee(room::mean_of_group(group, built.network.end), key)?;
        let connections = traffic::connections(group, built.network.end, seed, &mut room);
        room.check(key)?;
        let (label, chain): (Arc<str>, _) = (group.scheme.label().into(), Alike::from(chain(group)));
        let mut last = None;
        for connection in connections {
            let site = Site::of(&scenario.network, group, &connection.ends);
            let run = Run { seed, ecn, chain: &chain };
            let mut flow = flow(scenario, group, connection, run, &mut last, &mut wires);
            let named = flow.forward.iter().filter(|&&link| link < wires.named);
            routers::check(group, &place, named.map(|&link| &wires.links[link]))?;
            flow.sharing = clusters.join(group, index, &place, &site)?;
            built.site.push(site);
            built.size.push(flow.app.bytes);
            built.group.push(index);
            built.scheme.push(Arc::clone(&label));
            let (bdp, buffer) = wires.capacity(&flow.forward, &flow.reverse, scenario.packet.size);
            built.bdp.push(bdp);
            built.buffer.push(buffer);
            built.network.flows.push(flow);
        }
    }
    for (index, source) in scenario.udp.iter().enumerate() {
        let stream = |what: &str| Stream::named(seed, &format!("{what} {}", source.name));
        let path = wires.bare_path(&traffic::ends(&source.endpoints, &mut stream("ends")));
        let key = || format!("udp[{index}].on_off");
        room.foresee(room::mean_of_periods(source, built.network.end), key)?;
        let on = times::on_periods(source, built.network.end, &mut stream("on-off"), &mut room);
        room.check(key)?;
        let size = source.size as u16;
        built.network.udp.push(UdpConfig { name: source.name.clone(), path, size, rate: source.rate, on });
    }
    if built.network.flows.len() as u64 > limits::FLOWS {
        let why =
            format!("this run has {} flows; expected at most {}", built.network.flows.len(), limits::FLOWS);
        return Err(Refusal { key: "duration".into(), why });
    }
    sharing::check_company(&built, |index| place(scenario, index))?;
    built.named_links = (0..wires.named).collect();
    built.network.links = wires.links;
    check_duration(&built, scenario.duration)?;
    Ok(built)
}

/// Table of the file that a group comes from: `telnet[0]`.
pub fn place(scenario: &Scenario, index: usize) -> String {
    let table = |group: &FlowGroup| match group.source {
        Source::Flow => "flow",
        Source::Telnet(_) => "telnet",
        Source::Web(_) => "web",
    };
    let name = table(&scenario.flows[index]);
    let before = scenario.flows[..index].iter().filter(|group| table(group) == name).count();
    format!("{name}[{before}]")
}

/// Refuses a group that needs a feature that the simulator lacks.
fn check(group: &FlowGroup, payload: u32, place: &str) -> Result<(), Refusal> {
    let refuse = |key: &str, why: String| Err(Refusal { key: format!("{place}.{key}"), why });
    if let Some((key, why)) = ignored(group) {
        return refuse(key, why);
    }
    if let Some(why) = idle_conflict(group) {
        return refuse("idle_restart", why);
    }
    let needs = chain(group).needs();
    let label = group.scheme.label();
    let (pacing_key, pacer) = match schemes(group).needs().has(Signals::PACING) {
        true => ("startup", label.as_str()),
        false => ("idle_restart", "a pace after idle times"),
    };
    if needs.has(Signals::HANDSHAKE) && !group.handshake {
        let why =
            format!("{label} needs the RTT of a handshake, but this flow has none; set handshake = true");
        return refuse("startup", why);
    }
    let (profile, declared) = (group.profile.word(), group.profile.stack());
    if group.paced && !declared.can_pace() {
        let can = Profile::with(scenario::Stack::can_pace);
        let why = format!("only senders of profile {can} pace whatever the scheme, and this is {profile}");
        return refuse("paced", why);
    }
    if group.send_buffer.is_some() && !declared.is_quic() {
        let why = format!("only senders of QUIC have it, and this is {profile}");
        return refuse("send_buffer", why);
    }
    if declared.is_quic() && group.recovery != scenario::Recovery::Sack {
        let why = format!("losses are found by RFC 9002 under profile {profile}; expected \"sack\"");
        return refuse("recovery", why);
    }
    if declared.is_quic() && needs.has(Signals::PACING) && declared.rules.pacing != Pacing::Rates {
        let own = match declared.rules.pacing {
            Pacing::Tokens(Tokens { percent: [start, _], .. }) => {
                format!("paces at {} windows a round trip", start as f64 / 100.0)
            }
            _ => "sends each window at once".into(),
        };
        let why = format!("{pacer} sets its own pacing rate; {profile} {own} and takes no rate");
        return refuse(pacing_key, why);
    }
    if declared.is_quic() && group.data_in_syn != scenario::DataInSyn::Never {
        let why = "a first connection of QUIC has no ticket for data in its first flight".into();
        return refuse("data_in_syn", why);
    }
    if group.paced && needs.has(Signals::PACING) {
        let why = format!("{pacer} sets its own pacing rate, which excludes that of the stack");
        return refuse("paced", why);
    }
    if let Some((why, expected)) = group.initial_pace_conflict(payload) {
        return refuse("initial_pace", format!("{why}; expected {expected}"));
    }
    let rack = declared.rules.detects_by_time()
        && matches!(group.recovery, scenario::Recovery::Sack | scenario::Recovery::NewReno);
    if needs.has(Signals::RATE) && !rack {
        let why = format!(
            "{label} needs delivery-rate samples, which only senders of profiles {} with recovery sack or newreno take",
            Profile::with(|stack| stack.rules.detects_by_time())
        );
        return refuse("startup", why);
    }
    if needs.has(Signals::LOSSES) && group.recovery != scenario::Recovery::Sack {
        let why = format!("{label} needs every lost segment, which only senders with recovery sack know");
        return refuse("recovery", why);
    }
    if needs.has(Signals::SHARED_WINDOW) && !group.has_processor() {
        let why = format!(
            "{label} shares its window with other connections, which only senders of profile {} with recovery sack can",
            Profile::with(scenario::Stack::has_scoreboard)
        );
        return refuse("startup", why);
    }
    if needs.has(Signals::START_OVER) && rack {
        let why =
            format!("{label} restarts in the middle of recovery, which senders of profile {profile} cannot");
        return refuse("startup", why);
    }
    let missing = needs.without(OFFERED);
    if missing != Signals::NONE {
        let names: Vec<_> = missing.names().collect();
        let why = format!("{label} needs {}, which the simulator lacks", names.join(" and "));
        return refuse("startup", why);
    }
    if let scenario::Reads::Every(bytes) = group.receiver_reads
        && group.receive_window.is_some_and(|most| bytes > most)
    {
        let why = "an application that waits for more than the receive window never wakes".into();
        return refuse("receiver_reads", why);
    }
    if group.receiver == scenario::Receiver::Tuned {
        let why = if !declared.tuned_buffer {
            let has = Profile::with(|stack| stack.tuned_buffer);
            return refuse("receiver", format!("only profile {has} has a buffer that grows"));
        } else if !group.handshake || group.data_in_syn != scenario::DataInSyn::Never {
            "the buffer grows once in a round trip, which its host measures in a handshake without data"
        } else if group.receiver_reads != scenario::Reads::Eager {
            "the buffer grows while the application reads; expected receiver_reads = \"eager\""
        } else {
            ""
        };
        if !why.is_empty() {
            return refuse("receiver", why.into());
        }
    }
    if group.data_in_syn != scenario::DataInSyn::Never && !group.handshake {
        let why = "a flow without a handshake has no SYN; set handshake = true".into();
        return refuse("data_in_syn", why);
    }
    if group.data_in_syn != scenario::DataInSyn::Never && needs.has(Signals::GRANT) {
        let why = format!("{label} sends its rate request in a SYN without data");
        return refuse("data_in_syn", why);
    }
    if group.data_in_syn == scenario::DataInSyn::Ttcp && rack {
        return refuse("data_in_syn", "Linux has TCP Fast Open, \"tfo\", but not T/TCP".into());
    }
    if group.data_in_syn == scenario::DataInSyn::Ttcp && needs.has(Signals::HANDSHAKE) {
        let why = format!(
            "{label} needs the RTT of a handshake, but the first flight of \"t/tcp\" leaves before it is known"
        );
        return refuse("data_in_syn", why);
    }
    Ok(())
}

/// Values common to all flows of a group in a run.
#[derive(Clone, Copy)]
struct Run<'a> {
    seed: u64,
    ecn: bool,
    chain: &'a Alike<Chain<AnyPhase>>,
}

/// Cuts drawn sizes to what one connection can send; sizes that a scenario states are below it.
fn within_limits(app: &mut AppConfig, mss: u32) {
    let transfers = 1 + app.pauses.len() as u64;
    let most = (limits::SEGMENTS / transfers).max(1) * u64::from(mss);
    for bytes in app.bytes.iter_mut().chain(&mut app.sizes) {
        *bytes = most.min(*bytes);
    }
}

/// Refuses a run that lasts longer than the simulator's clock. An event's time and the number of its feed share 64 bits, so
/// the clock is shorter the more connections and links on their paths a run has.
fn check_duration(built: &Built, duration: Option<Nanos>) -> Result<(), Refusal> {
    let hops = |flow: &FlowConfig| flow.forward.len() + flow.reverse.len() + 2;
    let feeds: usize = built.network.flows.iter().map(hops).sum::<usize>()
        + built.network.udp.iter().map(|source| source.path.len() + 1).sum::<usize>();
    let longest = Nanos(WinnerTree::horizon_of(feeds + built.network.links.len()));
    match duration {
        Some(duration) if duration > longest => {
            let why = format!(
                "with {} connections the simulator's clock ends after {} s; expected a shorter run, or fewer connections",
                built.network.flows.len(),
                longest.0 / 1_000_000_000
            );
            Err(Refusal { key: "duration".into(), why })
        }
        _ => Ok(()),
    }
}

/// The configuration of a connection. One whose stack is that of the `last` connection has it from there.
fn flow(
    scenario: &Scenario,
    group: &FlowGroup,
    connection: Connection,
    Run { seed, ecn, chain }: Run<'_>,
    last: &mut Option<Alike<Stack>>,
    wires: &mut Wires<'_>,
) -> FlowConfig {
    let Connection { name, of, ends, mut app } = connection;
    let extra =
        draw(group.extra_rtt, &mut Stream::named(seed, &format!("extra-rtt {of}"))).min(limits::DELAY);
    let paths = wires.attach(&name, &ends, extra);
    let mss = scenario.packet.payload(group.profile);
    within_limits(&mut app, mss);
    let header = group.profile.stack().header;
    let phase = draw(group.clock_phase(), &mut Stream::named(seed, &format!("clock {name}"))).0;
    let stack = stack_of(group, scenario.packet, phase, ecn, app.bytes);
    let stack = match last {
        Some(last) if **last == stack => last.clone(),
        _ => last.insert(stack.into()).clone(),
    };
    FlowConfig {
        name,
        forward: paths.forward,
        reverse: paths.reverse,
        stack,
        chain: chain.clone(),
        sharing: Sharing::default(),
        app,
        header,
        ack_size: scenario.packet.ack(group.profile) as u16,
        ack_policy: ack_policy(group, mss),
    }
}
