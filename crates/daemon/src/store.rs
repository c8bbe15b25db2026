//! The embedded store: the last snapshot of everything learned, replaced in one transaction.

use std::path::{Path, PathBuf};

use firstflight_gateway::Override;
use firstflight_paths::Prefix;
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
    /// The operator's orders, [`Orders::text`].
    pub(crate) orders: String,
}

/// The operator's orders, which outlive the process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orders {
    /// Whether no plan is to be used.
    pub(crate) stopped: bool,
    /// By prefix.
    pub(crate) orders: Vec<(Prefix, Override)>,
}

impl Orders {
    /// As text: `stop`, or a prefix and `off`, `freeze` or a window, one on each line.
    pub(crate) fn text(&self) -> String {
        let stop = self.stopped.then(|| "stop\n".to_owned());
        let lines = self.orders.iter().map(|(prefix, order)| match order {
            Override::Window(window) => format!("{prefix} {window}\n"),
            Override::Freeze => format!("{prefix} freeze\n"),
            Override::Off => format!("{prefix} off\n"),
        });
        stop.into_iter().chain(lines).collect()
    }

    /// Reads [`Orders::text`]; [`None`] for any other text.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for line in text.lines() {
            if line == "stop" {
                found.stopped = true;
                continue;
            }
            let (prefix, order) = line.split_once(' ')?;
            let order = match order {
                "off" => Override::Off,
                "freeze" => Override::Freeze,
                window => Override::Window(window.parse().ok()?),
            };
            found.orders.push((prefix.parse().ok()?, order));
        }
        Some(found)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_were_written_and_other_texts_are_refused() {
        let order = |prefix: &str, order| (prefix.parse().expect("a prefix"), order);
        let orders = Orders {
            stopped: true,
            orders: vec![
                order("192.0.2.0/24", Override::Window(20)),
                order("2001:db8::/32", Override::Off),
                order("0.0.0.0/0", Override::Freeze),
            ],
        };
        assert_eq!(orders.text(), "stop\n192.0.2.0/24 20\n2001:db8::/32 off\n0.0.0.0/0 freeze\n");
        assert_eq!(Orders::read(&orders.text()), Some(orders));
        assert_eq!(Orders::read(""), Some(Orders::default()));
        for other in ["192.0.2.0/24", "192.0.2.1/24 off", "192.0.2.0/24 on"] {
            assert_eq!(Orders::read(other), None, "{other}");
        }
    }
}
