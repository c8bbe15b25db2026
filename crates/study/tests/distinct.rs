//! Every scheme behaves as itself: of two of the same role, one sends some packet at another time than the other, on the
//! checked-in lossy path or in the scenario of its own that one of them has.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use firstflight_control::scheme::{Info, Role};
use firstflight_control::units::Nanos;
use firstflight_scenario::{Loaded, PhaseSpec, SchemeSpec, load};
use firstflight_study::exhibit::{exhibit, plain_chain, shown, stem, with_scheme};
use firstflight_study::run::{RunOptions, trace};
use firstflight_study::trace::record::Event;

/// Labels that mean the same, with the reason: none.
const ALIASES: &[[&str; 3]] = &[];

/// When which segment left, nanoseconds; `None` where the scenario does not have what the scheme needs.
type Packets = Option<Vec<(u64, u32)>>;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// What the first flow sends.
fn packets(loaded: &Loaded) -> Packets {
    let options = RunOptions { runs: 1, seed: None, grid: Nanos::from_secs(1) };
    let mut recording = trace(loaded, &options).ok()?;
    let sent = recording.flows.swap_remove(0).events.into_iter().filter_map(|(at, event)| match event {
        Event::Data(data) => Some((at, data.segment)),
        _ => None,
    });
    Some(sent.collect())
}

/// The scenario in which a scheme is shown, and whether it is another than that of most schemes of its role.
fn exhibited(info: &Info) -> (Loaded, bool) {
    let exhibit = exhibit(&repository("scenarios/schemes"), info).unwrap_or_else(|error| panic!("{error}"));
    (exhibit.loaded, exhibit.file != format!("{}.toml", info.role.label()))
}

/// The same with another scheme in the place of `info`'s.
fn instead(loaded: &Loaded, info: &Info, other: &Info) -> Loaded {
    let phases = loaded.scenario.flows[0].scheme.phases().iter().map(|phase| {
        if phase.label() == info.label && phase.role() == info.role {
            PhaseSpec::new(other.label, &[other.role]).expect("a registered label")
        } else {
            phase.clone()
        }
    });
    let scheme = SchemeSpec::new(phases.collect()).expect("a scheme of the same role in its place");
    with_scheme(loaded.clone(), scheme).expect("it has a flow")
}

/// A scheme, and what it sends where.
struct Seen {
    info: &'static Info,
    on_lossy: Packets,
    /// What it sends in the scenario in which it is shown, if that is another than most schemes' of its role.
    apart: OnceCell<Option<(Loaded, Packets)>>,
}

impl Seen {
    fn apart(&self) -> Option<&(Loaded, Packets)> {
        let seen = || {
            let (loaded, apart) = exhibited(self.info);
            let sent = packets(&loaded);
            apart.then_some((loaded, sent))
        };
        self.apart.get_or_init(seen).as_ref()
    }

    /// Whether the scenario in which it is shown tells it from `other`.
    fn is_told_from(&self, other: &Self) -> bool {
        self.apart().is_some_and(|(loaded, sent)| *sent != packets(&instead(loaded, self.info, other.info)))
    }
}

#[test]
fn no_two_schemes_of_a_role_send_the_same_packets_at_the_same_times() {
    let lossy = load(&repository("scenarios/lossy.toml")).unwrap_or_else(|error| panic!("{error}"));
    let on_lossy =
        |info: &Info| packets(&with_scheme(lossy.clone(), plain_chain(info)).expect("it has a flow"));
    for role in [Role::Startup, Role::Avoidance, Role::Whole] {
        let seen = |info| Seen { info, on_lossy: on_lossy(info), apart: OnceCell::new() };
        let schemes: Vec<Seen> = shown().filter(|info| info.role == role).map(seen).collect();
        for (index, a) in schemes.iter().enumerate() {
            assert!(
                a.on_lossy.is_some() || packets(&exhibited(a.info).0).is_some(),
                "lossy.toml does not have what {0} needs; scenarios/schemes/{0}.toml must",
                stem(a.info)
            );
            for b in &schemes[..index] {
                let labels = [b.info.label, a.info.label];
                let alias = ALIASES.iter().any(|[x, y, _]| [*x, *y] == labels);
                let told = a.on_lossy != b.on_lossy || a.is_told_from(b) || b.is_told_from(a);
                assert_ne!(alias, told, "{} and {}: told apart, or listed as aliases", labels[0], labels[1]);
            }
        }
    }
}
