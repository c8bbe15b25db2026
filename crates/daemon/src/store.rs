//! The embedded store: the last snapshot of everything learned, replaced in one transaction.

use std::path::{Path, PathBuf};

use redb::{Database, TableDefinition};

/// The snapshot and the wall time at which it was taken.
const SNAPSHOT: TableDefinition<&str, &[u8]> = TableDefinition::new("snapshot");
const STATE: &str = "state";
const TAKEN: &str = "taken";
const ORDERS: &str = "orders";

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the store {}: {error}", path.display())]
pub(crate) struct StoreError {
    path: PathBuf,
    error: Box<redb::Error>,
}

/// An open store.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    database: Database,
}

/// A snapshot of everything learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Wall time at which it was taken, nanoseconds since 1970.
    pub(crate) taken: u64,
    /// The state, as `Gateway::save` made it.
    pub(crate) state: Vec<u8>,
    /// The operator's orders, `firstflight_gateway::Book::text`.
    pub(crate) orders: String,
}

impl Store {
    /// Opens the store or creates it.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written, is no store, or is open in another process.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let database = Database::create(path)
            .map_err(|error| StoreError { path: path.to_owned(), error: Box::new(error.into()) })?;
        Ok(Self { path: path.to_owned(), database })
    }

    /// The last snapshot; [`None`] in a new store.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read.
    pub(crate) fn load(&self) -> Result<Option<Snapshot>, StoreError> {
        self.read().map_err(|error| self.failed(error))
    }

    /// Replaces the snapshot. After a crash, the store has the old one or the new one.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be written; the old snapshot stays.
    pub(crate) fn save(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.write(snapshot).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: redb::Error) -> StoreError {
        StoreError { path: self.path.clone(), error: Box::new(error) }
    }

    #[expect(clippy::result_large_err, reason = "its one caller boxes the error")]
    fn read(&self) -> Result<Option<Snapshot>, redb::Error> {
        let transaction = self.database.begin_read()?;
        let table = match transaction.open_table(SNAPSHOT) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let found = (table.get(STATE)?, table.get(TAKEN)?, table.get(ORDERS)?);
        let (Some(state), Some(taken), Some(orders)) = found else { return Ok(None) };
        let Ok(taken) = taken.value().try_into().map(u64::from_le_bytes) else { return Ok(None) };
        Ok(Some(Snapshot {
            taken,
            state: state.value().to_vec(),
            orders: String::from_utf8_lossy(orders.value()).into_owned(),
        }))
    }

    #[expect(clippy::result_large_err, reason = "its one caller boxes the error")]
    fn write(&self, snapshot: &Snapshot) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(SNAPSHOT)?;
            table.insert(STATE, snapshot.state.as_slice())?;
            table.insert(ORDERS, snapshot.orders.as_bytes())?;
            table.insert(TAKEN, snapshot.taken.to_le_bytes().as_slice())?;
        }
        transaction.commit()?;
        Ok(())
    }
}
