//! Standard output and standard error. Text for a reader is escaped here.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use firstflight_report::{lines, printable};
use firstflight_results::{Table, Value};
use serde::Serialize;

use crate::failure::Failure;

/// Prints `text` for a reader. Control characters other than line breaks are escaped.
pub(crate) fn show(text: &str) -> Result<(), Failure> {
    print(&lines(text))
}

/// Prints `line` for a reader on standard error, as one line. A failure to write standard error is ignored: there is no
/// other place for a message.
pub(crate) fn complain(line: impl Display) {
    let line = printable(&line.to_string());
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints help on standard error.
pub(crate) fn explain(help: &str) {
    let _ = io::stderr().write_all(help.as_bytes());
}

/// Prints `text` unchanged: data for another program, or text that is escaped already.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::from_stdout)
}

/// Prints `value` as JSON on one line. The text is written while it is made: no copy of a large result is held.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    write_json(&mut out, value).and_then(|()| out.flush()).map_err(Failure::from_stdout)
}

/// Writes `value` as a line of JSON.
pub(crate) fn write_json(out: &mut (impl Write + ?Sized), value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// `value` as a line of JSON.
pub(crate) fn json_line(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("results have text keys and finite numbers or null");
    text + "\n"
}

/// A table as CSV (RFC 4180, with line feeds): a line of column names, then a line for each row. An absent value is empty.
pub(crate) fn csv(table: &Table) -> String {
    let mut writer = csv::Writer::from_writer(vec![]);
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Unsigned(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::Unsigneds(values) => json_line(values).trim_end().to_owned(),
        Value::Reals(values) => json_line(values).trim_end().to_owned(),
    };
    let names = table.columns.iter().map(|column| column.name.as_str());
    writer.write_record(names).expect("a table in memory takes a record");
    for row in 0..table.rows() {
        let cells = table.values.iter().map(|column| cell(&column[row]));
        writer.write_record(cells).expect("each row has every column");
    }
    let bytes = writer.into_inner().expect("a vector takes every byte");
    String::from_utf8(bytes).expect("cells are text")
}

/// Number of files listed by name; further files are only counted.
const NAMED: usize = 6;

/// Sentence that lists the files written; empty if there are none.
pub(crate) fn places(written: &[PathBuf]) -> String {
    let mut shown: Vec<_> =
        written.iter().take(NAMED).map(|path| printable(&path.display().to_string())).collect();
    if written.len() > NAMED {
        shown.push(format!("{} more files", written.len() - NAMED));
    }
    let Some(last) = shown.pop() else { return String::new() };
    match shown.len() {
        0 => format!("Wrote {last}.\n"),
        _ => format!("Wrote {} and {last}.\n", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_files_are_listed_by_name_and_further_files_are_counted() {
        let files = |count: usize| (0..count).map(|i| PathBuf::from(format!("f{i}"))).collect::<Vec<_>>();
        assert_eq!(places(&files(0)), "");
        assert_eq!(places(&files(1)), "Wrote f0.\n");
        assert_eq!(places(&files(2)), "Wrote f0 and f1.\n");
        assert_eq!(places(&files(6)), "Wrote f0, f1, f2, f3, f4 and f5.\n");
        assert_eq!(places(&files(8)), "Wrote f0, f1, f2, f3, f4, f5 and 2 more files.\n");
    }
}
