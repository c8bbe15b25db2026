//! Rules of the sources: where 128-bit integers, floating point and allocation may appear.

use std::fs;
use std::path::{Path, PathBuf};

/// Primitive types of 128 bits.
const WIDE: &[&str] = &["u128", "i128"];
/// Primitive types of floating point.
const FLOATS: &[&str] = &["f32", "f64"];
/// Crates outside `core`.
const OUTSIDE_CORE: &[&str] = &["alloc", "std"];

/// Files with 128-bit integers, relative to `crates`, and the reason.
const WIDE_FILES: &[(&str, &str)] = &[
    ("contract/src/mul_div.rs", "the arithmetic itself"),
    ("gateway/src/table.rs", "the hash of an IPv6 address"),
    ("paths/src/group.rs", "bits of an IPv6 prefix"),
    ("paths/src/lib.rs", "bits of an IPv6 address"),
    ("paths/src/recent.rs", "bits of an IPv6 address"),
];

/// Crates that read numbers of any size from a file before they check the range.
const READERS: &[&str] = &["capture", "document", "scenario"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every Rust file below `folder` by its path relative to `crates`, with its text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = vec![];
    let mut folders = vec![crates().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source is UTF-8");
                let name = path.strip_prefix(crates()).expect("a path below crates");
                found.push((name.to_string_lossy().replace('\\', "/"), text));
            }
        }
    }
    found.sort();
    found
}

/// Names of the workspace's crates.
fn crate_names() -> Vec<String> {
    let entries = fs::read_dir(crates()).expect("the crates' folder").flatten();
    let names = entries.filter(|entry| entry.path().join("src").is_dir());
    names.map(|entry| entry.file_name().into_string().expect("a crate's name is ASCII")).collect()
}

/// `line` without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// Lines of code with one of `words`, as `file:line: code`. A word may follow the digits of a literal: `1_u128`, `1f64`.
fn lines_with(file: &str, text: &str, words: &[&str]) -> Vec<String> {
    let has = |code: &str| {
        words.iter().any(|word| {
            code.match_indices(word).any(|(at, _)| {
                let before =
                    code[..at].trim_end_matches(|c: char| c.is_ascii_digit() || c == '_' || c == '.');
                let literal = before.len() < at && code.as_bytes()[before.len()].is_ascii_digit();
                let starts =
                    literal || !before.ends_with(|c: char| c.is_alphanumeric()) && before.len() == at;
                let rest = &code[at + word.len()..];
                starts && !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        })
    };
    let lines = text.lines().enumerate().filter(|(_, line)| has(code(line)));
    lines.map(|(index, line)| format!("{file}:{}: {}", index + 1, line.trim())).collect()
}

/// Whether the code of `line` has a floating-point literal such as `0.5`; `pair.0.1` is none.
fn has_float_literal(line: &str) -> bool {
    let code = code(line);
    code.match_indices('.').any(|(at, _)| {
        let whole = code[..at].trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
        let literal = whole.len() < at && !whole.ends_with(|c: char| c.is_alphanumeric() || c == '.');
        literal && code[at + 1..].starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Code before the tests of a file, which may use the standard library.
fn before_tests(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

#[test]
fn all_128_bit_arithmetic_is_in_mul_div() {
    let mut wrong = vec![];
    let mut seen = vec![];
    for name in crate_names().into_iter().filter(|name| !READERS.contains(&name.as_str())) {
        for (file, text) in sources(&format!("{name}/src")) {
            let lines = lines_with(&file, &text, WIDE);
            if WIDE_FILES.iter().any(|(exempt, _)| *exempt == file) {
                seen.extend((!lines.is_empty()).then_some(file));
            } else {
                wrong.extend(lines);
            }
        }
    }
    assert!(wrong.is_empty(), "use firstflight_contract::mul_div and its relatives:\n{}", wrong.join("\n"));
    for (file, _) in WIDE_FILES {
        assert!(seen.iter().any(|s| s == file), "{file} has no 128-bit integer: remove it from WIDE_FILES");
    }
}

#[test]
fn contract_and_host_have_no_floating_point() {
    let files = ["contract/src", "host/src"].into_iter().flat_map(sources);
    let wrong: Vec<_> = files
        .flat_map(|(file, text)| {
            let literals = text.lines().filter(|line| has_float_literal(line));
            let literals: Vec<_> = literals.map(|line| format!("{file}: {}", line.trim())).collect();
            [lines_with(&file, &text, FLOATS), literals].concat()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn contract_uses_core_only() {
    let files = sources("contract/src");
    let lib = files.iter().find(|(file, _)| file == "contract/src/lib.rs").expect("the crate's root");
    assert!(lib.1.contains("#![no_std]"));
    let wrong: Vec<_> = files
        .iter()
        .flat_map(|(file, text)| lines_with(file, before_tests(text), OUTSIDE_CORE))
        .filter(|line| !line.contains("no_std"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_word_is_found_with_its_file_and_line_and_nowhere_else() {
    let text = "let a = 1;\nlet b = 2_u128; // u128\n// u128\nlet c: u128 = 0;\nlet d = x as u128;\nlet e = 3u128;\n";
    let found = lines_with("a.rs", text, WIDE);
    let numbers: Vec<_> = found.iter().map(|line| line.split(':').nth(1).unwrap()).collect();
    assert_eq!(numbers, ["2", "4", "5", "6"]);
    assert_eq!(found[0], "a.rs:2: let b = 2_u128; // u128");
    let other = "let my_u128 = to_u128(x); let u128s = au128;\n";
    assert_eq!(lines_with("a.rs", other, WIDE), [""; 0]);
    assert_eq!(lines_with("a.rs", "let x = 1.0_f64 + 2.5f64;\n", FLOATS).len(), 1);
    assert!(has_float_literal("let half = 0.5;") && has_float_literal("(1_0.25)"));
    assert!(!has_float_literal("pair.0.1 + a[0..1] + x1.0 // 0.5"));
}
