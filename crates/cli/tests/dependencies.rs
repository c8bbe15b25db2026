//! Dependencies follow the rules of `deny.toml`: licences, sources, one version of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};
use toml::Table;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rules. A rule that this file does not check would be no rule.
fn rules() -> Table {
    let text = std::fs::read_to_string(repository().join("deny.toml")).expect("deny.toml");
    let rules: Table = text.parse().expect("deny.toml is TOML");
    let keys = |section: &str| rules[section].as_table().expect(section).keys().cloned().collect::<Vec<_>>();
    assert_eq!(rules.keys().collect::<Vec<_>>(), ["bans", "graph", "licenses", "sources"]);
    assert_eq!(keys("graph"), ["all-features"]);
    assert_eq!(keys("licenses"), ["allow", "exceptions", "private"]);
    assert_eq!(keys("bans"), ["allow-wildcard-paths", "multiple-versions", "skip", "wildcards"]);
    assert_eq!(keys("sources"), ["unknown-git", "unknown-registry"]);
    rules
}

/// Packages that the workspace depends on, with all features and for every platform, as `cargo metadata` describes them. `None`
/// without a network, from which the manifests for other platforms may have to come.
fn metadata() -> Option<Value> {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["metadata", "--locked", "--all-features", "--format-version", "1"])
        .current_dir(repository());
    let done = command.output().expect("cargo starts");
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() && said.contains("failed to download") {
        firstflight_skip::skip(said);
        return None;
    }
    assert!(done.status.success(), "{said}");
    Some(serde_json::from_slice(&done.stdout).expect("JSON"))
}

fn words(value: &toml::Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|word| word.as_str().expect("a word")).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Whether a licence of the expression is allowed. An expression may separate licences by `/`, as cargo once did.
fn allowed(expression: &str, allow: &[&str]) -> bool {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX);
    parsed.is_ok_and(|parsed| parsed.evaluate(|licence| allow.contains(&licence.to_string().as_str())))
}

/// Breaches of the rules, in words.
fn broken(rules: &Table, metadata: &Value) -> Vec<String> {
    let licenses = &rules["licenses"];
    let exceptions = licenses["exceptions"].as_array().expect("a list");
    let skip = rules["bans"]["skip"].as_array().expect("a list");
    let mut broken = vec![];
    let mut registry = None;
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut needed = vec![false; skip.len() + exceptions.len()];
    let used = metadata["resolve"]["nodes"].as_array().expect("the graph");
    let packages = metadata["packages"].as_array().expect("packages");
    for package in packages.iter().filter(|package| used.iter().any(|node| node["id"] == package["id"])) {
        let (name, version, source) = (text(package, "name"), text(package, "version"), &package["source"]);
        versions.entry(name).or_default().push(version);
        let requirements = package["dependencies"].as_array().expect("dependencies");
        if source.is_null() {
            // A package of this workspace.
            for one in requirements.iter().filter(|one| one["req"] == "*" && one["path"].is_null()) {
                broken.push(format!("{name} takes any version of {}", text(one, "name")));
            }
            continue;
        }
        // The registry is one for all: that of the first package.
        if !text(package, "source").starts_with("registry+") || registry.get_or_insert(source) != &source {
            broken.push(format!("{name} {version} comes from {source}"));
        }
        let mut allow = words(&licenses["allow"]);
        for (index, exception) in exceptions.iter().enumerate() {
            if exception["crate"].as_str() == Some(name) {
                needed[skip.len() + index] |= !allowed(text(package, "license"), &allow);
                allow.extend(words(&exception["allow"]));
            }
        }
        if !allowed(text(package, "license"), &allow) {
            broken.push(format!("{name} {version} has the licence {}", package["license"]));
        }
    }
    for (name, all) in versions.iter().filter(|(_, all)| all.len() > 1) {
        let is_skipped = |version: &&&str| {
            let place = skip.iter().position(|one| {
                let (known, of) =
                    one["crate"].as_str().and_then(|it| it.split_once('@')).expect("name@version");
                known == *name && version.strip_prefix(of).is_some_and(|rest| rest.starts_with('.'))
            });
            place.inspect(|&place| needed[place] = true).is_some()
        };
        let left = all.len() - all.iter().filter(is_skipped).count();
        if left != 1 {
            broken.push(format!("{name} has the versions {}", all.join(", ")));
        }
    }
    let unneeded = skip.iter().chain(exceptions).zip(needed).filter(|(_, needed)| !needed);
    broken.extend(
        unneeded.map(|(one, _)| format!("deny.toml has an exception for {}, which needs none", one["crate"])),
    );
    broken
}

#[test]
fn dependencies_follow_the_rules() {
    let Some(metadata) = metadata() else { return };
    let broken = broken(&rules(), &metadata);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn what_breaks_a_rule_is_found() {
    let rules: Table = "[licenses]\nallow = [\"MIT\", \"Apache-2.0\"]\n\
         exceptions = [{ allow = [\"MPL-2.0\"], crate = \"a\" }]\n\
         [bans]\nskip = [{ crate = \"b@0.1\" }, { crate = \"c@3\" }]"
        .parse()
        .expect("rules");
    let index = "registry+https://example.org/index";
    let package = |name: &str, version: &str, license: &str, source: &str| {
        serde_json::json!({ "id": format!("{name} {version}"), "name": name, "version": version, "license": license,
            "source": source, "dependencies": [] })
    };
    let own = serde_json::json!({ "id": "own", "name": "own", "version": "0.1.0", "source": null,
        "dependencies": [{ "name": "a", "req": "*", "path": null }, { "name": "near", "req": "*", "path": "/near" }] });
    let packages = [
        own,
        package("a", "1.0.0", "MPL-2.0", index),
        package("b", "0.1.7", "MIT OR GPL-3.0-only", index),
        package("b", "0.2.0", "MIT/Apache-2.0", index),
        package("b", "0.10.0", "MIT AND GPL-3.0-only", index),
        package("d", "1.0.0", "", "git+https://example.org/d"),
        package("e", "1.0.0", "MIT", "registry+https://example.org/other"),
        package("unused", "1.0.0", "GPL-3.0-only", index),
    ];
    let nodes: Vec<Value> =
        packages[..7].iter().map(|package| serde_json::json!({ "id": package["id"] })).collect();
    let metadata = serde_json::json!({ "packages": packages, "resolve": { "nodes": nodes } });
    assert_eq!(
        broken(&rules, &metadata),
        [
            "own takes any version of a",
            "b 0.10.0 has the licence \"MIT AND GPL-3.0-only\"",
            "d 1.0.0 comes from \"git+https://example.org/d\"",
            "d 1.0.0 has the licence \"\"",
            "e 1.0.0 comes from \"registry+https://example.org/other\"",
            "b has the versions 0.1.7, 0.2.0, 0.10.0",
            "deny.toml has an exception for \"c@3\", which needs none",
        ]
    );
}

#[test]
fn the_program_of_a_first_run_needs_no_server_no_stack_and_no_library_in_c() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--package", "firstflight-cli", "--no-default-features"])
        .args(["--edges", "normal,build", "--prefix", "none", "--format", "{p}"])
        .current_dir(repository())
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&tree.stderr);
    if !tree.status.success() && said.contains("offline") {
        return firstflight_skip::skip(said);
    }
    assert!(tree.status.success(), "{said}");
    let names = String::from_utf8(tree.stdout).expect("names of packages");
    let names: Vec<&str> = names.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"firstflight-compare") && names.contains(&"parquet"), "{names:?}");
    for absent in ["axum", "cc", "libbpf-sys", "quinn-proto", "redis", "ring", "rustls", "tokio"] {
        assert!(!names.contains(&absent), "{absent} is built for the first answer");
    }
    for absent in ["daemon", "gateway", "hooks", "kernel", "lab", "league", "quic", "reproduce"] {
        assert!(
            !names.contains(&&*format!("firstflight-{absent}")),
            "{absent} is built for the first answer"
        );
    }
}
