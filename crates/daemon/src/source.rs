//! The configuration of a running gateway: its orders, and how it is read again.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use firstflight_gateway::{Override, Rules, Settings};
use firstflight_paths::Prefix;

/// A configuration that was read again.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// Rules of the gateway.
    pub settings: Settings,
    /// Orders, each with its line.
    pub orders: Vec<(Prefix, Override, u32)>,
    /// Rules of the canary, with their line.
    pub canary: Option<(Rules, u32)>,
    /// Keys that have changed and need a restart.
    pub needs_restart: Vec<String>,
}

/// Reads the configuration again; the error is one line.
pub type Reread = Arc<dyn Fn() -> Result<Fresh, String> + Send + Sync>;

/// Source of the settings of a gateway. By default there is no file, and nothing is read again.
#[derive(Clone, Default)]
pub struct Source {
    /// The configuration file.
    pub file: Option<PathBuf>,
    /// Its orders, each with its line; those of the settings without a line, if it is empty.
    pub orders: Vec<(Prefix, Override, u32)>,
    /// Rules of its canary, with their line.
    pub canary: Option<(Rules, u32)>,
    /// Reads it again.
    pub reread: Option<Reread>,
    /// Answers whether it is to be read again since the last call: after SIGHUP.
    pub asked: Option<fn() -> bool>,
}

impl Source {
    /// Its orders, or those of settings without a source.
    pub(crate) fn orders_or(&self, settings: &Settings) -> Vec<(Prefix, Override, u32)> {
        match self.orders.is_empty() {
            true => settings.overrides.iter().map(|(prefix, order)| (*prefix, *order, 0)).collect(),
            false => self.orders.clone(),
        }
    }

    /// Place of a line, as errors name it.
    pub(crate) fn place(&self, line: u32) -> String {
        let file =
            self.file.as_ref().map_or("the configuration".to_owned(), |file| file.display().to_string());
        if line == 0 { file } else { format!("{file}:{line}") }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, orders, canary, reread, asked } = self;
        let mut shown = f.debug_struct("Source");
        shown.field("file", file).field("orders", orders).field("reread", &reread.is_some());
        shown.field("canary", canary).field("asked", &asked.is_some()).finish()
    }
}
