//! Tables as Arrow record batches.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, UInt64Builder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Metadata, Schema};

use crate::{Column, Kind, Table, Value};

/// The schema of a table. Each field has its unit and its documentation as metadata, under `unit` and `doc`.
pub fn schema(table: &Table) -> Schema {
    let fields: Vec<Field> = table.columns.iter().map(field).collect();
    Schema::new(fields).with_metadata(Metadata::from_iter([("table", table.name)]))
}

/// The table as one batch.
///
/// # Errors
/// [`ArrowError`] if a column has a value of another type than it declares.
pub fn record_batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    let arrays = table.columns.iter().zip(&table.values).map(|(column, values)| array(column, values));
    RecordBatch::try_new(Arc::new(schema(table)), arrays.collect())
}

fn field(column: &Column) -> Field {
    let list = |of| DataType::List(Arc::new(element(of)));
    let data_type = match column.kind {
        Kind::Bool => DataType::Boolean,
        Kind::Unsigned => DataType::UInt64,
        Kind::Real => DataType::Float64,
        Kind::Text => DataType::Utf8,
        Kind::Unsigneds => list(DataType::UInt64),
        Kind::Reals => list(DataType::Float64),
    };
    let about = [("unit", column.unit), ("doc", column.doc.as_str())];
    let about = about.into_iter().filter(|(_, text)| !text.is_empty());
    Field::new(&column.name, data_type, column.nullable).with_metadata(about.collect::<Metadata>())
}

fn element(of: DataType) -> Field {
    Field::new("item", of, false)
}

/// The values of one column; a value of another type is null, which a column that is not nullable refuses.
fn array(column: &Column, values: &[Value]) -> ArrayRef {
    match column.kind {
        Kind::Bool => Arc::new(BooleanArray::from_iter(values.iter().map(|value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }))),
        Kind::Unsigned => Arc::new(UInt64Array::from_iter(values.iter().map(|value| match value {
            Value::Unsigned(value) => Some(*value),
            _ => None,
        }))),
        Kind::Real => Arc::new(Float64Array::from_iter(values.iter().map(|value| match value {
            Value::Real(value) => Some(*value),
            _ => None,
        }))),
        Kind::Text => Arc::new(StringArray::from_iter(values.iter().map(|value| match value {
            Value::Text(value) => Some(value.as_str()),
            _ => None,
        }))),
        Kind::Unsigneds => {
            let mut lists = ListBuilder::new(UInt64Builder::new()).with_field(element(DataType::UInt64));
            for value in values {
                if let Value::Unsigneds(list) = value {
                    lists.values().append_slice(list);
                }
                lists.append(matches!(value, Value::Unsigneds(_)));
            }
            Arc::new(lists.finish())
        }
        Kind::Reals => {
            let mut lists = ListBuilder::new(Float64Builder::new()).with_field(element(DataType::Float64));
            for value in values {
                if let Value::Reals(list) = value {
                    lists.values().append_slice(list);
                }
                lists.append(matches!(value, Value::Reals(_)));
            }
            Arc::new(lists.finish())
        }
    }
}
