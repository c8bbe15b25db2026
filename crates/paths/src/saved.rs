//! Contents of a memory that outlive the process.

use serde::{Deserialize, Serialize};

use crate::memory::Entry;

/// Contents of a memory, without its settings and limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Saved {
    pub(crate) entries: Vec<Entry>,
    pub(crate) vacant: u32,
    pub(crate) first_idle: u32,
    pub(crate) last_idle: u32,
    pub(crate) connections: u32,
}

/// Reason why saved contents cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// They hold more than the limits of the memory.
    Limits,
    /// They were saved with other settings, or are damaged.
    Settings,
    /// Their parts do not fit together.
    Damaged,
}

impl core::fmt::Display for Unfit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Limits => "the saved memory of paths is above the limits of this one",
            Self::Settings => "the saved memory of paths has other settings or is damaged",
            Self::Damaged => "the saved memory of paths is damaged",
        })
    }
}

impl core::error::Error for Unfit {}

/// Times as nanoseconds.
pub(crate) mod nanos {
    use firstflight_contract::Nanos;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        time.0.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        u64::deserialize(from).map(Nanos)
    }
}
