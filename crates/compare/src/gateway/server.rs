//! The gateway of the simulated server.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Decision, Gateway, Settings};
use firstflight_paths::Prefix;

use super::TICK;

/// The gateway and the connections under way, in simulated time.
pub(super) struct Server {
    pub(super) gateway: Gateway,
    pub(super) decisions: Vec<Decision>,
    /// Connections by their end and number.
    ends: BTreeMap<(Nanos, usize), (Prefix, Connection)>,
    /// Segments in flight to each network that has some: of each connection its first window, or its data if they are fewer, until it
    /// ends.
    in_flight: BTreeMap<Prefix, u32>,
    ticked: Nanos,
}

impl Server {
    pub(super) fn new(settings: Settings) -> Self {
        let (ends, in_flight) = (BTreeMap::new(), BTreeMap::new());
        Self { gateway: Gateway::new(settings), decisions: vec![], ends, in_flight, ticked: Nanos::ZERO }
    }

    /// Has the gateway see, in order of time, all ends and ticks up to this time.
    pub(super) fn advance(&mut self, to: Nanos) {
        loop {
            let tick = self.ticked + TICK;
            match self.ends.first_entry() {
                Some(first) if first.key().0 <= to.min(tick) => {
                    let (prefix, connection) = first.remove();
                    if let Some(in_flight) = self.in_flight.get_mut(&prefix) {
                        *in_flight -= flight(&connection);
                        if *in_flight == 0 {
                            self.in_flight.remove(&prefix);
                        }
                    }
                    self.gateway.report(&connection, &mut self.decisions);
                }
                _ if tick <= to => {
                    self.ticked = tick;
                    self.gateway.tick(tick, &mut self.decisions);
                }
                _ => return,
            }
        }
    }

    pub(super) fn begin(&mut self, prefix: Prefix, number: usize, connection: Connection) {
        *self.in_flight.entry(prefix).or_default() += flight(&connection);
        self.ends.insert((connection.at, number), (prefix, connection));
    }

    /// Segments in flight to a network.
    pub(super) fn in_flight(&self, prefix: &Prefix) -> u32 {
        self.in_flight.get(prefix).copied().unwrap_or(0)
    }

    pub(super) fn finish(&mut self) {
        if let Some(((last, _), _)) = self.ends.last_key_value() {
            self.advance(*last);
        }
    }
}

fn flight(connection: &Connection) -> u32 {
    let segments = connection.bytes.div_ceil(connection.mss.max(1).into());
    segments.min(connection.arm.window().into()) as u32
}
