//! `firstflight lab` on the kernel of this machine.
//!
//! A harness of its own runs the cases one at a time, because they need real time. A case that this machine cannot run is
//! named with the reason and counted.

#[path = "../common/mod.rs"]
mod common;

#[cfg(target_os = "linux")]
mod cases;

#[cfg(not(target_os = "linux"))]
fn main() {
    firstflight_skip::skip("every case of `firstflight lab` needs Linux");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::panic::catch_unwind;
    use std::process::ExitCode;

    // The arguments of the standard harness: names to run; options are ignored.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let missing = cases::missing();
    let (mut passed, mut failed, mut not_run) = (0, 0, 0);
    for (name, needs_kernel, case) in cases::ALL {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        if let (true, Some(why)) = (*needs_kernel, &missing) {
            firstflight_skip::skip_case(name, why);
            not_run += 1;
            continue;
        }
        match catch_unwind(case) {
            Ok(()) => {
                println!("passed: {name}");
                passed += 1;
            }
            Err(_) => {
                println!("FAILED: {name}");
                failed += 1;
            }
        }
    }
    println!("lab: {passed} passed, {failed} failed, {not_run} not run here");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
