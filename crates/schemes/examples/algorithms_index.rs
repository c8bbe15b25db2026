//! Writes `docs/algorithms/README.md` from the registry and adds new labels to `tests/labels.txt`; `make regenerate` runs it.

use std::fmt::Write as _;
use std::path::PathBuf;

use firstflight_contract::Role;
use firstflight_schemes::not_implemented::{NOT_IMPLEMENTED, PLANNED};
use firstflight_schemes::registry::SCHEMES;
use firstflight_schemes::scheme::Info;

/// The folder of the documentation pages.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms")
}

/// The whole index page.
pub(crate) fn index() -> String {
    let mut page = String::from(
        "# Algorithms\n\n\
         Every scheme that a scenario can name, from the registry. This page is generated: change \
         the scheme's file or\n`crates/schemes/src/not_implemented.rs` and run `make regenerate`.\n",
    );
    for (title, role) in [
        ("Start-up", Role::Startup),
        ("Congestion avoidance", Role::Avoidance),
        ("Start-up and avoidance in one", Role::Standalone),
    ] {
        let schemes: Vec<&Info> = SCHEMES.iter().filter(|s| s.role == role).collect();
        if schemes.is_empty() {
            continue;
        }
        let _ = write!(
            page,
            "\n## {title}\n\n| label | what it does | source | needs of the host |\n|---|---|---|---|\n"
        );
        for scheme in schemes {
            let needs: Vec<&str> = scheme.needs.names().collect();
            let needs = if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") };
            let _ = writeln!(
                page,
                "| [`{label}`]({label}.md) | {} | {} | {needs} |",
                scheme.summary,
                scheme.source,
                label = scheme.label
            );
        }
    }
    page += "\n## Planned\n\nTheir labels are reserved.\n\n| label | rule | source |\n|---|---|---|\n";
    for planned in PLANNED {
        let _ = writeln!(page, "| `{}` | {} | {} |", planned.name, planned.why, planned.source);
    }
    page += "\n## Not implemented\n\nSchemes that papers name and whose text does not suffice to implement them.\n\n\
             | name | reason | named in |\n|---|---|---|\n";
    for absent in NOT_IMPLEMENTED {
        let _ = writeln!(page, "| {} | {} | {} |", absent.name, absent.why, absent.source);
    }
    page
}

/// The labels of the registry and of the planned schemes.
pub(crate) fn labels() -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().map(|scheme| scheme.label).chain(PLANNED.iter().map(|planned| planned.name))
}

fn main() -> std::io::Result<()> {
    std::fs::write(folder().join("README.md"), index())?;
    // A released label is never removed.
    let released = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/labels.txt");
    let mut text = std::fs::read_to_string(&released)?;
    for label in labels() {
        if text.lines().all(|known| known != label) {
            text += label;
            text.push('\n');
        }
    }
    std::fs::write(&released, text)
}
