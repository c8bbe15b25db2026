//! The gateway of the simulated server.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_gateway::{Connection, Decision, Gateway, Settings};
use firstflight_paths::Prefix;

use super::TICK;

/// The gateway and its live connections, in simulated time.
pub(super) struct Server {
    pub(super) gateway: Gateway,
    pub(super) decisions: Vec<Decision>,
    /// Connections by their end and number.
    ends: BTreeMap<(Nanos, usize), (Prefix, Connection)>,
    /// Live connections of each network that has some.
    pub(super) live: BTreeMap<Prefix, u32>,
    ticked: Nanos,
}

impl Server {
    pub(super) fn new(settings: Settings) -> Self {
        let (ends, live) = (BTreeMap::new(), BTreeMap::new());
        Self { gateway: Gateway::new(settings), decisions: vec![], ends, live, ticked: Nanos::ZERO }
    }

    /// Has the gateway see, in order of time, all ends and ticks up to this time.
    pub(super) fn advance(&mut self, to: Nanos) {
        loop {
            let tick = self.ticked + TICK;
            match self.ends.first_entry() {
                Some(first) if first.key().0 <= to.min(tick) => {
                    let (prefix, connection) = first.remove();
                    if let Some(live) = self.live.get_mut(&prefix) {
                        *live -= 1;
                        if *live == 0 {
                            self.live.remove(&prefix);
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
        *self.live.entry(prefix).or_default() += 1;
        self.ends.insert((connection.at, number), (prefix, connection));
    }

    pub(super) fn finish(&mut self) {
        if let Some(((last, _), _)) = self.ends.last_key_value() {
            self.advance(*last);
        }
    }
}
