//! Writes `docs/algorithms/README.md` from the registry: `cargo run -p firstflight-control --example
//! algorithms_index`.

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
         `crates/schemes/src/registry.rs` or `not_implemented.rs` and run\n\
         `cargo run -p firstflight-control --example algorithms_index`.\n",
    );
    for (title, role) in [
        ("Start-up", Role::Startup),
        ("Congestion avoidance", Role::Avoidance),
        ("Both in one", Role::Standalone),
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
    page +=
        "\n## To come\n\nLabels that are reserved.\n\n| label | what it will do | source |\n|---|---|---|\n";
    for planned in PLANNED {
        let _ = writeln!(page, "| `{}` | {} | {} |", planned.name, planned.why, planned.source);
    }
    page += "\n## Not built\n\nWhat the papers name and no scheme here can honestly be.\n\n\
             | name | why not | named in |\n|---|---|---|\n";
    for absent in NOT_IMPLEMENTED {
        let _ = writeln!(page, "| {} | {} | {} |", absent.name, absent.why, absent.source);
    }
    page
}

fn main() -> std::io::Result<()> {
    std::fs::write(folder().join("README.md"), index())
}
