//! Options that correspond to keys of the scenario format. The builder of scenarios reads them, so that values have the
//! same meaning and the same errors as in a file.

use firstflight_document::{Error, clipped};
use firstflight_scenario::Scenario;
use firstflight_scenario::build::Builder;

use crate::failure::Failure;

/// The scenario of options; an error names the option.
pub(crate) fn built(builder: &Builder) -> Result<Scenario, Failure> {
    builder.build().map_err(in_option)
}

/// Converts an error about a key, such as `flow[0].min_rto`, to one about its option, `--min-rto`.
pub(crate) fn in_option(error: Error) -> Failure {
    let key = error.place.key.rsplit('.').next().filter(|key| !key.ends_with(']') && !key.is_empty());
    let place = key.map_or("command line".into(), |key| option(key, error.place.value.as_deref()));
    error.at_key("").with_value(None).in_file(&place, None).into()
}

/// An option as errors show it. `name` is the option's name or key; `value` is shown as far as a message has room for it.
pub(crate) fn option(name: &str, value: Option<&str>) -> String {
    let name = name.replace('_', "-");
    match value {
        Some(value) => format!("--{name} {}", clipped(value)),
        None => format!("--{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_scenario::build::{Flow, Path};

    fn message(builder: &Builder) -> String {
        match built(builder) {
            Err(Failure::Because(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_value_is_data_and_never_a_part_of_a_file() {
        let path = Path::empty().text("rate", Some("1\"\nrtt = \"\\\u{7f}"));
        let message = message(&Scenario::builder().path(path));
        assert!(message.starts_with(r#"--rate "1\"\nrtt = \"\\\u007F": there is no unit"#), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn errors_name_the_option_instead_of_the_key() {
        let flow = Flow::new().size("1 KB").text("min_rto", Some("200"));
        let path = Path::new("1 Gbit/s", "1 ms", "1 BDP");
        let message = message(&Scenario::builder().path(path).flow(flow));
        assert!(message.starts_with("--min-rto \"200\": the unit is missing; expected a time"), "{message}");
    }

    #[test]
    fn the_first_key_that_is_missing_is_named() {
        let path = Path::empty().text("rate", Some("1 Gbit/s")).text("rtt", None);
        let message = message(&Scenario::builder().path(path));
        assert!(message.starts_with("--rtt: missing; expected a delay"), "{message}");
    }
}
