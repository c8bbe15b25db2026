//! Tables of results as Arrow, through the PyCapsule interface.

use std::collections::BTreeSet;
use std::sync::Mutex;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchIterator, StructArray};
use firstflight_results::{Kind, Range, Value, arrow};
use pyo3::exceptions::{PyImportError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::error::raised;
use crate::job::held;

/// A column of a table.
#[pyclass(frozen, module = "firstflight")]
#[derive(Clone, PartialEq)]
pub struct Column {
    /// Name, with the unit as its last word where it has one.
    #[pyo3(get)]
    name: String,
    /// Type: bool, uint64, double, string, list of uint64 or list of double.
    #[pyo3(get)]
    kind: &'static str,
    /// Unit; empty where there is none.
    #[pyo3(get)]
    unit: &'static str,
    /// Meaning, and the meaning of null.
    #[pyo3(get)]
    doc: String,
    /// Whether a value may be null.
    #[pyo3(get)]
    nullable: bool,
}

#[pymethods]
impl Column {
    fn __repr__(&self) -> String {
        let Self { name, kind, doc, .. } = self;
        format!("<Column {name}: {kind}. {doc}>")
    }
}

impl Column {
    fn parts(&self) -> (&str, &str, &str, &str, bool) {
        (&self.name, self.kind, self.unit, &self.doc, self.nullable)
    }
}

/// A table of results: one Arrow record batch.
///
/// pyarrow, polars, pandas, duckdb and every other program that reads the Arrow PyCapsule interface take it as it is and copy
/// nothing: `pyarrow.table(table)`, `polars.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)`.
#[pyclass(frozen, module = "firstflight")]
pub struct Table {
    name: &'static str,
    columns: Vec<Column>,
    batch: RecordBatch,
}

impl Table {
    /// The table `of` results.
    pub(crate) fn of(of: &firstflight_results::Table) -> PyResult<Self> {
        let column = |column: &firstflight_results::Column| Column {
            name: column.name.clone(),
            kind: column.kind.word(),
            unit: column.unit,
            doc: column.doc.clone(),
            nullable: column.nullable,
        };
        let batch = arrow::record_batch(of).map_err(raised)?;
        Ok(Self { name: of.name, columns: of.columns.iter().map(column).collect(), batch })
    }

    fn row<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (column, array) in self.columns.iter().zip(self.batch.columns()) {
            dict.set_item(&column.name, value(py, array, at)?)?;
        }
        Ok(dict)
    }
}

#[pymethods]
impl Table {
    /// Name of the table: flow, link, result and so on.
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// The columns, in order, each with type, unit and meaning.
    #[getter]
    fn columns(&self) -> Vec<Column> {
        self.columns.clone()
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// The first rows, 5 unless another number is given, as a table.
    #[pyo3(signature = (rows = 5))]
    fn head(&self, rows: usize) -> Self {
        let batch = self.batch.slice(0, rows.min(self.batch.num_rows()));
        Self { name: self.name, columns: self.columns.clone(), batch }
    }

    /// The values of a column as Python values: table["completion_s"]. Raises firstflight.Error with the nearest name.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let Some(at) = self.columns.iter().position(|it| it.name == column) else {
            let names = self.columns.iter().map(|it| it.name.as_str());
            return Err(raised(firstflight::Error::unknown_name("column", column, names)));
        };
        (0..self.batch.num_rows()).map(|row| value(py, self.batch.column(at), row)).collect()
    }

    /// The rows, one after another, each as a dictionary of Python values.
    fn __iter__(of: PyRef<'_, Self>) -> Rows {
        Rows { table: of.into(), next: 0 }
    }

    /// The table as a pandas.DataFrame, by its Arrow interface. Raises firstflight.Error if pandas is not installed.
    #[pyo3(signature = () -> "typing.Any")]
    fn to_pandas<'py>(of: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(of.py(), "pandas")?.getattr("DataFrame")?.call_method1("from_arrow", (of,))
    }

    /// The table as a polars.DataFrame, without a copy. Raises firstflight.Error if polars is not installed.
    #[pyo3(signature = () -> "typing.Any")]
    fn to_polars<'py>(of: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(of.py(), "polars")?.call_method1("DataFrame", (of,))
    }

    /// The table as a pyarrow.Table, without a copy. Raises firstflight.Error if pyarrow is not installed.
    #[pyo3(signature = () -> "typing.Any")]
    fn to_arrow<'py>(of: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(of.py(), "pyarrow")?.call_method1("table", (of,))
    }

    /// The first rows for a notebook.
    fn _repr_html_(of: &Bound<'_, Self>) -> PyResult<String> {
        of.py().import("firstflight._html")?.call_method1("head", (of,))?.extract()
    }

    /// The rows as dictionaries of Python values. Each call copies: large tables are better read as Arrow.
    #[pyo3(signature = () -> "list[dict[str, typing.Any]]")]
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = 0..self.batch.num_rows();
        rows.map(|at| self.row(py, at)).collect()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let Self { name, columns, batch } = other.get();
            *name == self.name && *columns == self.columns && *batch == self.batch
        })
    }

    /// A table goes to other processes as its columns and their values.
    #[pyo3(signature = () -> "tuple[object, tuple[object, ...]]")]
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let columns: Vec<_> = self.columns.iter().map(Column::parts).collect();
        let rows = 0..self.batch.num_rows();
        let values = |array| rows.clone().map(|at| value(py, array, at)).collect::<PyResult<Vec<_>>>();
        let values = self.batch.columns().iter().map(|array| values(array)).collect::<PyResult<Vec<_>>>()?;
        let state = (self.name, columns, values).into_pyobject(py)?;
        Ok((py.get_type::<Self>().getattr("restored")?, state))
    }

    /// The table that another process sent.
    #[staticmethod]
    #[pyo3(signature = (name, columns: "list[tuple[str, str, str, str, bool]]", values: "list[list[typing.Any]]"))]
    fn restored(
        name: &str,
        columns: Vec<(String, String, String, String, bool)>,
        values: Vec<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<Self> {
        let kinds = [Kind::Bool, Kind::Unsigned, Kind::Real, Kind::Text, Kind::Unsigneds, Kind::Reals];
        let column = |(name, kind, unit, doc, nullable): (String, String, String, String, bool)| {
            let kind = kinds.into_iter().find(|it| it.word() == kind).ok_or_else(|| {
                raised(firstflight::Error::unknown_name("type of a column", &kind, kinds.map(Kind::word)))
            })?;
            let unit = kept(&unit);
            Ok(firstflight_results::Column { name, kind, unit, doc, nullable, range: Range::Any })
        };
        let columns = columns.into_iter().map(column).collect::<PyResult<Vec<_>>>()?;
        let read = |(values, column): (Vec<Bound<'_, PyAny>>, &firstflight_results::Column)| {
            values.iter().map(|value| read(value, column.kind)).collect::<PyResult<Vec<_>>>()
        };
        let values = values.into_iter().zip(&columns).map(read).collect::<PyResult<Vec<_>>>()?;
        Self::of(&firstflight_results::Table { name: kept(name), columns, values })
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        format!("<Table {}: {} rows of {}>", self.name, self.batch.num_rows(), names.join(", "))
    }

    /// The Arrow schema, as a capsule of the Arrow C data interface.
    #[pyo3(signature = () -> "object")]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.batch.schema()).map_err(raised)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table as one struct array: capsules of its schema and its data. Another schema is not offered.
    #[pyo3(signature = (requested_schema: "object" = None) -> "tuple[object, object]")]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        let (array, schema): (FFI_ArrowArray, FFI_ArrowSchema) =
            to_ffi(&StructArray::from(self.batch.clone()).to_data()).map_err(raised)?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        PyTuple::new(py, [schema, array])
    }

    /// The table as a stream of one batch: a capsule of the Arrow C stream interface. Another schema is not offered.
    #[pyo3(signature = (requested_schema: "object" = None) -> "object")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// The rows of a table, one after another.
#[pyclass(module = "firstflight._firstflight")]
pub struct Rows {
    table: Py<Table>,
    next: usize,
}

#[pymethods]
impl Rows {
    fn __iter__(of: PyRef<'_, Self>) -> PyRef<'_, Self> {
        of
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = self.table.get();
        let at = self.next;
        if at == table.batch.num_rows() {
            return Err(PyStopIteration::new_err(()));
        }
        self.next += 1;
        table.row(py, at)
    }
}

/// The library of this name.
fn library<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|why| match why.is_instance_of::<PyImportError>(py) {
        true => raised(format!("{name} is not installed; expected: pip install {name}")),
        false => why,
    })
}

/// One value of a column as a Python value.
fn value<'py>(py: Python<'py>, array: &dyn Array, at: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, UInt64Type};
    if array.is_null(at) {
        return Ok(None);
    }
    let object = if let Some(texts) = array.as_string_opt::<i32>() {
        texts.value(at).into_pyobject(py)?.into_any()
    } else if let Some(flags) = array.as_boolean_opt() {
        flags.value(at).into_pyobject(py)?.to_owned().into_any()
    } else if let Some(numbers) = array.as_primitive_opt::<Float64Type>() {
        numbers.value(at).into_pyobject(py)?.into_any()
    } else if let Some(numbers) = array.as_primitive_opt::<UInt64Type>() {
        numbers.value(at).into_pyobject(py)?.into_any()
    } else {
        let list = array.as_list::<i32>().value(at);
        let items = (0..list.len()).map(|at| value(py, &list, at));
        items.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?.into_any()
    };
    Ok(Some(object))
}

/// A value of this type from a Python value.
fn read(value: &Bound<'_, PyAny>, kind: Kind) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    Ok(match kind {
        Kind::Bool => Value::Bool(value.extract()?),
        Kind::Unsigned => Value::Unsigned(value.extract()?),
        Kind::Real => Value::Real(value.extract()?),
        Kind::Text => Value::Text(value.extract()?),
        Kind::Unsigneds => Value::Unsigneds(value.extract()?),
        Kind::Reals => Value::Reals(value.extract()?),
    })
}

/// The name of a table or a unit from another process, kept as long as the process: the program itself has few of them.
fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = held(&KEPT);
    if let Some(known) = all.get(text) {
        return known;
    }
    let leaked: &'static str = Box::leak(text.to_owned().into_boxed_str());
    all.insert(leaked);
    leaked
}

/// Every type of a column is one that [`value`] knows.
const _: fn(Kind) = |kind| match kind {
    Kind::Bool | Kind::Unsigned | Kind::Real | Kind::Text | Kind::Unsigneds | Kind::Reals => {}
};
