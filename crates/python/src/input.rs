//! Inputs of comparisons and inferences, as Python gives them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use firstflight::capture::Capture;
use firstflight::results::InputFile;
use firstflight::scheme::Schemes;
use firstflight::{Error, Input, PathValues, Progress, files};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::error::raised;
use crate::quantity::of_type;
use crate::scenario::Scenario;

/// An input that is not read yet.
pub(crate) enum Given {
    /// Values of a path alone.
    Values,
    /// A scenario or a preset.
    Read(Box<Input>),
    /// Captures, a scenario file, or the name of a preset.
    Named(Vec<OsString>),
}

impl Given {
    /// Takes a scenario, a name or a path, a list of paths, or `None`.
    pub(crate) fn take(input: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(input) = input else { return Ok(Self::Values) };
        if let Ok(scenario) = input.cast::<Scenario>() {
            return Ok(Self::Read(Box::new(scenario.get().input())));
        }
        if input.is_instance_of::<PyList>() || input.is_instance_of::<PyTuple>() {
            let names = input.try_iter()?.map(|name| named(&name?)).collect::<PyResult<Vec<_>>>()?;
            if names.is_empty() {
                let empty = Error::invalid("an empty list").at_key("input");
                return Err(raised(empty.expecting("at least one capture")));
            }
            return Ok(Self::Named(names));
        }
        Ok(Self::Named(vec![named(input)?]))
    }

    /// Reads the input. `values` replace those of a capture or a preset.
    pub(crate) fn read(
        self,
        values: &PathValues,
        schemes: &Schemes,
        keys: Option<&Path>,
        progress: &dyn Progress,
    ) -> Result<Input, Error> {
        if let Some(keys) = keys.filter(|_| !matches!(self, Self::Named(_))) {
            return Err(files::unused_keys(keys));
        }
        match self {
            Self::Values if values.given().next().is_none() => Err(Error::invalid("no path is given").expecting(
                "a capture (pcap, pcapng), a scenario, the name of a path preset (firstflight.presets() lists them), or values \
                 such as rate=\"40 Mbit/s\", rtt=\"100 ms\", buffer=\"1 BDP\"",
            )),
            Self::Values => Ok(Input::Given(values.path().map_err(unplaced)?)),
            Self::Read(input) => values.change(*input).map_err(unplaced),
            Self::Named(names) => {
                let known = || values.known().map_err(unplaced);
                values.change(files::input(&names, schemes, known, keys, progress)?).map_err(unplaced)
            }
        }
    }

    /// Reads captures.
    pub(crate) fn read_capture(
        self,
        keys: Option<&Path>,
        progress: &dyn Progress,
    ) -> Result<(InputFile, Capture), Error> {
        let Self::Named(names) = self else {
            let wrong = Error::invalid("the input is no capture");
            return Err(wrong.expecting("the path of a capture (pcap, pcapng), or a list of paths"));
        };
        let paths: Vec<&Path> = names.iter().map(Path::new).collect();
        files::read(&paths, keys, progress)
    }
}

/// An error about a value, which is no key of a file: `rate = "40": …`.
fn unplaced(error: Error) -> Error {
    let key = error.place.key.rsplit('.').next().unwrap_or_default().to_owned();
    error.at_key(key).in_file("", None)
}

fn named(name: &Bound<'_, PyAny>) -> PyResult<OsString> {
    name.extract::<PathBuf>().map(PathBuf::into_os_string).map_err(|_| {
        let expected = "a Scenario, the name of a preset, a path, or a list of paths of captures";
        raised(of_type(name, expected).at_key("input"))
    })
}
