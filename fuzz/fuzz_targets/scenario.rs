//! Any text at all is either a scenario, which reads the same when written out, or one error.
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
