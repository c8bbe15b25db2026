//! Every scheme of the simulator has a picture, and its page shows it.

use std::collections::BTreeSet;
use std::fs::{metadata, read_dir, read_to_string};
use std::path::{Path, PathBuf};

use firstflight_hosts::exhibit::{shown, stem};
use firstflight_hosts::simulator::Simulator;
use firstflight_schemes::registry::SCHEMES;

/// Largest size of a picture, bytes.
const MOST: u64 = 30_000;

/// A folder of the repository.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

#[test]
fn every_page_shows_its_picture_which_is_small() {
    for info in shown(&Simulator) {
        let page = folder("docs/algorithms").join(format!("{}.md", info.label));
        let text = read_to_string(&page).unwrap_or_default();
        let line = format!("![{}](images/{}.svg)", info.label, stem(info));
        assert!(text.contains(&line), "{} lacks the line {line}", page.display());
        let picture = folder("docs/algorithms/images").join(stem(info) + ".svg");
        let bytes = metadata(&picture).map_or(0, |file| file.len());
        assert!((1..MOST).contains(&bytes), "{}: {bytes} bytes", picture.display());
    }
}

#[test]
fn every_picture_and_every_scenario_belongs_to_a_scheme() {
    let stems: BTreeSet<String> = SCHEMES.iter().map(stem).collect();
    let roles = SCHEMES.iter().map(|info| info.role.label().to_owned());
    let common = roles.chain(["path-memory".to_owned()]);
    let scenarios: BTreeSet<String> = stems.iter().cloned().chain(common).collect();
    for (name, suffix, known) in
        [("docs/algorithms/images", ".svg", &stems), ("scenarios/schemes", ".toml", &scenarios)]
    {
        for entry in read_dir(folder(name)).expect("a folder of the repository") {
            let file = entry.expect("readable").file_name().into_string().expect("UTF-8");
            let stem = file.strip_suffix(suffix);
            assert!(stem.is_some_and(|stem| known.contains(stem)), "{name}/{file} belongs to no scheme");
        }
    }
}
