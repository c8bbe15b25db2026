//! Every scheme has its file, its line in the registry and its page; the page states its parameters.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use firstflight_contract::{Nanos, Rate, Role};
use firstflight_schemes::not_implemented::{NOT_IMPLEMENTED, PLANNED};
use firstflight_schemes::registry::{AnyPhase, ParamError, SCHEMES};
use firstflight_schemes::scheme::{Param, ParamKind, Value};

/// Labels of released versions, one a line, on which scenarios and scripts rely. `make regenerate` adds labels.
const RELEASED: &str = include_str!("labels.txt");

/// The folder of the documentation pages.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms")
}

fn source_file(label: &str, role: Role) -> PathBuf {
    let folder = match role {
        Role::Startup => "startup",
        Role::Avoidance => "avoidance",
        Role::Standalone => "standalone",
    };
    let name = label.replace("++", "-pp").replace('-', "_");
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder).join(name + ".rs")
}

/// A parameter's default as a scenario would give it.
fn parse(param: &Param) -> Option<Value> {
    let (number, unit) = param.default.split_once(' ').unwrap_or((param.default, ""));
    match param.kind {
        ParamKind::Number { .. } if unit.is_empty() => number.parse().ok().map(Value::Number),
        ParamKind::Time => {
            let scale = match unit {
                "ns" => 1,
                "us" => 1_000,
                "ms" => 1_000_000,
                "s" => 1_000_000_000,
                _ => return None,
            };
            number.parse::<u64>().ok().map(|n| Value::Time(Nanos(n * scale)))
        }
        ParamKind::Packets if unit == "packets" => number.parse().ok().map(Value::Packets),
        ParamKind::Rate if unit == "Mbit/s" => {
            number.parse::<f64>().ok().map(|n| Value::Rate(Rate((n * 1e6).round() as u64)))
        }
        ParamKind::Flag => param.default.parse().ok().map(Value::Flag),
        ParamKind::Choice(words) => words.iter().position(|w| *w == param.default).map(Value::Choice),
        _ => None,
    }
}

#[test]
fn no_two_schemes_have_one_label_in_one_role() {
    let mut seen = BTreeSet::new();
    for scheme in SCHEMES {
        assert!(seen.insert((scheme.role, scheme.label)), "{} is registered twice", scheme.label);
    }
    for planned in PLANNED {
        let registered = SCHEMES.iter().any(|scheme| scheme.label == planned.name);
        assert!(!registered, "{} is registered and still listed as planned", planned.name);
    }
}

#[test]
fn the_released_labels_are_those_of_the_registry_and_of_the_planned_schemes() {
    let registered = SCHEMES.iter().map(|scheme| scheme.label);
    let known: BTreeSet<_> = registered.chain(PLANNED.iter().map(|planned| planned.name)).collect();
    let released: BTreeSet<_> = RELEASED.lines().collect();
    let gone: Vec<_> = released.difference(&known).collect();
    assert!(gone.is_empty(), "released labels that no scheme has: {gone:?}");
    let new: Vec<_> = known.difference(&released).collect();
    assert!(new.is_empty(), "tests/labels.txt lacks {new:?}: run `make regenerate`");
    for entry in NOT_IMPLEMENTED {
        assert!(!known.contains(entry.name), "{} is not implemented and has a label", entry.name);
    }
}

#[test]
fn every_scheme_has_its_file_and_its_page_and_a_source() {
    for scheme in SCHEMES {
        let file = source_file(scheme.label, scheme.role);
        assert!(file.is_file(), "{} has no file {}", scheme.label, file.display());
        let page = folder().join(scheme.label.to_owned() + ".md");
        let text = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        assert!(text.starts_with(&format!("# {}\n", scheme.label)), "{} has another title", page.display());
        for heading in ["## Parameters", "## Departures", "## References"] {
            assert!(text.contains(heading), "{} lacks {heading}", page.display());
        }
        assert!(!scheme.source.is_empty() && !scheme.summary.is_empty(), "{} says nothing", scheme.label);
    }
}

#[test]
fn every_page_has_its_scheme() {
    for entry in std::fs::read_dir(folder()).expect("docs/algorithms exists") {
        let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
        let Some(label) = name.strip_suffix(".md").filter(|l| *l != "README") else { continue };
        assert!(SCHEMES.iter().any(|s| s.label == label), "docs/algorithms/{name} describes no scheme");
    }
}

#[test]
fn every_source_file_of_a_scheme_is_registered() {
    for (folder, role) in
        [("startup", Role::Startup), ("avoidance", Role::Avoidance), ("standalone", Role::Standalone)]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
        for entry in std::fs::read_dir(path).expect("source folder exists") {
            let file = entry.expect("readable").path();
            let stem = file.file_stem().and_then(|s| s.to_str()).expect("UTF-8");
            // `planned` is what the schemes that follow a plan have in common.
            if ["mod", "planned", "test_sender"].contains(&stem) {
                continue;
            }
            // A scheme of several files has the others in a folder of its name.
            let file = file.with_extension("rs");
            assert!(
                SCHEMES.iter().any(|s| s.role == role && source_file(s.label, role) == file),
                "{} is not registered",
                file.display()
            );
        }
    }
}

#[test]
fn the_printed_default_of_every_parameter_is_the_default_in_force() {
    for scheme in SCHEMES {
        let untouched = AnyPhase::with_role(scheme.label, &[scheme.role]).expect("registered");
        let mut set = untouched.clone();
        for param in scheme.params {
            let value = parse(param).unwrap_or_else(|| {
                panic!("{} {}: {:?} does not parse", scheme.label, param.name, param.default)
            });
            assert_eq!(set.set(param.name, value), Ok(()), "{} {}", scheme.label, param.name);
        }
        assert_eq!(format!("{set:?}"), format!("{untouched:?}"), "{}", scheme.label);
    }
}

#[test]
fn every_parameter_stands_on_its_page_with_its_default() {
    for scheme in SCHEMES {
        let text =
            std::fs::read_to_string(folder().join(scheme.label.to_owned() + ".md")).expect("page exists");
        for param in scheme.params {
            let row = format!("| `{}` | {} |", param.name, param.default);
            assert!(text.contains(&row), "docs/algorithms/{}.md lacks the row {row}", scheme.label);
        }
    }
}

#[test]
fn an_unknown_parameter_names_the_known_ones_and_a_value_out_of_range_is_refused() {
    let mut cubic = AnyPhase::by_label("cubic").expect("registered");
    assert_eq!(
        cubic.set("betta", Value::Number(0.5)),
        Err(ParamError::Unknown(vec!["rules", "c", "beta", "fast_convergence", "jiffy"]))
    );
    let expected = ParamKind::Number { min: 0.1, max: 0.95 };
    for wrong in [Value::Number(1.5), Value::Number(f64::NAN), Value::Flag(true)] {
        assert_eq!(cubic.set("beta", wrong), Err(ParamError::Invalid { expected }));
    }
}
