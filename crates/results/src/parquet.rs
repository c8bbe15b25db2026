//! Tables as Parquet files.
//!
//! Pages are not compressed: repeating values are dictionary-encoded, which makes them small already. The same table gives
//! the same bytes.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError as Source;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field;
use parquet::schema::types::Type;

use crate::{Column, Kind, Table, Value};

/// Reason why a Parquet file could not be written or read.
#[derive(Debug)]
pub struct ParquetError {
    /// `written` or `read`.
    failed: &'static str,
    source: Source,
}

impl fmt::Display for ParquetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the Parquet file could not be {}: {}", self.failed, self.source)
    }
}

impl std::error::Error for ParquetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Writes `table` to `out` as one row group, with `metadata` as the file's key-value pairs. `version` is the version of the
/// program that made the table.
///
/// # Errors
/// [`ParquetError`] if `out` fails.
pub fn write(
    table: &Table,
    version: &str,
    metadata: Vec<(String, String)>,
    out: &mut (dyn Write + Send),
) -> Result<(), ParquetError> {
    write_table(table, version, metadata, out).map_err(|source| ParquetError { failed: "written", source })
}

fn write_table(
    table: &Table,
    version: &str,
    metadata: Vec<(String, String)>,
    out: &mut (dyn Write + Send),
) -> Result<(), Source> {
    let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let properties = WriterProperties::builder()
        .set_created_by(format!("firstflight {version}"))
        .set_key_value_metadata(Some(metadata))
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema(table)?), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (column, values) in table.columns.iter().zip(&table.values) {
        write_column(&mut group, column, values)?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

/// Values of the named columns of a file that [`write()`] made, column by column in the order of the names. No other column is read,
/// and lists are not.
///
/// # Errors
/// [`ParquetError`] if the file is no Parquet file, or lacks a column.
pub fn read(file: File, names: &[&str]) -> Result<Vec<Vec<Value>>, ParquetError> {
    read_columns(file, names).map_err(|source| ParquetError { failed: "read", source })
}

fn read_columns(file: File, names: &[&str]) -> Result<Vec<Vec<Value>>, Source> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema();
    let wanted: Vec<_> =
        schema.get_fields().iter().filter(|field| names.contains(&field.name())).cloned().collect();
    let place = |name: &&str| {
        let found = wanted.iter().position(|field| field.name() == *name);
        found.ok_or_else(|| Source::General(format!("there is no column {name}")))
    };
    let places = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let mut columns: Vec<Vec<Value>> = vec![vec![]; names.len()];
    if places.is_empty() {
        return Ok(columns);
    }
    let projection = Type::group_type_builder(schema.name()).with_fields(wanted).build()?;
    for row in reader.get_row_iter(Some(projection))? {
        let fields: Vec<(String, Field)> = row?.into_columns();
        for (column, &place) in columns.iter_mut().zip(&places) {
            column.push(match &fields[place].1 {
                Field::Bool(value) => Value::Bool(*value),
                Field::ULong(value) => Value::Unsigned(*value),
                Field::Double(value) => Value::Real(*value),
                Field::Str(value) => Value::Text(value.clone()),
                _ => Value::Null,
            });
        }
    }
    Ok(columns)
}

fn schema(table: &Table) -> Result<Type, Source> {
    let fields = table.columns.iter().map(|column| field(column).map(Arc::new));
    Type::group_type_builder(table.name).with_fields(fields.collect::<Result<_, _>>()?).build()
}

fn field(column: &Column) -> Result<Type, Source> {
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    match column.kind {
        Kind::Unsigneds => list(column, Kind::Unsigned),
        Kind::Reals => list(column, Kind::Real),
        kind => primitive(&column.name, kind, repetition),
    }
}

fn primitive(name: &str, kind: Kind, repetition: Repetition) -> Result<Type, Source> {
    let (physical, logical) = match kind {
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        _ => (Physical::DOUBLE, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()
}

/// The three levels of a list: the column, its repeated group and the element.
fn list(column: &Column, kind: Kind) -> Result<Type, Source> {
    let element = primitive("element", kind, Repetition::REQUIRED)?;
    let repeated = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    Type::group_type_builder(&column.name)
        .with_repetition(Repetition::REQUIRED)
        .with_converted_type(ConvertedType::LIST)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(repeated)])
        .build()
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    values: &[Value],
) -> Result<(), Source> {
    // A column holds values of its own kind, or null.
    match column.kind {
        Kind::Bool => scalars::<BoolType, _>(group, column, values, |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }),
        Kind::Unsigned => scalars::<Int64Type, _>(group, column, values, |value| match value {
            Value::Unsigned(value) => Some(value.cast_signed()),
            _ => None,
        }),
        Kind::Real => scalars::<DoubleType, _>(group, column, values, |value| match value {
            Value::Real(value) => Some(*value),
            _ => None,
        }),
        Kind::Text => scalars::<ByteArrayType, _>(group, column, values, |value| match value {
            Value::Text(value) => Some(ByteArray::from(value.as_str())),
            _ => None,
        }),
        Kind::Unsigneds => lists::<Int64Type, _>(group, values, |value| match value {
            Value::Unsigneds(values) => values.iter().map(|value| value.cast_signed()).collect(),
            _ => vec![],
        }),
        Kind::Reals => lists::<DoubleType, _>(group, values, |value| match value {
            Value::Reals(values) => values.clone(),
            _ => vec![],
        }),
    }
}

fn scalars<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    values: &[Value],
    of: impl Fn(&Value) -> Option<T::T>,
) -> Result<(), Source> {
    let values: Vec<Option<T::T>> = values.iter().map(of).collect();
    let present: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    put::<T, W>(group, &values, column.nullable.then_some(&present), None)
}

/// An empty list is one entry without a value (definition level 0); the first value of a list has repetition level 0.
fn lists<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[Value],
    of: impl Fn(&Value) -> Vec<T::T>,
) -> Result<(), Source> {
    let (mut all, mut defined, mut repeated) = (vec![], vec![], vec![]);
    for value in values {
        let list = of(value);
        defined.extend(std::iter::repeat_n(i16::from(!list.is_empty()), list.len().max(1)));
        repeated.push(0);
        repeated.extend(std::iter::repeat_n(1, list.len().saturating_sub(1)));
        all.extend(list);
    }
    put::<T, W>(group, &all, Some(&defined), Some(&repeated))
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    defined: Option<&Vec<i16>>,
    repeated: Option<&Vec<i16>>,
) -> Result<(), Source> {
    let mut column = group.next_column()?.expect("as many columns are written as the schema has");
    column.typed::<T>().write_batch(values, defined.map(Vec::as_slice), repeated.map(Vec::as_slice))?;
    column.close()
}
