//! The list of tests that a machine cannot run.
//!
//! A test that cannot run calls [`skip`] and returns. `make test` prints the list at its end (`tools/skipped`), because the standard
//! harness hides the output of a test that passes.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Environment variable with the path of the list. Without the variable, the reason goes to standard output alone.
pub const LIST: &str = "FIRSTFLIGHT_SKIPPED";

/// Says that the calling test is skipped, and why: on standard output, and in the file that [`LIST`] names.
///
/// A line of the file has the program, the test, and the reason in one line, with tabs between them. The name of the test is that of
/// its thread, as the standard harness sets the name.
///
/// # Panics
///
/// If the file cannot be written: a skip that nobody sees is a failure.
pub fn skip(why: impl Display) {
    let thread = std::thread::current();
    skip_case(thread.name().unwrap_or("unnamed"), why);
}

/// The same for a case of a harness of its own: `case` is its name.
///
/// # Panics
///
/// As [`skip`].
pub fn skip_case(case: &str, why: impl Display) {
    let why = why.to_string();
    println!("skipped: {why}");
    let Some(list) = std::env::var_os(LIST) else { return };
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_stem).and_then(|name| name.to_str());
    let line = line(program.unwrap_or("unnamed"), case, &why);
    // One write for each line: several programs append at the same time.
    let written = OpenOptions::new().create(true).append(true).open(&list);
    let written = written.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", Path::new(&list).display()));
}

/// The line of a skip. Cargo adds a hash to the name of a program: 16 hexadecimal digits after a hyphen.
fn line(program: &str, case: &str, why: &str) -> String {
    let program = match program.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => program,
    };
    let why: Vec<&str> = why.split_whitespace().collect();
    format!("{program}\t{case}\t{}\n", why.join(" "))
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_line_has_the_program_without_its_hash_the_test_and_the_reason() {
        let expected = "all\ttrace::retransmissions\ttshark is missing; install tshark\n";
        assert_eq!(
            line("all-0123456789abcdef", "trace::retransmissions", "tshark is missing;\n  install tshark"),
            expected
        );
        assert_eq!(line("main-loop", "a", "b"), "main-loop\ta\tb\n");
    }
}
