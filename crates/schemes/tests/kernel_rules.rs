//! Rules for the sources of schemes, so that the same source also runs in the Linux kernel: no floating point outside
//! parameters, no allocation, no sorting, and loops with a constant number of turns.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that the code of a scheme may not contain, and the reason.
const FORBIDDEN: &[(&str, &str)] = &[
    ("f32", "floating point; a parameter of the type `Fixed` is calculated once"),
    ("f64", "floating point; a parameter of the type `Fixed` is calculated once"),
    ("Box", "allocation"),
    ("Vec", "allocation"),
    ("vec", "allocation"),
    ("String", "allocation"),
    ("format", "allocation"),
    ("sort", "sorting"),
    ("sort_by", "sorting"),
    ("sort_unstable", "sorting"),
    ("loop", "a loop without a constant number of turns"),
    ("while", "a loop without a constant number of turns"),
];

/// Lines that break a rule, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("startup/iss.rs", "alpha: f64 in", "a parameter of the path's memory, which the scheme does not read"),
    ("startup/miss.rs", "lambda: f64 in", "a parameter of the path's memory, which the scheme does not read"),
    ("startup/miss.rs", "theta: f64 in", "a parameter of the path's memory, which the scheme does not read"),
    ("avoidance/highspeed.rs", "while bit < UNIT_BITS", "16 turns; a const fn has no `for`"),
    ("avoidance/highspeed.rs", "while i < roots.len()", "16 turns; a const block has no `for`"),
];

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The sources of schemes and of their estimators without tests: path below `src`, text.
fn sources() -> Vec<(String, String)> {
    let mut folders =
        ["startup", "avoidance", "standalone", "estimate"].map(|name| src().join(name)).to_vec();
    let mut found = vec![];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("readable").path();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("UTF-8");
            if ["tests", "test_sender"].contains(&stem) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                let name = path.strip_prefix(src()).expect("below src").to_string_lossy().replace('\\', "/");
                found.push((name, code.to_owned()));
            }
        }
    }
    found
}

/// The words of a line of code, without its comment and its texts.
fn words(line: &str) -> Vec<&str> {
    let code = line.split("//").next().unwrap_or_default();
    let code = if code.contains('"') { code.split('"').next().unwrap_or_default() } else { code };
    code.split(|c: char| !c.is_alphanumeric() && c != '_').collect()
}

#[test]
fn a_scheme_has_no_floating_point_no_allocation_no_sorting_and_no_open_loop() {
    let mut broken = vec![];
    let mut used = vec![false; EXCEPTIONS.len()];
    let sources = sources();
    assert!(sources.len() > 40, "only {} files found", sources.len());
    for (file, code) in &sources {
        for (number, line) in code.lines().enumerate() {
            for (word, why) in FORBIDDEN {
                if !words(line).contains(word) {
                    continue;
                }
                match EXCEPTIONS.iter().position(|(f, part, _)| f == file && line.contains(part)) {
                    Some(at) => used[at] = true,
                    None => broken.push(format!("{file}:{}: {why}: {}", number + 1, line.trim())),
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(used.iter().all(|used| *used), "an exception is no longer needed: {used:?}");
}

#[test]
fn the_crate_needs_no_standard_library() {
    let lib = fs::read_to_string(src().join("lib.rs")).expect("UTF-8");
    assert!(lib.contains("#![cfg_attr(not(test), no_std)]"));
}

#[test]
fn words_of_comments_and_texts_do_not_count() {
    assert_eq!(words("// while 1.0_f64"), [""]);
    assert!(words("let x: f64 = 1.0; // f32").contains(&"f64"));
    assert!(!words("let x: f64 = 1.0; // f32").contains(&"f32"));
    assert!(!words("summary: \"waits for a while\",").contains(&"while"));
}
