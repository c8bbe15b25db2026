//! A start-up scheme outside Firstflight's registry, compared with built-in ones.

mod scheme;

use firstflight::results::CompareReport;
use firstflight::scheme::Schemes;
use firstflight::{Error, Input, compare};

pub use scheme::DelayBounded;

/// Compares the scheme with slow start and HyStart++ on the preset `path`, for one transfer size.
///
/// # Errors
/// [`Error`] if there is no such preset, or `size` is not a quantity of bytes.
pub fn comparison(path: &str, size: &str) -> Result<CompareReport, Error> {
    let schemes = Schemes::built_in().with(DelayBounded::default()).expect("a new label");
    compare(Input::preset(path)?)
        .catalogue(schemes)
        .schemes(["slow-start+cubic", "hystart+++cubic", "delay-bounded+cubic"])?
        .sizes([size])?
        .execute()
}
