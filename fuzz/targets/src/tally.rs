//! The count of executions: `fuzz/executions.json`, to which every run of `make fuzz` adds its lines.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{TARGETS, folder};

/// One run of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The target.
    pub target: String,
    /// `libfuzzer` or `driver`.
    pub engine: String,
    /// Inputs run.
    pub executions: u64,
    /// Seconds that the run took.
    pub seconds: u64,
    /// Inputs found at which the target died.
    pub crashes: u64,
    /// Commit of the sources, with `+` after it if files were changed.
    pub commit: String,
}

/// The file of the tally.
pub fn file() -> PathBuf {
    folder().join("executions.json")
}

/// The entries of the tally; none if there is no file.
///
/// # Errors
/// If the file cannot be read, or is no tally.
pub fn read() -> io::Result<Vec<Entry>> {
    match std::fs::read_to_string(file()) {
        Ok(text) => Ok(serde_json::from_str(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        Err(error) => Err(error),
    }
}

/// Adds entries: one line for each target, engine and commit.
///
/// # Errors
/// As [`read`], and if the file cannot be written.
pub fn add(new: &[Entry]) -> io::Result<()> {
    let mut all = read()?;
    for entry in new {
        let same = |other: &&mut Entry| {
            (&other.target, &other.engine, &other.commit) == (&entry.target, &entry.engine, &entry.commit)
        };
        match all.iter_mut().find(same) {
            Some(known) => {
                known.executions += entry.executions;
                known.seconds += entry.seconds;
                known.crashes += entry.crashes;
            }
            None => all.push(entry.clone()),
        }
    }
    let lines: Vec<String> = all.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    let part = file().with_extension("part");
    std::fs::write(&part, format!("[\n{}\n]\n", lines.join(",\n")))?;
    std::fs::rename(part, file())
}

/// The counts as a table in Markdown.
pub fn table(entries: &[Entry]) -> String {
    let mut rows: BTreeMap<&str, [u64; 4]> = TARGETS.iter().map(|target| (target.name, [0; 4])).collect();
    for entry in entries {
        let Some(row) = rows.get_mut(&*entry.target) else { continue };
        row[usize::from(entry.engine != "libfuzzer")] += entry.executions;
        row[2] += entry.seconds;
        row[3] += entry.crashes;
    }
    let mut out = String::from(
        "| target | one execution | cargo-fuzz | our driver | hours | crashes |\n|---|---|---:|---:|---:|---:|\n",
    );
    let mut total = [0; 4];
    let cells = |row: &[u64; 4]| {
        let hours = row[2] as f64 / 3600.0;
        format!("{} | {} | {hours:.1} | {} |\n", grouped(row[0]), grouped(row[1]), row[3])
    };
    for target in TARGETS {
        let row = &rows[target.name];
        (0..4).for_each(|i| total[i] += row[i]);
        out += &format!("| `{}` | {} | {}", target.name, target.about, cells(row));
    }
    out + &format!("| all | {} | {}", grouped(total[0] + total[1]), cells(&total))
}

/// A number with a comma before every three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn the_table_adds_up_both_engines() {
        let entry = |engine: &str, executions| Entry {
            target: "sender".into(),
            engine: engine.into(),
            executions,
            seconds: 1800,
            crashes: 1,
            commit: "c".into(),
        };
        let table = table(&[entry("libfuzzer", 2000), entry("driver", 5), entry("driver", 10)]);
        let row = table.lines().find(|line| line.contains("`sender`")).expect("its row");
        assert!(row.ends_with("| 2,000 | 15 | 1.5 | 3 |"), "{row}");
        assert!(table.ends_with("| all | 2,015 | 2,000 | 15 | 1.5 | 3 |\n"), "{table}");
    }
}
