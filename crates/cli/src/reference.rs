//! The page `docs/commands.md`, which contains the `--help` text of every command.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use crate::cli::Cli;

/// The page.
pub fn reference() -> String {
    let mut out = String::from(
        "# Commands\n\nThe `--help` text of every command. `make regenerate` writes this page.\n",
    );
    let mut cli = Cli::command().term_width(100);
    cli.build();
    let mut add = |name: &str, help: String| {
        let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let _ = write!(out, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n"));
    };
    add("firstflight", cli.render_long_help().to_string());
    for (name, mut command) in commands(&cli, "firstflight") {
        add(&name, command.render_long_help().to_string());
    }
    out
}

/// Every command below `above` with its whole name, each before its own commands.
fn commands(above: &Command, name: &str) -> Vec<(String, Command)> {
    let own =
        above.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set());
    let with_own = own.flat_map(|command| {
        let name = format!("{name} {}", command.get_name());
        let below = commands(command, &name);
        std::iter::once((name, command.clone())).chain(below)
    });
    with_own.collect()
}

#[test]
fn every_command_has_examples_and_a_description_of_itself_and_its_arguments() {
    Cli::command().debug_assert();
    for (name, command) in commands(&Cli::command(), "firstflight") {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(after.contains("Examples:\n  firstflight "), "{name}");
        assert!(command.get_about().is_some(), "{name}");
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{name} {}", argument.get_id());
        }
    }
}
