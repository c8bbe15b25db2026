//! Every scheme is distinct: of two schemes with the same role, one sends some packet at another time than
//! the other, on the checked-in lossy path or in the exhibit scenario of one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use firstflight_contract::Role;
use firstflight_hosts::exhibit::{Exhibit, exhibit, plain_chain, shown, stem, with_scheme};
use firstflight_hosts::run::{RunOptions, trace};
use firstflight_hosts::simulator::Simulator;
use firstflight_hosts::trace::record::Event;
use firstflight_scenario::{Loaded, PhaseSpec, SchemeSpec, load};
use firstflight_schemes::scheme::Info;

/// Pairs of labels with the same behaviour, with the reason: none.
const ALIASES: &[[&str; 3]] = &[];

/// Time, nanoseconds, and segment of each packet sent; `None` if the scenario does not meet the scheme's
/// needs.
type Packets = Option<Vec<(u64, u32)>>;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Scenarios and the packets that schemes send in them; each combination runs once.
struct Runs {
    lossy: Loaded,
    /// By file and label.
    known: BTreeMap<(String, &'static str), Packets>,
}

impl Runs {
    fn packets(&mut self, file: &str, label: &'static str, scenario: impl FnOnce() -> Loaded) -> &Packets {
        self.known.entry((file.to_owned(), label)).or_insert_with(|| packets(&scenario()))
    }

    /// Packets of a scheme on the lossy path.
    fn on_lossy(&mut self, info: &'static Info) -> Packets {
        let lossy = self.lossy.clone();
        self.packets("lossy.toml", info.label, || {
            with_scheme(lossy, plain_chain(info)).expect("the scenario has a flow")
        })
        .clone()
    }

    /// Whether the exhibit scenario of `info` distinguishes it from `other`; false if that scenario is the
    /// common one of its role.
    fn shown_apart(&mut self, info: &'static Info, other: &'static Info) -> bool {
        let shown = exhibited(info);
        if shown.file == format!("{}.toml", info.role.label()) {
            return false;
        }
        let own = self.packets(&shown.file, info.label, || shown.loaded.clone()).clone();
        own != *self.packets(&shown.file, other.label, || instead(&shown.loaded, info, other))
    }
}

/// Packets of the first flow.
fn packets(loaded: &Loaded) -> Packets {
    let options = RunOptions::default();
    let mut recording = trace(&Simulator, loaded, &options).ok()?;
    let sent = recording.flows.swap_remove(0).events.into_iter().filter_map(|(at, event)| match event {
        Event::Data(data) => Some((at, data.segment)),
        _ => None,
    });
    Some(sent.collect())
}

/// Exhibit of a scheme.
fn exhibited(info: &Info) -> Exhibit {
    let text = |name: &str| std::fs::read_to_string(repository("scenarios/schemes").join(name)).ok();
    exhibit(text, info).unwrap_or_else(|error| panic!("{error}"))
}

/// Replaces the scheme of `info` by another one.
fn instead(loaded: &Loaded, info: &Info, other: &Info) -> Loaded {
    let phases = loaded.scenario.flows[0].scheme.phases().iter().map(|phase| {
        if phase.label() == info.label && phase.role() == info.role {
            PhaseSpec::new(other.label, &[other.role]).expect("a registered label")
        } else {
            phase.clone()
        }
    });
    let scheme = SchemeSpec::new(phases.collect()).expect("a scheme of the same role in its place");
    with_scheme(loaded.clone(), scheme).expect("the scenario has a flow")
}

#[test]
fn no_two_schemes_of_a_role_send_the_same_packets_at_the_same_times() {
    let lossy = load(&repository("scenarios/lossy.toml")).unwrap_or_else(|error| panic!("{error}"));
    let mut runs = Runs { lossy, known: BTreeMap::new() };
    for role in [Role::Startup, Role::Avoidance, Role::Standalone] {
        let schemes: Vec<&Info> = shown(&Simulator).filter(|info| info.role == role).collect();
        for (index, a) in schemes.iter().copied().enumerate() {
            let on_lossy = runs.on_lossy(a);
            if on_lossy.is_none() {
                let shown = exhibited(a);
                let runs_there = runs.packets(&shown.file, a.label, || shown.loaded).is_some();
                let own = stem(a);
                assert!(
                    runs_there,
                    "lossy.toml does not meet the needs of {own}; scenarios/schemes/{own}.toml must"
                );
            }
            for b in schemes[..index].iter().copied() {
                let alias = ALIASES.iter().any(|[x, y, _]| [*x, *y] == [b.label, a.label]);
                // If one of the two does not run on the lossy path, that path cannot distinguish them.
                let other = runs.on_lossy(b);
                let there = on_lossy.is_some() && other.is_some() && on_lossy != other;
                let distinct = there || runs.shown_apart(a, b) || runs.shown_apart(b, a);
                assert_ne!(
                    alias, distinct,
                    "{} and {}: must differ or be listed as aliases",
                    b.label, a.label
                );
            }
        }
    }
}
