//! Largest valid values of the format. They are far above those of experiments, and keep every product of two of them
//! within the integers that hold it.

use firstflight_contract::Nanos;
pub use firstflight_document::limits::*;
use firstflight_random::Quantity;

// A distribution gives no value that its key could not have.
const _: () = assert!(<u64 as Quantity>::MOST == BYTES && <Nanos as Quantity>::MOST.0 == TIME.0);

/// A trace of a link, bytes.
pub const TRACE: u64 = 64 << 20;
/// A run without a duration; a connection over a dead path would retry for ever.
pub const RUN: Nanos = Nanos::from_secs(4 * 3_600);
/// A window, full packets: the simulator's SACK blocks count no further.
pub const WINDOW: u64 = 1_000_000;
/// Packets that one connection sends: the simulator numbers them in 32 bits.
pub const SEGMENTS: u64 = u32::MAX as u64 - 1;
/// A number without unit that is drawn, such as the objects of a page.
pub const COUNT: f64 = <f64 as Quantity>::MOST;
/// A buffer, packets: the simulator counts them in 32 bits.
pub const QUEUE: u64 = u32::MAX as u64;
/// A packet on the wire, bytes: the largest IPv4 packet.
pub const PACKET: u64 = 65_535;
/// Numbers of packets that a link drops.
pub const DROPS: usize = 1_000;
/// TCP flows of a scenario, all groups together.
pub const FLOWS: u64 = 100_000;
/// Transfers of one connection.
pub const ROUNDS: u64 = 100_000;
/// Most ACKs that may wait for the processor of a sending host.
pub const BACKLOG: u64 = 1_000_000;
/// Connections over which one flow is split.
pub const PARALLEL: u64 = 1_000;
/// Tables of each source: `[[flow]]`, `[[udp]]` and so on.
pub const GROUPS: usize = 1_000;
/// Nodes of a graph.
pub const NODES: usize = 2_000;
/// Links of a graph, each direction counted.
pub const LINKS: usize = 20_000;
/// Hops of a parking lot.
pub const HOPS: u64 = 500;
/// Clients, or pairs of hosts of cross traffic, in a generated graph.
pub const PAIRS: u64 = 500;
/// Queues of `fq-codel`.
pub const FLOW_QUEUES: u64 = firstflight_net::queue::fq_codel::MOST_QUEUES as u64;
/// The cost of a link.
pub const COST: u64 = 1_000_000_000_000_000;
/// The name of a link, characters: the names of two nodes, and a number.
pub const LINK_NAME: usize = 160;
/// Phases of a scheme.
pub const PHASES: usize = 8;
