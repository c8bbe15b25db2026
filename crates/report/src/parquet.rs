//! `results.parquet`: one row for each replication of each scheme at each size.
//!
//! The path repeats in every row, so that files of several comparisons can be read as one table. The provenance
//! stands in the file's metadata under keys that begin with `firstflight.`. Pages are not compressed: the
//! repeating columns are dictionary-encoded, which makes them small already.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use firstflight_results::{CompareReport, PathResult, Provenance, Sample, SampleSet, StartupExit};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError as Source;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// Columns in the order they are written. Optional is what may be unknown or may not have happened.
const SCHEMA: &str = "message replication {
    REQUIRED BYTE_ARRAY scheme (STRING);
    REQUIRED INT64 size_bytes (INTEGER(64, false));
    REQUIRED INT64 replication (INTEGER(64, false));
    REQUIRED INT64 seed (INTEGER(64, false));
    OPTIONAL DOUBLE completion_s;
    REQUIRED INT64 retransmits (INTEGER(64, false));
    REQUIRED INT64 timeouts (INTEGER(64, false));
    REQUIRED INT64 drops (INTEGER(64, false));
    OPTIONAL DOUBLE exit_time_s;
    OPTIONAL DOUBLE exit_cwnd_packets;
    OPTIONAL DOUBLE exit_bdp_packets;
    OPTIONAL INT64 exit_overshoot_packets (INTEGER(64, false));
    OPTIONAL BYTE_ARRAY exit_reason (STRING);
    OPTIONAL BYTE_ARRAY path_inferred_from (STRING);
    OPTIONAL INT64 path_rate_bit_s (INTEGER(64, false));
    OPTIONAL DOUBLE path_rtt_ms;
    OPTIONAL INT64 path_buffer_packets (INTEGER(64, false));
    OPTIONAL DOUBLE path_loss;
    OPTIONAL INT64 path_mss_bytes (INTEGER(64, false));
    OPTIONAL INT64 path_initial_window_packets (INTEGER(64, false));
    OPTIONAL BYTE_ARRAY path_receiver (STRING);
}";

/// Why the Parquet file could not be written.
#[derive(Debug)]
pub struct ParquetError(Source);

impl fmt::Display for ParquetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the Parquet file could not be written: {}", self.0)
    }
}

impl std::error::Error for ParquetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl From<Source> for ParquetError {
    fn from(source: Source) -> Self {
        Self(source)
    }
}

/// Writes the replications to `out`. The same report gives the same bytes.
///
/// # Errors
/// [`ParquetError`] if `out` fails.
pub fn parquet(report: &CompareReport, out: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
    let comparison = &report.comparison;
    let schema = parse_message_type(SCHEMA)?;
    let properties = WriterProperties::builder()
        .set_created_by(format!("firstflight {}", comparison.provenance.version))
        .set_key_value_metadata(Some(metadata(&comparison.title, &comparison.provenance)))
        .build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    let rows: Vec<Row<'_>> = report.samples.iter().flat_map(rows).collect();
    Columns { group: file.next_row_group()?, rows: &rows }.write_all(&comparison.path)?;
    file.close()?;
    Ok(())
}

/// One replication with where it belongs.
struct Row<'a> {
    set: &'a SampleSet,
    replication: usize,
    sample: &'a Sample,
}

fn rows(set: &SampleSet) -> impl Iterator<Item = Row<'_>> {
    set.samples.iter().enumerate().map(move |(replication, sample)| Row { set, replication, sample })
}

/// The columns of the one row group, written one after the other.
struct Columns<'a, W: Write + Send> {
    group: SerializedRowGroupWriter<'a, W>,
    rows: &'a [Row<'a>],
}

impl<W: Write + Send> Columns<'_, W> {
    fn write_all(mut self, path: &PathResult) -> Result<(), Source> {
        let exit = |of: fn(StartupExit) -> f64| move |r: &Row<'_>| r.sample.startup_exit.map(of);
        self.required::<ByteArrayType>(|r| r.set.scheme.as_str().into())?;
        self.required::<Int64Type>(|r| unsigned(r.set.size_bytes))?;
        self.required::<Int64Type>(|r| unsigned(r.replication as u64))?;
        self.required::<Int64Type>(|r| unsigned(r.sample.seed))?;
        self.optional::<DoubleType>(|r| r.sample.completion_s)?;
        self.required::<Int64Type>(|r| unsigned(r.sample.retransmits))?;
        self.required::<Int64Type>(|r| unsigned(r.sample.timeouts))?;
        self.required::<Int64Type>(|r| unsigned(r.sample.drops))?;
        self.optional::<DoubleType>(exit(|e| e.time_s))?;
        self.optional::<DoubleType>(exit(|e| e.cwnd_packets))?;
        self.optional::<DoubleType>(exit(|e| e.bdp_packets))?;
        self.optional::<Int64Type>(|r| r.sample.startup_exit.map(|e| unsigned(e.overshoot_packets)))?;
        self.optional::<ByteArrayType>(|r| r.sample.startup_exit.map(|e| e.reason.label().into()))?;
        self.optional::<ByteArrayType>(|_| text(&path.inferred_from))?;
        self.optional::<Int64Type>(|_| path.rate_bit_s.map(unsigned))?;
        self.optional::<DoubleType>(|_| path.rtt_ms)?;
        self.optional::<Int64Type>(|_| path.buffer_packets.map(unsigned))?;
        self.optional::<DoubleType>(|_| path.loss)?;
        self.optional::<Int64Type>(|_| path.mss_bytes.map(unsigned))?;
        self.optional::<Int64Type>(|_| path.initial_window_packets.map(unsigned))?;
        self.optional::<ByteArrayType>(|_| text(&path.receiver))?;
        self.group.close()?;
        Ok(())
    }

    fn required<T: DataType>(&mut self, value: impl Fn(&Row<'_>) -> T::T) -> Result<(), Source> {
        let values: Vec<T::T> = self.rows.iter().map(value).collect();
        self.write::<T>(&values, None)
    }

    fn optional<T: DataType>(&mut self, value: impl Fn(&Row<'_>) -> Option<T::T>) -> Result<(), Source> {
        let values: Vec<Option<T::T>> = self.rows.iter().map(value).collect();
        let present: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
        let values: Vec<T::T> = values.into_iter().flatten().collect();
        self.write::<T>(&values, Some(&present))
    }

    fn write<T: DataType>(&mut self, values: &[T::T], present: Option<&[i16]>) -> Result<(), Source> {
        let mut column = self.group.next_column()?.expect("as many columns are written as the schema has");
        column.typed::<T>().write_batch(values, present, None)?;
        column.close()
    }
}

/// Parquet stores unsigned 64-bit integers in the signed type's bits.
fn unsigned(value: u64) -> i64 {
    value.cast_signed()
}

fn text(word: &Option<String>) -> Option<ByteArray> {
    word.as_deref().map(ByteArray::from)
}

fn metadata(title: &str, provenance: &Provenance) -> Vec<KeyValue> {
    let inputs: Vec<String> =
        provenance.inputs.iter().map(|i| format!("{} sha256:{}", i.name, i.sha256)).collect();
    let entries = [
        ("title", title.to_owned()),
        ("version", provenance.version.clone()),
        ("revision", provenance.revision.clone()),
        ("seed", provenance.seed.to_string()),
        ("replications", provenance.replications.to_string()),
        ("command", provenance.command.clone()),
        ("host", provenance.host.clone()),
        ("machine", provenance.machine.clone()),
        ("interval_method", provenance.interval_method.clone()),
        ("inputs", inputs.join("\n")),
        ("scenario_sha256", provenance.scenario_sha256.clone()),
        ("scenario", provenance.scenario.clone()),
    ];
    entries.into_iter().map(|(key, value)| KeyValue::new(format!("firstflight.{key}"), value)).collect()
}
