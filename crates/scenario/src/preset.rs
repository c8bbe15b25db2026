//! Well-known paths, by name. Each is a scenario file without traffic that cites the sources of its values.

use crate::read::{Loaded, parse};
use firstflight_document::Error;

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

/// The preset of this name.
///
/// # Errors
/// [`Problem::UnknownName`](firstflight_document::Problem::UnknownName) if there is none.
pub fn preset(name: &str) -> Result<&'static Preset, Error> {
    let found = PRESETS.iter().find(|preset| preset.name == name);
    found.ok_or_else(|| Error::unknown_name("path preset", name, PRESETS.iter().map(|preset| preset.name)))
}

impl Preset {
    /// The preset as a scenario without traffic.
    pub fn load(&self) -> Loaded {
        parse(self.text, self.name).expect("every preset is read by a test")
    }
}
