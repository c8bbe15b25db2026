//! The option `--memory` of the commands that run scenarios, and the refusals of work that takes more.

use clap::Args;
use firstflight_document::quantity::parse_bytes;
use firstflight_document::{Error, quoted};

use crate::failure::{Failure, wrong_at};
use crate::keys::option;

/// The limit of the memory.
#[derive(Debug, Args)]
pub(crate) struct Memory {
    /// Refuse work that takes more memory than this, before it starts
    #[arg(long, value_name = "SIZE", default_value = "4 GB", allow_hyphen_values = true)]
    memory: String,
}

impl Memory {
    /// The limit, bytes.
    pub(crate) fn bytes(&self) -> Result<u64, Failure> {
        let wrong = |problem: String| {
            let place = option("memory", Some(&quoted(&self.memory)));
            wrong_at(place, problem).expecting("a size above zero, such as \"8 GB\"")
        };
        match parse_bytes(&self.memory).map_err(|error| wrong(error.problem.to_string()))? {
            0 => Err(wrong("zero".into()).into()),
            bytes => Ok(bytes),
        }
    }
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.memory)
    }
}

/// The failure of a run: a problem that an option causes, not a key of the scenario, names the option.
pub(crate) fn failed(error: Error) -> Failure {
    let options =
        [("grid", "grid"), ("runs", "runs"), ("samples", "out"), ("sizes", "size"), ("trace", "trace")];
    match options.iter().find(|(key, _)| error.place.key == *key) {
        Some((_, name)) => wrong_at(option(name, None), &error.problem).into(),
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Result<u64, Failure> {
        Memory { memory: text.into() }.bytes()
    }

    #[test]
    fn a_limit_is_a_size_with_a_unit() {
        assert_eq!(bytes("1.5 GiB").ok(), Some(1_610_612_736));
        for (text, problem) in [("4", "the unit is missing"), ("0 B", "zero"), ("-1 GB", "negative")] {
            let Err(Failure::Because(why)) = bytes(text) else { panic!("{text}") };
            assert!(why.starts_with(&format!("--memory \"{text}\": ")) && why.contains(problem), "{why}");
        }
    }

    #[test]
    fn the_default_is_that_of_the_library() {
        let command = Memory::augment_args(clap::Command::new("run"));
        let matches = command.get_matches_from(["run"]);
        let text: &String = matches.get_one("memory").expect("a default");
        assert_eq!(bytes(text).ok(), Some(firstflight::memory::DEFAULT));
    }
}
