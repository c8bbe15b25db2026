//! The events that schemes were given, for replay.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use firstflight_host::chain::Chain;
use firstflight_host::replay::{Difference, Record};
use firstflight_schemes::registry::AnyPhase;

/// Events of every connection of a [`Scheme`](crate::Scheme), in order, each with the registers after it. Clones share
/// their records.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Recorded>>>);

/// Events of one connection.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Time at which quinn opened the connection. Times of events count nanoseconds from one nanosecond before it.
    pub opened: Instant,
    /// Events in order.
    pub records: Vec<Record>,
}

/// One connection's part of a log.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    log: Log,
    connection: usize,
}

impl Log {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// The events of each connection, in the order in which connections were opened.
    pub fn connections(&self) -> Vec<Recorded> {
        self.lock().clone()
    }

    /// Reports the events of every connection to a chain of `phases`, and compares the registers after each event. Returns
    /// the number of events.
    ///
    /// # Errors
    /// [`Difference`] at the first event after which the registers or the end of start-up differ.
    ///
    /// # Panics
    /// If the phases do not make a chain.
    #[expect(clippy::result_large_err, reason = "there is one result a replay")]
    pub fn replay(&self, phases: &[AnyPhase]) -> Result<usize, Difference> {
        let chain = || Chain::new(phases.to_vec()).expect("the phases make a chain");
        self.connections().iter().map(|connection| chain().replay(&connection.records)).sum()
    }

    pub(crate) fn open(&self, opened: Instant) -> Writer {
        let mut connections = self.lock();
        connections.push(Recorded { opened, records: vec![] });
        Writer { log: self.clone(), connection: connections.len() - 1 }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Recorded>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    pub(crate) fn add(&self, record: Record) {
        self.log.lock()[self.connection].records.push(record);
    }
}
