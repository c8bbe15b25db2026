//! The index of the schemes, and the list of released labels.

use std::fmt::Write as _;

use firstflight_contract::Role;
use firstflight_schemes::not_implemented::{NOT_IMPLEMENTED, PLANNED};
use firstflight_schemes::registry::SCHEMES;
use firstflight_schemes::scheme::Info;

use crate::{Made, Repository};

/// The whole index page.
fn index() -> String {
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

/// The index, and the labels with those of new schemes. A released label is never removed.
pub(crate) fn algorithms(repository: &Repository) -> Made {
    let released = "crates/schemes/tests/labels.txt";
    let mut text = repository.text(released)?;
    let registered = SCHEMES.iter().map(|scheme| scheme.label);
    for label in registered.chain(PLANNED.iter().map(|planned| planned.name)) {
        if text.lines().all(|known| known != label) {
            text += label;
            text.push('\n');
        }
    }
    Ok(vec![("docs/algorithms/README.md".into(), index().into()), (released.into(), text.into())])
}
