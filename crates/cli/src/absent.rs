//! Commands that this build of the program lacks: they say so, instead of being unknown.

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;

/// Arguments of a command that is not there; all are taken.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

/// Refuses the `command`, which the program has with `feature` on Linux.
pub(crate) fn refuse(command: &str, feature: &str) -> Result<(), Failure> {
    let why = if cfg!(target_os = "linux") || feature == "papers" {
        format!(
            "this program was built without its feature {feature}; `make build` builds one that has every command"
        )
    } else {
        "it needs Linux".to_owned()
    };
    Err(Failure::new(format!("firstflight {command} is not in this program: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_not_in_the_program_names_the_build_that_has_it() {
        let Err(Failure::Because(why)) = refuse("gateway", "gateway") else { panic!("it is not there") };
        assert_eq!(
            why,
            "firstflight gateway is not in this program: this program was built without its feature gateway; `make build` builds one \
             that has every command"
        );
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            _options: Options,
        }
        // The command is refused whatever follows it.
        for arguments in [&["lab"][..], &["lab", "run", "--host", "kernel"], &["lab", "--help"]] {
            assert!(<Command as clap::Parser>::try_parse_from(arguments).is_ok(), "{arguments:?}");
        }
    }
}
