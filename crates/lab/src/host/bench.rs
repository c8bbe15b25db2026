//! One run: two namespaces, a device in each, sockets, threads, and the emulator between the devices.
//!
//! Nothing of a run has a name outside this process. Namespaces are open files, devices and sockets live inside them, and
//! sockets reset their connections when they are closed; the kernel therefore removes everything when the process ends,
//! however it ends.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use firstflight_hosts::network::Built;
use firstflight_results::Validity;
use firstflight_sim::outcome::Outcome;
use firstflight_sim::sender::app::AppConfig;

use super::Failure;
use super::plan::{Group, Plan};
use crate::emulator::realtime::emulate;
use crate::need::Need;
use crate::netns::Netns;
use crate::realtime::release_memory;
use crate::socket;
use crate::tcp_info::TcpInfo;
use crate::traffic::{Start, Tap, receive, send};
use crate::tun::Tun;
use crate::watch::{FIRST_PORT, Hystart, Keep, OverTime, Watch};

/// Time from the moment at which all threads are ready to the start of the run, nanoseconds.
const LEAD: u64 = 10_000_000;
/// Stack of a thread of the traffic, bytes.
const STACK: usize = 256 << 10;

/// Address of a group's end in the near namespace (0) or the far one (1).
fn address(group: usize, side: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 85, group as u8, side as u8 + 1)
}

/// One run.
pub(super) struct Ran {
    pub(super) outcome: Outcome,
    pub(super) validity: Validity,
    /// Packets that the devices dropped.
    pub(super) dropped: u64,
    /// Shortest round trip that the sender of each flow measured, microseconds; 0 of a flow that was not open.
    pub(super) min_rtt_us: Vec<u32>,
    pub(super) over_time: OverTime,
}

/// Makes one run.
pub(super) fn run(plan: &Plan<'_>, built: &Built, keep: Keep) -> Result<Ran, Failure> {
    let sides = [Netns::new()?, Netns::new()?];
    let tuns = [device(plan, &sides, 0)?, device(plan, &sides, 1)?];
    let hystart = [Arc::new(Hystart::of(&sides[0])?), Arc::new(Hystart::of(&sides[1])?)];
    let mut taps = vec![];
    for (number, (&group, flow)) in built.group.iter().zip(&built.network.flows).enumerate() {
        taps.push(Arc::new(tap(&plan.groups[group], &flow.app, number, group, &sides)?));
    }
    let of = taps.iter().zip(&built.group).map(|(tap, &group)| {
        let Group { control, sender, .. } = &plan.groups[group];
        (*control, Arc::clone(tap), Arc::clone(&hystart[*sender]))
    });
    let mut watch = Watch::new(built, keep, of.collect());
    let over = AtomicBool::new(false);
    let start = Start::default();
    let emulated = thread::scope(|scope| -> Result<_, Failure> {
        let is_over = || over.load(Ordering::Relaxed);
        let spawn = || -> std::io::Result<()> {
            for ((tap, flow), &group) in taps.iter().zip(&built.network.flows).zip(&built.group) {
                let (reads, start) = (plan.groups[group].reads, &start);
                let small = || thread::Builder::new().stack_size(STACK);
                small().spawn_scoped(scope, move || receive(&flow.app, reads, tap, start, is_over))?;
                small().spawn_scoped(scope, move || send(&flow.app, tap, start, is_over))?;
            }
            Ok(())
        };
        // If a thread cannot be made, the threads before it wait for a start that does not come.
        spawn().inspect_err(|_| start.call_off())?;
        let emulator = scope.spawn(|| {
            let emulated = emulate(&built.network, [&tuns[0], &tuns[1]], &start, &mut watch)?;
            let flows = watch.outcomes(emulated.end)?;
            Ok::<_, Failure>((emulated, flows))
        });
        start.when_ready(2 * taps.len() + 1, LEAD);
        let emulated = emulator.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        over.store(true, Ordering::Relaxed);
        // A thread that is about to wait finds that the run is over; a thread that waits is woken.
        taps.iter().for_each(|tap| tap.shut());
        emulated
    });
    release_memory();
    let (emulated, flows) = emulated?;
    let mut min_rtt_us = vec![0; taps.len()];
    for ((tap, flow), rtt) in taps.iter().zip(&built.network.flows).zip(&mut min_rtt_us) {
        if let Some(why) = tap.failure() {
            return Err(Failure(format!("{}: the kernel refused {why}", flow.name)));
        }
        if let Some(sender) = tap.sender() {
            let TcpInfo { mss: found, min_rtt, .. } = TcpInfo::of(sender)?;
            *rtt = min_rtt;
            if found != flow.stack.mss {
                let wanted = flow.stack.mss;
                return Err(Failure(format!("{}: segments of {found} bytes instead of {wanted}", flow.name)));
            }
        }
    }
    let dropped = Tun::dropped(&sides[0])? + Tun::dropped(&sides[1])?;
    let outcome = Outcome { end: emulated.end, flows, links: emulated.links };
    let over_time = watch.over_time(built.network.flows.iter().map(|flow| flow.name.as_str()));
    Ok(Ran { outcome, validity: emulated.validity, dropped, min_rtt_us, over_time })
}

/// Sets up a namespace and the device in it.
fn device(plan: &Plan<'_>, sides: &[Netns; 2], side: usize) -> Result<Tun, Need> {
    let netns = &sides[side];
    for (key, value) in plan.settings(side) {
        netns.set_ipv4(key, &value)?;
    }
    let addresses: Vec<_> = (0..plan.groups.len()).map(|group| address(group, side)).collect();
    let tun = Tun::with(netns, &addresses, plan.mtu)?;
    for (number, group) in plan.groups.iter().enumerate() {
        let attributes = group.route(side);
        if !attributes.is_empty() {
            let network = Ipv4Addr::new(10, 85, number as u8, 0);
            let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
            Tun::set_route(netns, network, address(number, side), &attributes)?;
        }
    }
    Ok(tun)
}

/// The sockets of flow `number`, which writes as `app` does, in their namespaces.
fn tap(
    group: &Group<'_>,
    app: &AppConfig,
    number: usize,
    index: usize,
    sides: &[Netns; 2],
) -> Result<Tap, Need> {
    let (from, to) = (group.sender, 1 - group.sender);
    let to_address = SocketAddrV4::new(address(index, to), FIRST_PORT + number as u16);
    let listener = sides[to].run(|| socket::listen(to_address))??;
    let sender = sides[from].run(|| {
        let sender = socket::unconnected()?;
        socket::set_congestion_control(&sender, &group.control.name)?;
        socket::set_reset_on_close(&sender)?;
        socket::set_large_send_buffer(&sender)?;
        socket::set_send_low_water(&sender)?;
        // The simulator's handshake has no third packet either, so that the random losses of both meet the same packets.
        socket::set_acknowledge_with_data(&sender)?;
        if group.paced {
            socket::set_paced(&sender)?;
        }
        Ok(sender)
    })??;
    sender.set_nodelay(true).map_err(|error| Need::of("TCP_NODELAY", error))?;
    Ok(Tap::new(sender, listener, to_address, app))
}
