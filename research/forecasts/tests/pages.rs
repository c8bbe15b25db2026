//! Tables of the documentation are those that the programs print.

use std::path::Path;
use std::process::Command;

#[test]
fn the_page_of_captures_has_the_lines_that_truth_prints() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(repository.join("docs/captures.md")).expect("docs/captures.md");
    let mut command = Command::new(env!("CARGO_BIN_EXE_truth"));
    let printed =
        command.arg("crates/capture/testdata").current_dir(&repository).output().expect("truth starts");
    let printed = String::from_utf8(printed.stdout).expect("UTF-8");
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with("| p")).collect();
    assert_eq!(lines.len(), 3, "{printed}");
    for line in lines {
        assert!(page.contains(&format!("\n{line}\n")), "docs/captures.md lacks {line}");
    }
}
