//! Every key of the format: what an error about its value says, and what its smallest and largest values do.

use std::path::{Path, PathBuf};

use crate::common::{GRAPH, TRACE, contexts, extremes, invalid};
use firstflight_document::Error;
use firstflight_scenario::format::{Key, Kind, SECTIONS};
use firstflight_scenario::{Loaded, load};

/// A file of its own for each test, beside the files that scenarios name.
fn file(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in [GRAPH, TRACE] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder.join("key.toml")
}

fn read(file: &Path, text: &str) -> Result<Loaded, Error> {
    std::fs::write(file, text).unwrap();
    load(file)
}

/// Every key with each of these values: the scenario, the line of the key, and both as one text.
fn each(
    values: impl Fn(&Kind) -> Vec<String>,
    mut check: impl FnMut(&Key, &str, usize, &str) -> Result<(), String>,
) {
    let mut wrong = vec![];
    for context in contexts() {
        for key in context.section.keys {
            for value in values(&key.kind) {
                let (text, line) = context.with(key.name, &value, "20 ms");
                let place = format!("{} {} = {value:.90}", context.section.name, key.name);
                if let Err(why) = check(key, &text, line, &place) {
                    wrong.push(format!("{place}: {why}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_table_has_a_context_in_which_its_keys_are_valid() {
    let file = file("contexts");
    let known: Vec<_> = contexts().iter().map(|context| context.section.name).collect();
    for section in SECTIONS {
        assert!(known.contains(&section.name), "{}", section.name);
    }
    for context in contexts() {
        for key in context.section.keys {
            // Some value is valid: the errors below are about the value, and about nothing else. Other tables name nodes.
            let values = extremes(&key.kind);
            let valid =
                values.iter().any(|value| read(&file, &context.with(key.name, value, "20 ms").0).is_ok());
            let nodes = ["from", "to"].contains(&key.name)
                || (context.section.name, key.name) == ("[[node]]", "name");
            // Its range follows from the initial window: errors/traffic.rs.
            let pace = key.name == "initial_pace";
            // Its text is a trace, in place of the file: tests/trace.rs.
            let trace = (context.section.name, key.name) == ("trace", "text");
            assert!(
                valid || nodes || pace || trace || values.is_empty(),
                "{} {}",
                context.section.name,
                key.name
            );
        }
    }
}

#[test]
fn an_error_about_a_value_names_file_line_key_value_and_what_is_expected() {
    let file = file("invalid");
    let mut checked = 0;
    each(invalid, |key, text, line, _| {
        checked += 1;
        let Err(error) = read(&file, text) else { return Err("it is accepted".into()) };
        let message = error.to_string();
        let expects =
            error.expected.is_some() || message.contains("limit") || message.contains(": use direction");
        match () {
            () if error.place.file != file.display().to_string() => Err(format!("no file: {message}")),
            () if error.place.position.map(|at| at.0) != Some(line) => {
                Err(format!("no line {line}: {message}"))
            }
            () if !error.place.key.split(['.', '[', ']']).any(|part| part == key.name) => {
                Err(format!("no key: {message}"))
            }
            () if error.place.value.is_none() => Err(format!("no value: {message}")),
            () if !expects => Err(format!("no expectation: {message}")),
            () if message.contains('\n') || message.len() > 2000 => Err(format!("not one line: {message}")),
            () => Ok(()),
        }
    });
    assert!(checked > 1000, "{checked}");
}

#[test]
fn the_smallest_and_largest_values_are_read_back_as_written_or_refused_by_name() {
    let file = file("extremes");
    let (mut taken, mut refused) = (0, 0);
    each(extremes, |key, text, _, _| match read(&file, text) {
        Ok(loaded) => {
            taken += 1;
            let again = read(&file, &loaded.scenario.to_toml()).map_err(|error| error.to_string())?;
            if again.scenario == loaded.scenario {
                Ok(())
            } else {
                Err("another scenario is read back".into())
            }
        }
        Err(error) => {
            refused += 1;
            let message = error.to_string();
            let named = message.contains(key.name) && message.lines().count() == 1;
            if named { Ok(()) } else { Err(message) }
        }
    });
    assert!(taken > 300 && refused < taken / 2, "{taken} taken, {refused} refused");
}
