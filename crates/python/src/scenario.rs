//! Scenarios.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use firstflight::preset::{PRESETS, Preset, preset};
use firstflight::sweep::{Axis, Document, Point, Sweep};
use firstflight::{Error, Input, Loaded, files};
use firstflight_document::file;
use firstflight_scenario::limits;
use firstflight_scenario::parse_in;
use firstflight_scenario::scheme::BUILT_IN;
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};
use toml::{Table, Value};

use crate::error::raised;
use crate::quantity::{complete, completed, number, of_type};

/// An experiment: a path or a graph of links, flows, cross traffic.
///
/// Scenario(source, **keys) takes a text in TOML, the path of a scenario file, the name of a path preset or another scenario, and
/// keys of the format that replace those of the source: Scenario("cable", path={"rtt": "80 ms"}, flow=[{"size": "300 KB"}]).
/// Tables are merged, key by key; lists and values are replaced. Without a source, the keys are the scenario. Quantities are texts
/// with their unit, as in a file: "40 Mbit/s", "100 ms", "300 KB". Numbers are bit/s, seconds and bytes: path={"rate": 40e6,
/// "rtt": 0.1}. Finer values are rounded to whole bit/s, nanoseconds and bytes. Shares may be percentages: "1%".
///
/// Raises firstflight.Error with file, line, key and value if the scenario is invalid, FileNotFoundError if there is no such file.
#[pyclass(frozen, module = "firstflight")]
pub struct Scenario {
    /// The text of the file, as written or made from keys.
    text: String,
    /// Name of the file in errors.
    file: String,
    /// Absolute path of the file's folder: names of other files are relative to it.
    folder: Option<PathBuf>,
    loaded: Loaded,
    preset: Option<&'static Preset>,
}

#[pymethods]
impl Scenario {
    #[new]
    #[pyo3(signature = (source: "str | os.PathLike[str] | Scenario | None" = None, /, **keys: "object"))]
    fn new(source: Option<&Bound<'_, PyAny>>, keys: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let base = match source {
            None => None,
            Some(source) => Some(match source.cast::<Scenario>() {
                Ok(scenario) => scenario.get().copy(),
                Err(_) => Self::of_source(source)?,
            }),
        };
        match (base, keys.filter(|keys| !keys.is_empty())) {
            (Some(base), None) => Ok(base),
            (None, None) => Err(raised(
                "Scenario(): no source and no keys; expected a text, a file, the name of a preset, or keys such as path={…}",
            )),
            (base, Some(keys)) => {
                let mut table = base.as_ref().map_or(Ok(Table::new()), Scenario::table)?;
                let mut own = table_of(keys)?;
                complete(&mut own).map_err(raised)?;
                merge(&mut table, own);
                let (file, folder) = base.map_or(("scenario".into(), None), |base| (base.file, base.folder));
                Self::read(table.to_string(), file, folder, None)
            }
        }
    }

    /// The scenario of a text in TOML; `name` is its name in errors. The text may not name other files.
    #[staticmethod]
    #[pyo3(signature = (text, name = "scenario"))]
    fn from_text(text: String, name: &str) -> PyResult<Self> {
        Self::read(text, name.into(), None, None)
    }

    /// The scenario of a file; the names of other files in it are relative to its folder.
    #[staticmethod]
    #[pyo3(signature = (path: "str | os.PathLike[str]"))]
    fn from_file(path: PathBuf) -> PyResult<Self> {
        let name = path.display().to_string();
        if !path.exists() {
            return Err(PyFileNotFoundError::new_err(format!("{name}: there is no such file")));
        }
        let text = file::read_text(&path, limits::FILE);
        let text = text
            .map_err(|why| raised(Error::invalid(format!("cannot be read: {why}")).in_file(&name, None)))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::read(text, name, Some(folder), None)
    }

    /// The path preset of this name, a scenario without traffic. presets() lists the names.
    #[staticmethod]
    fn preset(name: &str) -> PyResult<Self> {
        let preset = preset(name).map_err(raised)?;
        Self::read(preset.text.into(), preset.name.into(), None, Some(preset))
    }

    /// The same scenario with other values of some keys, each named with its tables: {"path.rate": "20 Mbit/s",
    /// "flow.bulk.size": "1 MB"}. A group without a name is called by its kind and number, flow0. A value None removes the key.
    #[pyo3(signature = (keys: "collections.abc.Mapping[str, object]"))]
    fn replace(&self, keys: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut point = Point { name: String::new(), x: None, set: BTreeMap::new(), remove: vec![] };
        let items = keys.call_method0("items").map_err(|_| {
            raised(of_type(keys, "a mapping such as {\"path.rate\": \"20 Mbit/s\"}").at_key("keys"))
        })?;
        for item in items.try_iter()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
            let named: PyResult<String> = key.extract();
            let key = named.map_err(|_| raised(of_type(&key, "a text as the name of a key")))?;
            match value.is_none() {
                true => point.remove.push(key),
                false => {
                    let value = completed(&key, value_of(&value, &key)?).map_err(raised)?;
                    point.set.insert(key, value);
                }
            }
        }
        let axis = Axis { name: "keys".into(), title: String::new(), points: vec![point] };
        let sweep = Sweep::new(&self.text, &self.file).map_err(raised)?.crossed(axis);
        let document = sweep.documents().map_err(raised)?.remove(0);
        Self::read(document.table.to_string(), self.file.clone(), self.folder.clone(), None)
    }

    /// Title; empty if the scenario has none.
    #[getter]
    fn title(&self) -> &str {
        &self.loaded.scenario.title
    }

    /// The text of the scenario, as written or made from keys.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of to_toml() in hexadecimal: equal for scenarios that describe the same experiment.
    #[getter]
    fn hash(&self) -> String {
        self.loaded.scenario.hash()
    }

    /// The scenario as a file in TOML that leaves nothing to a default.
    fn to_toml(&self) -> String {
        self.loaded.scenario.to_toml()
    }

    fn __repr__(&self) -> String {
        let title = if self.title().is_empty() { &self.file } else { self.title() };
        format!("<Scenario {title:?}: {} flow groups>", self.loaded.scenario.flows.len())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().hash() == self.hash())
    }

    fn __hash__(&self) -> u64 {
        let hash = self.hash();
        u64::from_str_radix(&hash[..16], 16).expect("a hash is hexadecimal")
    }

    /// The scenario that another process sent. Raises firstflight.Error if a trace is not in its folder here.
    #[staticmethod]
    #[pyo3(signature = (text, name, folder: "str | os.PathLike[str] | None"))]
    fn restored(text: String, name: String, folder: Option<PathBuf>) -> PyResult<Self> {
        Self::read(text, name, folder, None)
    }

    /// Scenarios go to other processes as their text, with the folder of the file: traces are read again, from there.
    #[pyo3(signature = () -> "tuple[object, tuple[object, ...]]")]
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let class = py.get_type::<Self>();
        match &self.preset {
            Some(preset) => Ok((class.getattr("preset")?, PyTuple::new(py, [preset.name])?)),
            None => {
                let state = (&self.text, &self.file, &self.folder).into_pyobject(py)?;
                Ok((class.getattr("restored")?, state))
            }
        }
    }
}

impl Scenario {
    fn read(
        text: String,
        file: String,
        folder: Option<PathBuf>,
        preset: Option<&'static Preset>,
    ) -> PyResult<Self> {
        let loaded = parse_in(folder.as_deref(), &text, &file, BUILT_IN).map_err(raised)?;
        // The folder stays the same when the process changes its own.
        let folder = folder.map(|folder| std::path::absolute(Path::new(".").join(folder))).transpose()?;
        Ok(Self { text, file, folder, loaded, preset })
    }

    /// A text, a file or the name of a preset.
    fn of_source(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = source.cast::<PyString>() {
            let text = text.to_cow()?;
            if text.contains(['\n', '=']) {
                return Self::from_text(text.into_owned(), "scenario");
            }
            let path = Path::new(&*text);
            return match preset(&text) {
                Ok(_) if !path.is_file() => Self::preset(&text),
                Err(_) if !path.exists() => Err(raised(files::neither(&text))),
                _ => Self::from_file(path.into()),
            };
        }
        let path = source.extract::<PathBuf>().map_err(|_| {
            let expected = "a text in TOML, a path, the name of a preset, or a Scenario";
            raised(of_type(source, expected).at_key("scenario"))
        })?;
        Self::from_file(path)
    }

    fn copy(&self) -> Self {
        let Self { text, file, folder, loaded, preset } = self;
        Self {
            text: text.clone(),
            file: file.clone(),
            folder: folder.clone(),
            loaded: loaded.clone(),
            preset: *preset,
        }
    }

    fn table(&self) -> PyResult<Table> {
        self.text.parse().map_err(|error: toml::de::Error| raised(error.message()))
    }

    /// The scenario as it was read.
    pub(crate) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The input of a comparison: a preset stays one, so that the results have its name.
    pub(crate) fn input(&self) -> Input {
        match self.preset {
            Some(preset) => Input::Preset(preset),
            None => self.loaded.clone().into(),
        }
    }

    /// The sweep of this scenario along axes.
    pub(crate) fn sweep(&self) -> Result<Sweep, Error> {
        Sweep::new(&self.text, &self.file)
    }

    /// The scenario of one combination of a sweep.
    pub(crate) fn at(&self, sweep: &Sweep, document: &Document) -> Result<Loaded, Error> {
        parse_in(self.folder.as_deref(), &document.table.to_string(), &self.file, BUILT_IN)
            .map_err(|error| sweep.at(&document.point, error.in_file("", None)))
    }
}

/// Puts the keys of `other` into `table`; tables of both are merged.
fn merge(table: &mut Table, other: Table) {
    for (key, value) in other {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(own)), Value::Table(other)) => merge(own, other),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

fn table_of(keys: &Bound<'_, PyDict>) -> PyResult<Table> {
    let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let named: PyResult<String> = key.extract();
        let key = named.map_err(|_| raised(of_type(&key, "a text as the name of a key")))?;
        let value = value_of(&value, &key)?;
        Ok((key, value))
    };
    keys.iter().map(entry).collect()
}

/// A value of a scenario from Python.
pub(crate) fn value_of(value: &Bound<'_, PyAny>, key: &str) -> PyResult<Value> {
    // A bool is an int in Python.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_string()));
    }
    if value.is_instance_of::<PyInt>() {
        let large = |_| Error::invalid("a number above 9223372036854775807 or below its negative");
        return Ok(Value::Integer(value.extract().map_err(|why: PyErr| raised(large(why).at_key(key)))?));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        return Ok(Value::Table(table_of(table)?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| value_of(&item?, key));
        return Ok(Value::Array(items.collect::<PyResult<_>>()?));
    }
    // Also scalars of numpy: whole numbers have an index, others are floats.
    if let (Ok(index), Some(_)) = (value.call_method0("__index__"), number(value)) {
        return value_of(&index, key);
    }
    if let Some(number) = number(value) {
        return Ok(Value::Float(number));
    }
    let expected = "a text such as \"40 Mbit/s\", a number, a bool, a list or a dict";
    Err(raised(of_type(value, expected).at_key(key)))
}

/// A value of a key with its tables, `path.rate`, in TOML. Raises firstflight.Error with the key if it is no value of a scenario.
#[pyfunction]
#[pyo3(signature = (key, value: "object"))]
pub(crate) fn in_toml(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(completed(key, value_of(value, key)?).map_err(raised)?.to_string())
}

/// Names of the path presets.
#[pyfunction]
pub fn presets() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}
