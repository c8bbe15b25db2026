//! The ten lines print a run and a ranking.

use std::process::Command;

#[test]
fn the_program_prints_the_run_and_three_ranked_schemes() {
    let output = Command::new(env!("CARGO_BIN_EXE_compare")).output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(lines[0].starts_with("hystart+++cubic: 0."), "{text}");
    let seconds =
        |line: &str| line.split(": ").last().and_then(|s| s.strip_suffix(" s")?.parse::<f64>().ok());
    let times: Vec<f64> = lines[1..].iter().map(|line| seconds(line).expect("a time")).collect();
    assert!(times.len() == 3 && times.is_sorted(), "{text}");
}

#[test]
fn the_documentation_shows_this_program() {
    let program = include_str!("../src/main.rs");
    let (_, program) = program.split_once("\n\n").expect("the program follows its description");
    let page = include_str!("../../../docs/map.md");
    assert!(page.contains(&format!("```rust\n{program}```")), "docs/map.md has another program");
}
