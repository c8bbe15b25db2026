//! The events that schemes were given, for replay.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use firstflight_host::chain::Chain;
use firstflight_host::replay::{Difference, Record};
use firstflight_schemes::registry::AnyPhase;

/// Events of every connection of a [`Scheme`](crate::Scheme), in order, each with the registers after it. Clones share
/// their records.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Vec<Record>>>>);

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

    /// The records of each connection, in the order in which connections were opened.
    pub fn connections(&self) -> Vec<Vec<Record>> {
        self.records().clone()
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
        self.connections().iter().map(|records| chain().replay(records)).sum()
    }

    pub(crate) fn open(&self) -> Writer {
        let mut records = self.records();
        records.push(vec![]);
        Writer { log: self.clone(), connection: records.len() - 1 }
    }

    fn records(&self) -> MutexGuard<'_, Vec<Vec<Record>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    pub(crate) fn add(&self, record: Record) {
        self.log.records()[self.connection].push(record);
    }
}
