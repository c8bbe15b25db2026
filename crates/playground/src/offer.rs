//! Choices of the page.

use firstflight::preset::PRESETS;
use firstflight::quantity::{show_bytes, show_rate, show_time};
use firstflight::scheme::{Role, SCHEMES};
use firstflight::{DEFAULT_STARTUPS, Limit, Network, Profile, Scenario};
use serde::Serialize;

/// Presets and schemes to choose from.
#[derive(Debug, Serialize)]
pub(crate) struct Offer {
    presets: Vec<Choice>,
    /// Start-up schemes, and schemes that rule a whole connection; the usual ones first.
    startups: Vec<Scheme>,
    avoidances: Vec<Scheme>,
    profiles: Vec<&'static str>,
}

/// A preset, with its values as texts of the scenario format.
#[derive(Debug, Serialize)]
struct Choice {
    name: &'static str,
    title: String,
    rate: String,
    rtt: String,
    buffer: String,
    loss: f64,
}

#[derive(Debug, Serialize)]
struct Scheme {
    label: &'static str,
    summary: &'static str,
    /// Whether the usual comparison has it.
    usual: bool,
}

pub(crate) fn offer() -> Offer {
    let of_roles = |roles: &[Role]| {
        let mut all: Vec<Scheme> = SCHEMES
            .iter()
            .filter(|info| roles.contains(&info.role))
            .map(|info| Scheme {
                label: info.label,
                summary: info.summary,
                usual: DEFAULT_STARTUPS.contains(&info.label),
            })
            .collect();
        all.sort_by_key(|scheme| {
            let usual = DEFAULT_STARTUPS.iter().position(|&label| label == scheme.label);
            (usual.unwrap_or(usize::MAX), scheme.label)
        });
        all
    };
    Offer {
        presets: PRESETS.iter().map(|preset| choice(preset.name, &preset.load().scenario)).collect(),
        startups: of_roles(&[Role::Startup, Role::Standalone]),
        avoidances: of_roles(&[Role::Avoidance]),
        profiles: Profile::WORDS.to_vec(),
    }
}

fn choice(name: &'static str, scenario: &Scenario) -> Choice {
    let Network::Dumbbell(path) = &scenario.network else { unreachable!("presets are paths") };
    Choice {
        name,
        title: scenario.title.clone(),
        rate: show_rate(path.rate),
        rtt: show_time(path.rtt),
        buffer: show_limit(path.buffer),
        loss: path.loss,
    }
}

/// A buffer as the scenario format takes it.
pub(crate) fn show_limit(limit: Limit) -> String {
    match limit {
        Limit::Packets(packets) => format!("{packets} packets"),
        Limit::Bytes(bytes) => show_bytes(bytes),
    }
}
