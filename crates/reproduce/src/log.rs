//! Experiments on a synthetic access log: its settings and its analysis.

use firstflight_accesslog::{Analysis, Grouping, Synthetic, analyse};
use firstflight_contract::Nanos;
use firstflight_document::quantity::parse_time;
use serde::Deserialize;

/// Settings of a log, and of its analysis.
#[derive(Clone, Debug)]
pub(crate) struct SyntheticLog {
    settings: Synthetic,
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
    /// Reads the settings from a table.
    ///
    /// # Errors
    /// The first invalid setting.
    pub(crate) fn read(table: toml::Table) -> Result<Self, String> {
        let written: Written =
            table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        if !written.synthetic {
            return Err("synthetic = false: real logs are not supported; expected true".into());
        }
        let time = |text: &String| parse_time(text).map_err(|error| format!("\"{text}\": {error}"));
        Ok(Self {
            settings: Synthetic {
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
        self.settings.seed
    }

    /// Generates the log of a seed and analyses it.
    ///
    /// # Errors
    /// If a setting is out of range, or the log is too short.
    pub(crate) fn study(&self, seed: u64) -> Result<Analysis, String> {
        let log = Synthetic { seed, ..self.settings.clone() }.log().map_err(|error| error.to_string())?;
        analyse(log, &self.windows, &Grouping::bits(self.prefix, 48)).map_err(|error| error.to_string())
    }
}
