//! Every scheme of the simulator has a picture that is up to date, and its page shows it.

#[path = "../examples/scheme_plots.rs"]
#[expect(dead_code, reason = "the example's main belongs to the example")]
mod example;

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};

use self::example::{Pictures, folder, images};
use firstflight_hosts::exhibit::{shown, stem};
use firstflight_hosts::simulator::Simulator;
use firstflight_schemes::registry::SCHEMES;

/// Largest size of a picture, bytes.
const MOST: usize = 30_000;

#[test]
fn every_picture_is_up_to_date() {
    let mut pictures = Pictures::default();
    for info in shown(&Simulator) {
        let path = images().join(stem(info) + ".svg");
        let drawn = pictures.svg(info).unwrap_or_else(|error| {
            panic!(
                "{}: {error}; if the common scenario does not suit the scheme, add one to scenarios/schemes",
                info.label
            )
        });
        assert!(drawn.len() < MOST, "{}: {} bytes", path.display(), drawn.len());
        assert!(
            read_to_string(&path).is_ok_and(|committed| committed == drawn),
            "{} is stale or missing: run `cargo run --release -p firstflight-report --example scheme_plots`",
            path.display()
        );
    }
}

#[test]
fn every_page_shows_its_picture() {
    for info in shown(&Simulator) {
        let page = folder("docs/algorithms").join(format!("{}.md", info.label));
        let text = read_to_string(&page).unwrap_or_default();
        let line = format!("![{}](images/{}.svg)", info.label, stem(info));
        assert!(text.contains(&line), "{} lacks the line {line}", page.display());
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
