//! Registers of single flows over time: recorded in a pass of their own, which is slower.

use std::collections::BTreeMap;

use firstflight_study::host::FlowOverTime;

/// Flows by name.
pub(crate) type Registers = BTreeMap<String, FlowOverTime>;
