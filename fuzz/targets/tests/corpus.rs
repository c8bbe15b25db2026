//! Every file of the corpora, replayed.

use std::collections::BTreeSet;

use firstflight_fuzz_targets::{TARGETS, corpus, folder};

#[test]
fn no_file_of_a_corpus_makes_its_target_fail() {
    let mut failing = vec![];
    for target in TARGETS {
        let files = corpus(target).expect("every target has a corpus");
        assert!(!files.is_empty(), "{} has no corpus", target.name);
        for (name, bytes) in files {
            if std::panic::catch_unwind(|| (target.run)(&bytes)).is_err() {
                failing.push(format!("{}/{name}", target.name));
            }
        }
    }
    assert!(failing.is_empty(), "{failing:#?}");
}

#[test]
fn corpora_and_programs_of_cargo_fuzz_belong_to_the_targets() {
    let names: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let entries = |inner: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder().join(inner)).expect("a folder of fuzz").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned()).collect()
    };
    assert_eq!(entries("corpus"), names);
    assert_eq!(entries("fuzz_targets"), names);
    let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).expect("the manifest");
    for name in &names {
        assert!(
            manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
        let program =
            std::fs::read_to_string(folder().join(format!("fuzz_targets/{name}.rs"))).expect("the program");
        assert!(program.contains(&format!("execute(\"{name}\", bytes)")), "{program}");
    }
    assert!(TARGETS.is_sorted_by_key(|target| target.name));
}

#[test]
fn corpora_stay_small() {
    let (mut files, mut bytes) = (0, 0);
    for target in TARGETS {
        for (name, content) in corpus(target).expect("a corpus") {
            assert!(content.len() <= target.longest, "{}/{name} has {} bytes", target.name, content.len());
            (files, bytes) = (files + 1, bytes + content.len());
        }
    }
    assert!(files <= 600 && bytes <= 1 << 20, "{files} files of {bytes} bytes");
}
