//! The rows of a sweep, as a table and as JSON.

use std::collections::BTreeMap;

use firstflight::sweep::{Axis, FactorColumn};
use firstflight_results::{SweepRow, Table, Value};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::raised;

/// Index of a cell on each axis.
pub(crate) fn places(axes: &[Axis], mut cell: usize) -> Vec<usize> {
    let mut places = vec![0; axes.len()];
    for (place, axis) in places.iter_mut().zip(axes).rev() {
        *place = cell % axis.points.len();
        cell /= axis.points.len();
    }
    places
}

/// The table of the rows, with a column for each key of the axes.
pub(crate) fn table(axes: &[Axis], rows: Vec<SweepRow>) -> Table {
    let mut columns = FactorColumn::of_axes(axes).expect("the sweep has checked its columns").into_iter();
    let places: Vec<Vec<usize>> = rows.iter().map(|row| places(axes, row.cell as usize)).collect();
    let mut factors = vec![];
    for (index, axis) in axes.iter().enumerate() {
        for factor in columns.by_ref().take(axis.points[0].set.len()) {
            let cell = |places: &Vec<usize>| factor.cell(&axis.points[places[index]].set[&factor.key]);
            factors.push((factor.column.clone(), places.iter().map(cell).collect()));
        }
    }
    Table::of_sweep(rows, factors)
}

/// The JSON object of a sweep: the keys of its factors, and a row for each run with the columns of the table.
pub(crate) fn json(axes: &[Axis], rows: &[SweepRow]) -> PyResult<String> {
    #[derive(Serialize)]
    struct Object<'a> {
        factors: Vec<&'a String>,
        rows: Vec<BTreeMap<&'a str, serde_json::Value>>,
    }
    let table = table(axes, rows.to_vec());
    let row = |at: usize| {
        let cells = table.columns.iter().zip(&table.values);
        cells.map(|(column, values)| (column.name.as_str(), plain(&values[at]))).collect()
    };
    let factors = axes.iter().flat_map(|axis| axis.points[0].set.keys()).collect();
    serde_json::to_string(&Object { factors, rows: (0..table.rows()).map(row).collect() }).map_err(raised)
}

fn plain(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Unsigned(number) => (*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Unsigneds(numbers) => numbers.clone().into(),
        Value::Reals(numbers) => numbers.clone().into(),
    }
}
