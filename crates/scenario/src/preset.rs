//! Paths that people know, by name. Each is a scenario file without traffic, and says where its values are from.

use crate::error::nearest;
use crate::read::{Loaded, parse};

/// A named path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its scenario file, with the sources in comments.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        /// Every preset, in listing order.
        pub const PRESETS: &[Preset] =
            &[$(Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) }),+];
    };
}

presets!("fibre", "cable", "dsl", "lte", "geo-satellite", "leo-satellite", "transatlantic", "data-centre");

/// There is no such preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPreset {
    /// As asked for.
    pub name: String,
    /// What may have been meant.
    pub nearest: Option<&'static str>,
}

impl core::fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        write!(f, "there is no path preset \"{}\"; expected one of: {}", self.name, names.join(", "))?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for UnknownPreset {}

/// The preset of this name.
///
/// # Errors
/// [`UnknownPreset`] if there is none.
pub fn preset(name: &str) -> Result<&'static Preset, UnknownPreset> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| UnknownPreset {
        name: name.into(),
        nearest: nearest(name, PRESETS.iter().map(|preset| preset.name)),
    })
}

impl Preset {
    /// The preset as a scenario without traffic.
    pub fn load(&self) -> Loaded {
        parse(self.text, self.name).expect("every preset is read by a test")
    }
}
