//! Errors in the arguments, in the shape of errors in scenario files: one line with place, problem, expected value and
//! nearest valid name.

use std::ffi::OsString;
use std::fmt::Display;
use std::ops::RangeInclusive;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use firstflight_document::{Error, clipped, nearest};

use crate::failure::{Failure, wrong_at};
use crate::output;

/// Valid seeds: TOML's whole numbers, from zero.
pub(crate) const SEEDS: RangeInclusive<u64> = 0..=i64::MAX as u64;

/// Parser of whole numbers in `range`, in digits only.
pub(crate) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            format!("not a valid value; expected a whole number from {least} to {most}")
        })
    }
}

/// Words as a help text lists them: `rfc, ns2, linux or quinn`.
pub(crate) fn one_of(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// Prints the help or the version that was asked for; otherwise, the failure of the arguments of `cli`.
pub(crate) fn answer(error: &clap::Error, cli: Command) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => output::print(&error.to_string()),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Err(Failure::NoArguments(error.to_string())),
        _ => Err(wrong(error, cli, &std::env::args_os().skip(1).collect::<Vec<_>>()).into()),
    }
}

fn wrong(error: &clap::Error, mut cli: Command, arguments: &[OsString]) -> Error {
    cli.build();
    let named = arguments.iter().find_map(|word| cli.find_subcommand(word)).cloned();
    let mut command = named.unwrap_or_else(|| cli.clone());
    let argument = text(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    let name = bare(&argument);
    let place = if value.is_empty() { clipped(name) } else { format!("{name} \"{}\"", clipped(&value)) };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(error, ContextKind::InvalidSubcommand);
            unknown(&name, "no such command", cli.get_subcommands().map(|one| one.get_name().to_owned()))
        }
        ErrorKind::MissingSubcommand => {
            let commands = cli.get_subcommands().map(Command::get_name).collect::<Vec<_>>();
            wrong_at("command", "missing").expecting(format!("one of: {}", commands.join(", ")))
        }
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            let options = command.get_arguments().filter_map(|one| one.get_long());
            unknown(&argument, "no such option", options.map(|long| format!("--{long}")))
        }
        ErrorKind::UnknownArgument => wrong_at(place, "one argument too many").expecting(usage(&mut command)),
        ErrorKind::InvalidValue if value.is_empty() => {
            wrong_at(place, "the value is missing").expecting(argument)
        }
        ErrorKind::InvalidValue => {
            let valid = texts(error, ContextKind::ValidValue);
            let near = nearest(&value, valid.iter().map(String::as_str));
            wrong_at(place, "no such value").expecting(format!("one of: {}", valid.join(", "))).near(near)
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string);
            wrong_at(place, why.unwrap_or_else(|| "not a valid value".into()))
        }
        ErrorKind::TooManyValues => wrong_at(place, "the option takes no value").expecting(name),
        ErrorKind::ArgumentConflict => {
            let others = texts(error, ContextKind::PriorArg);
            match others.iter().map(|other| bare(other)).collect::<Vec<_>>() {
                others if others.contains(&name) => {
                    wrong_at(name, "given twice").expecting(format!("one {name}"))
                }
                others => {
                    let why = format!("cannot be combined with {}", others.join(" and "));
                    wrong_at(name, why).expecting("one of the two")
                }
            }
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = texts(error, ContextKind::InvalidArg);
            let names = missing.iter().map(|one| bare(one)).collect::<Vec<_>>();
            wrong_at(names.join(", "), "missing").expecting(usage(&mut command))
        }
        ErrorKind::InvalidUtf8 => {
            let word = arguments.iter().find(|word| word.to_str().is_none());
            let word = word.map_or("argument".into(), |word| word.to_string_lossy());
            wrong_at(clipped(&word), "the argument is not UTF-8").expecting("UTF-8")
        }
        kind => wrong_at("command line", kind).expecting(usage(&mut command)),
    }
}

fn unknown(name: &str, problem: impl Display, valid: impl Iterator<Item = String>) -> Error {
    let valid: Vec<String> = valid.collect();
    let near = nearest(name, valid.iter().map(String::as_str));
    wrong_at(clipped(name), problem).expecting(format!("one of: {}", valid.join(", "))).near(near)
}

/// The form of a command: `firstflight run [OPTIONS] <SCENARIO>`.
fn usage(command: &mut Command) -> String {
    command.render_usage().to_string().trim_start_matches("Usage: ").to_owned()
}

/// `--rate` of `--rate <RATE>`, `SCENARIO` of `<SCENARIO>`, `CAPTURE` of `<CAPTURE>...`.
fn bare(argument: &str) -> &str {
    let name = argument.split(" <").next().unwrap_or_default();
    name.trim_end_matches("...").trim_matches(['<', '>', '[', ']'])
}

/// A text of the error's context; empty if there is none.
fn text(error: &clap::Error, kind: ContextKind) -> String {
    texts(error, kind).into_iter().next().unwrap_or_default()
}

fn texts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => vec![],
    }
}
