#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| firstflight_fuzz_targets::execute("qlog", bytes));
