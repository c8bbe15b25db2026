//! The captured transfers by another sender, in the simulator.

use firstflight_capture::{PathEstimate, Sending, Source};
use firstflight_contract::Nanos;
use firstflight_document::quantity::Amount;
use firstflight_hosts::host::{Host, Observe};
use firstflight_hosts::trace::capture::Wanted;
use firstflight_scenario::build::{self, Flow, Packet, Rounds};
use firstflight_scenario::{Limit, Scenario};

use crate::candidates::{ETHERNET, Sender};
use crate::draws::Path;

/// Transfers of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Transfers {
    /// Bytes of each.
    pub(crate) bytes: u64,
    /// Bytes whose acknowledgement ends the run.
    pub(crate) acked: u64,
    /// Source of the captured packets.
    pub(crate) source: Source,
    /// Silence between the first and the second one.
    pub(crate) silence: Option<Nanos>,
}

/// Packets of `sender` on `path`; `None` if the host refuses it.
pub(crate) fn rerun(
    host: &dyn Host,
    sender: &Sender,
    path: &Path,
    transfers: &Transfers,
    inferred: &PathEstimate,
    seed: u64,
) -> Option<Sending> {
    let network = build::Path::new(path.rate, path.rtt, Limit::Packets(path.buffer))
        .loss(path.loss)
        .access_rate("100 Gbit/s");
    let mut flow =
        Flow::new().name("transfer").profile(sender.profile).size(Amount::Bytes(transfers.bytes.max(1)));
    if let Some(silence) = transfers.silence {
        flow = flow.rounds(Rounds::new(2, silence));
    }
    let stack = sender.profile.stack();
    // Stacks of QUIC choose the sizes of their datagrams below the MTU.
    let size = match inferred.packet.known() {
        Some(packet) if !stack.is_quic() => (packet.value as u32).clamp(100, 65_000),
        _ => ETHERNET,
    };
    let builder =
        Scenario::builder().path(network).packet(Packet::new().size(Amount::Bytes(size.into()))).flow(flow);
    let mut scenario = builder.build().ok()?;
    let payload = scenario.packet.payload(sender.profile);
    sender.candidate.apply(&mut scenario.flows[0], payload, 1);
    if let Some(receiver) = inferred.receiver.known() {
        scenario.flows[0].receive_as(receiver.label());
    }
    scenario.duration = Some(Nanos::from_secs(120));
    let wanted = Wanted { acked: transfers.acked, source: transfers.source };
    let observe = Observe { capture: Some(wanted), memory: u64::MAX, ..Observe::default() };
    let run = host.run(&scenario, seed, &observe).ok()?;
    Some(run.capture?.into_simulated().sending())
}
