//! `docs/commands.md`, made from the help of every command, so that neither can be wrong alone.
#![cfg(test)]

use std::fmt::Write;
use std::path::PathBuf;

use clap::CommandFactory;

use crate::cli::Cli;

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md")
}

fn reference() -> String {
    let mut out = String::from(
        "# Commands\n\nWhat `--help` says of every command. This page is generated: \
         `cargo test -p firstflight -- --ignored write_the_reference` writes it.\n",
    );
    let mut cli = Cli::command().term_width(100);
    cli.build();
    let mut add = |name: &str, help: String| {
        let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let _ = write!(out, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n"));
    };
    add("firstflight", cli.render_long_help().to_string());
    for command in cli.get_subcommands_mut() {
        add(&format!("firstflight {}", command.get_name()), command.render_long_help().to_string());
    }
    out
}

#[test]
fn the_reference_says_what_the_commands_say() {
    let page = std::fs::read_to_string(page()).expect("docs/commands.md");
    assert!(
        page == reference(),
        "docs/commands.md is out of date; its second line says how to write it anew"
    );
}

#[test]
fn every_command_has_examples_and_describes_itself_and_its_options() {
    Cli::command().debug_assert();
    for command in Cli::command().get_subcommands() {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(after.contains("Examples:\n  firstflight "), "{}", command.get_name());
        assert!(command.get_about().is_some(), "{}", command.get_name());
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
        }
    }
}

#[test]
#[ignore = "writes docs/commands.md"]
fn write_the_reference() {
    std::fs::write(page(), reference()).expect("docs/commands.md can be written");
}
