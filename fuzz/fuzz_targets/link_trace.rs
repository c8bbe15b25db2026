//! Reads any text as a link trace: the result is a trace with a mean and a highest rate, or an error.
#![no_main]

use firstflight_scenario::Schedule;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match Schedule::parse(text, "fuzz.trace") {
    Ok(schedule) => {
        let (mean, fastest) = (schedule.mean(), schedule.fastest());
        assert!(mean.0 > 0 && fastest.0 > 0, "{schedule:?}");
        if let Schedule::Rates(_) = schedule {
            assert!(mean <= fastest, "{schedule:?}");
        }
    }
    Err(error) => assert!(!error.to_string().is_empty()),
});
