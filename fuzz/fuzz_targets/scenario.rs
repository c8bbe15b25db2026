//! Reads any text as a scenario: the result is an error, or a scenario that is equal after writing and reading it again.
#![no_main]

use firstflight_scenario::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match parse(text, "fuzz.toml") {
    Ok(loaded) => {
        let written = loaded.scenario.to_toml();
        let again = parse(&written, "written.toml").unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(again.scenario, loaded.scenario, "{written}");
        for flow in &loaded.scenario.flows {
            assert_eq!(flow.scheme.build().len(), flow.scheme.phases().len());
        }
        let _ = loaded.places.refuse("flow[0].startup", "no").to_string();
    }
    Err(error) => assert!(!error.to_string().is_empty()),
});
