//! A table is the same in memory, in Parquet and in Arrow.

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, ListAccessor, RowAccessor};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use firstflight_contract::Exit;
use firstflight_results::{
    EngineResult, FlowResult, Kind, LinkResult, RunResult, Series, StartupExit, Table, Value, arrow, parquet,
};

fn flow(name: &str, startup_exit: Option<StartupExit>, delivered_at: Vec<(f64, u64)>) -> FlowResult {
    FlowResult {
        name: name.into(),
        startup: "slow-start".into(),
        avoidance: "reno".into(),
        start_s: 0.5,
        size_bytes: startup_exit.map(|_| 300_000),
        completion_s: startup_exit.map(|_| 1.25),
        rounds_s: vec![],
        delivered_bytes: u64::MAX,
        delivered_packets: 206,
        goodput_bit_s: 1.92e6,
        retransmits: 3,
        timeouts: 0,
        lost_packets: 3,
        startup_exit,
        first_flight_packets: 10,
        max_cwnd_packets: 160.5,
        final_cwnd_packets: 80.25,
        delivered_at,
        receiver_reads: None,
    }
}

fn link() -> LinkResult {
    LinkResult {
        name: "bottleneck".into(),
        utilization: 0.5,
        drops: 3,
        marks: 0,
        mean_queue_packets: 1.5,
        max_queue_packets: 20,
        packets: 206,
        waiting_packets: 2,
        readings: vec![],
    }
}

/// Two runs; start-up ended in the first flow of the first.
fn two_runs() -> RunResult {
    let exit = StartupExit {
        time_s: 0.75,
        cwnd_packets: 160.5,
        bdp_packets: 100.0,
        overshoot_packets: 40,
        lost_before_exit_packets: 38,
        reason: Exit::AckTrain,
    };
    let run = |seed, flows| RunResult {
        title: "Two runs".into(),
        seed,
        simulated_s: 20.0,
        flows,
        links: vec![link()],
        fairness_jain: 1.0,
        engine: EngineResult { packet_hops: 1000 * seed, cpu_s: None, wall_s: None },
        means: None,
        runs: vec![],
        host: None,
        validity: None,
    };
    let first = run(7, vec![flow("a", Some(exit), vec![(1.0, 5), (2.0, 9)]), flow("b", None, vec![])]);
    let second = run(8, vec![flow("a", None, vec![(1.0, 6)]), flow("b", None, vec![])]);
    RunResult { runs: vec![first.clone(), second], ..first }
}

fn column<'a>(table: &'a Table, name: &str) -> &'a [Value] {
    let place = table.columns.iter().position(|column| column.name == name);
    &table.values[place.unwrap_or_else(|| panic!("no column {name}"))]
}

fn tables() -> Vec<Table> {
    let runs = two_runs();
    let series = Series {
        time_s: vec![0.0, 0.1],
        cwnd_packets: vec![10.0, 20.0],
        ssthresh_packets: vec![None, Some(15.0)],
        ..Series::default()
    };
    let samples = Table::of_samples(series.rows(0, "a"));
    vec![Table::of_runs(&runs), Table::of_flows(&runs), Table::of_links(&runs), samples]
}

/// Parquet of a table, written and read.
fn read(table: &Table, test: &str) -> SerializedFileReader<std::fs::File> {
    let file =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}.parquet", table.name));
    let mut bytes = vec![];
    let metadata = vec![("firstflight.title".to_owned(), "Two runs".to_owned())];
    parquet::write(table, "0.0.0", metadata, &mut bytes).expect("memory takes everything");
    std::fs::write(&file, bytes).expect("the test folder is writable");
    SerializedFileReader::new(std::fs::File::open(file).expect("written")).expect("a Parquet file")
}

#[test]
fn tables_number_the_runs_and_flatten_what_is_inside() {
    let [runs, flows, links, samples] = <[Table; 4]>::try_from(tables()).expect("four tables");
    assert_eq!((runs.rows(), flows.rows(), links.rows(), samples.rows()), (2, 4, 2, 2));
    assert_eq!(column(&runs, "seed"), [Value::Unsigned(7), Value::Unsigned(8)]);
    assert_eq!(column(&runs, "packet_hops"), [Value::Unsigned(7000), Value::Unsigned(8000)]);
    assert_eq!(column(&flows, "run"), [0, 0, 1, 1].map(Value::Unsigned));
    let (exit, null) = (Value::Unsigned(38), Value::Null);
    assert_eq!(column(&flows, "exit_lost_before_exit_packets"), [exit, null.clone(), null.clone(), null]);
    assert_eq!(column(&flows, "delivered_at_packets")[0], Value::Unsigneds(vec![5, 9]));
    assert_eq!(column(&links, "packets"), [Value::Unsigned(206), Value::Unsigned(206)]);
    assert_eq!(column(&samples, "ssthresh_packets"), [Value::Null, Value::Real(15.0)]);
    assert_eq!(column(&samples, "queue_packets"), [Value::Null, Value::Null]);
}

#[test]
fn a_value_is_null_only_where_its_column_says_so_and_of_the_columns_kind() {
    for table in tables() {
        for (column, values) in table.columns.iter().zip(&table.values) {
            for value in values {
                let fits = match value {
                    Value::Null => column.nullable,
                    Value::Bool(_) => column.kind == Kind::Bool,
                    Value::Unsigned(_) => column.kind == Kind::Unsigned,
                    Value::Real(_) => column.kind == Kind::Real,
                    Value::Text(_) => column.kind == Kind::Text,
                    Value::Unsigneds(_) => column.kind == Kind::Unsigneds,
                    Value::Reals(_) => column.kind == Kind::Reals,
                };
                assert!(fits, "{} {column:?} {value:?}", table.name);
            }
        }
    }
}

#[test]
fn parquet_has_the_columns_and_values_of_the_table() {
    for table in tables() {
        let reader = read(&table, "values");
        let metadata = reader.metadata().file_metadata();
        assert_eq!((metadata.schema().name(), metadata.num_rows() as usize), (table.name, table.rows()));
        let names: Vec<&str> = metadata.schema().get_fields().iter().map(|field| field.name()).collect();
        let expected: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, expected);
        for (place, row) in reader.get_row_iter(None).expect("rows").enumerate() {
            let row = row.expect("a row");
            for (at, (name, field)) in row.get_column_iter().enumerate() {
                let value = match field {
                    Field::Null => Value::Null,
                    Field::Bool(value) => Value::Bool(*value),
                    Field::ULong(value) => Value::Unsigned(*value),
                    Field::Double(value) => Value::Real(*value),
                    Field::Str(value) => Value::Text(value.clone()),
                    Field::ListInternal(_) => {
                        let list = row.get_list(at).expect("a list");
                        match table.columns[at].kind {
                            Kind::Reals => Value::Reals(
                                (0..list.len()).map(|i| list.get_double(i).expect("a number")).collect(),
                            ),
                            _ => Value::Unsigneds(
                                (0..list.len()).map(|i| list.get_ulong(i).expect("a count")).collect(),
                            ),
                        }
                    }
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(value, table.values[at][place], "{} {name} {place}", table.name);
            }
        }
    }
}

#[test]
fn arrow_has_the_columns_and_values_of_the_table() {
    for table in tables() {
        let batch: RecordBatch = arrow::record_batch(&table).expect("a batch");
        assert_eq!((batch.num_rows(), batch.num_columns()), (table.rows(), table.columns.len()));
        for (at, (column, values)) in table.columns.iter().zip(&table.values).enumerate() {
            let field = batch.schema().field(at).clone();
            assert_eq!((field.name(), field.is_nullable()), (&column.name, column.nullable));
            assert_eq!(field.metadata().get("doc").map(|doc| doc.to_string()), Some(column.doc.clone()));
            let array = batch.column(at);
            for (row, value) in values.iter().enumerate() {
                let read = match column.kind {
                    _ if array.is_null(row) => Value::Null,
                    Kind::Bool => Value::Bool(array.as_boolean().value(row)),
                    Kind::Unsigned => Value::Unsigned(array.as_primitive::<UInt64Type>().value(row)),
                    Kind::Real => Value::Real(array.as_primitive::<Float64Type>().value(row)),
                    Kind::Text => Value::Text(array.as_string::<i32>().value(row).into()),
                    Kind::Unsigneds => {
                        let list = array.as_list::<i32>().value(row);
                        Value::Unsigneds(list.as_primitive::<UInt64Type>().values().to_vec())
                    }
                    Kind::Reals => {
                        let list = array.as_list::<i32>().value(row);
                        Value::Reals(list.as_primitive::<Float64Type>().values().to_vec())
                    }
                };
                assert_eq!(&read, value, "{} {} {row}", table.name, column.name);
            }
        }
    }
}

#[test]
fn the_same_table_gives_the_same_parquet_bytes_and_carries_its_metadata() {
    let bytes = || {
        let mut bytes = vec![];
        let metadata = vec![("firstflight.title".to_owned(), "Two runs".to_owned())];
        parquet::write(&tables()[1], "0.0.0", metadata, &mut bytes).expect("memory takes everything");
        bytes
    };
    assert_eq!(bytes(), bytes());
    let reader = read(&tables()[1], "metadata");
    let metadata = reader.metadata().file_metadata().key_value_metadata().expect("metadata").clone();
    assert_eq!(metadata[0].value.as_deref(), Some("Two runs"));
}

#[test]
fn a_table_without_rows_keeps_its_columns_in_every_format() {
    let empty = Table::of_samples([]);
    assert_eq!((empty.rows(), empty.columns.len()), (0, 8));
    assert_eq!(read(&empty, "empty").metadata().file_metadata().num_rows(), 0);
    assert_eq!(arrow::record_batch(&empty).expect("a batch").num_rows(), 0);
}

#[test]
fn named_columns_are_read_in_the_order_of_the_names_and_a_missing_one_is_refused() {
    let table = &tables()[1];
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("named-columns.parquet");
    let mut bytes = vec![];
    parquet::write(table, "0.0.0", vec![], &mut bytes).expect("memory takes everything");
    std::fs::write(&place, bytes).expect("the test folder is writable");
    let open = || std::fs::File::open(&place).expect("written");
    let names = ["exit_lost_before_exit_packets", "run"];
    let read = parquet::read(open(), &names).expect("its own file");
    assert_eq!(read, names.map(|name| column(table, name).to_vec()));
    assert_eq!(parquet::read(open(), &[]).expect("its own file"), Vec::<Vec<Value>>::new());
    let error = parquet::read(open(), &["run", "runs"]).expect_err("no such column").to_string();
    assert_eq!(error, "the Parquet file could not be read: Parquet error: there is no column runs");
}
