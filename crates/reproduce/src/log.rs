//! The study of a server's log that is made up: what it is made of, and what is measured of it.

use firstflight_accesslog::{Analysis, Grouping, Synthetic, analyse};
use firstflight_contract::Nanos;
use firstflight_scenario::quantity::parse_time;
use serde::Deserialize;

/// A log, and how it is looked at.
#[derive(Clone, Debug)]
pub(crate) struct SyntheticLog {
    made_of: Synthetic,
    windows: Vec<Nanos>,
    prefix: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    synthetic: bool,
    seed: u64,
    duration: String,
    networks: u32,
    zipf: f64,
    hosts: u32,
    session_gap: String,
    requests: f64,
    think: Think,
    lengths: Vec<(u8, f64)>,
    windows: Vec<String>,
    prefix: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Think {
    exponential: String,
}

impl SyntheticLog {
    /// From a table.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(table: toml::Table) -> Result<Self, String> {
        let written: Written =
            table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        if !written.synthetic {
            return Err("synthetic = false: logs of real servers are not here".into());
        }
        let time = |text: &String| parse_time(text).map_err(|error| format!("\"{text}\": {error}"));
        Ok(Self {
            made_of: Synthetic {
                seed: written.seed,
                duration: time(&written.duration)?,
                networks: written.networks,
                zipf: written.zipf,
                lengths: written.lengths,
                hosts: written.hosts,
                session_gap: time(&written.session_gap)?,
                requests: written.requests,
                think: time(&written.think.exponential)?,
            },
            windows: written.windows.iter().map(time).collect::<Result<_, _>>()?,
            prefix: written.prefix,
        })
    }

    pub(crate) fn seed(&self) -> u64 {
        self.made_of.seed
    }

    /// The log under a seed, looked at.
    ///
    /// # Errors
    /// If it cannot be made, or is too short.
    pub(crate) fn study(&self, seed: u64) -> Result<Analysis, String> {
        let log = Synthetic { seed, ..self.made_of.clone() }.log().map_err(|error| error.to_string())?;
        analyse(log, &self.windows, &Grouping::bits(self.prefix, 48)).map_err(|error| error.to_string())
    }
}
