//! Tables of results as Arrow, through the PyCapsule interface.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchIterator, StructArray};
use firstflight_results::{Kind, arrow};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::error::raised;

/// A column of a table.
#[pyclass(frozen, module = "firstflight")]
#[derive(Clone)]
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

    /// The rows as dictionaries of Python values. Each call copies: large tables are better read as Arrow.
    #[pyo3(signature = () -> "list[dict[str, typing.Any]]")]
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, pyo3::types::PyDict>>> {
        let rows = 0..self.batch.num_rows();
        let row = |at: usize| {
            let dict = pyo3::types::PyDict::new(py);
            for (column, array) in self.columns.iter().zip(self.batch.columns()) {
                dict.set_item(&column.name, value(py, array, at)?)?;
            }
            Ok(dict)
        };
        rows.map(row).collect()
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

/// Every type of a column is one that [`value`] knows.
const _: fn(Kind) = |kind| match kind {
    Kind::Bool | Kind::Unsigned | Kind::Real | Kind::Text | Kind::Unsigneds | Kind::Reals => {}
};
