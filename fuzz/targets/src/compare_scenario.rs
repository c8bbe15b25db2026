//! Any text as the scenario of a comparison, to the JSON. Sizes, durations and replications are small.

use firstflight::results::{Comparison, violations};
use firstflight::{Compare, compare};
use firstflight_report::{Colour, html, table};
use firstflight_scenario::parse;

use crate::finite::assert_finite;
use crate::scenario::WORDS;
use crate::small::shortened;
use crate::{Form, Target, refused, text};

pub(crate) const TARGET: Target = Target {
    name: "compare_scenario",
    about: "text of a scenario, compared under two schemes to the JSON, the table and the page, without harm: every number in range",
    run,
    longest: 8 << 10,
    form: Form::Text(WORDS),
};

fn run(bytes: &[u8]) {
    let Some(mut loaded) = text(bytes).and_then(|text| parse(text, "fuzz.toml").ok()) else { return };
    let Some(scenario) = shortened(loaded.scenario) else { return };
    loaded.scenario = scenario;
    // The harm to others may take 300 million packets, for the sake of a few more numbers.
    compared(compare(loaded).harm(false));
}

/// Compares two schemes over a short transfer, and checks the whole answer.
pub(crate) fn compared(request: Compare<'_>) {
    let request = request
        .schemes(["slow-start+reno", "jump-start+cubic"])
        .and_then(|request| request.sizes(["4 KB"]))
        .expect("known labels and a size");
    match request.replications(2).execute() {
        Ok(report) => {
            assert_finite(&report);
            let json = serde_json::to_value(&report.comparison).expect("a comparison is plain data");
            let found = violations::<Comparison>(&json);
            assert!(found.is_empty(), "{}", found.join("\n"));
            assert!(!table(&report, 80, Colour::None).is_empty());
            assert!(!html(&report).is_empty());
        }
        Err(error) => refused(error),
    }
}
