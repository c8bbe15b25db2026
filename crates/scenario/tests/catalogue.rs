//! Scenarios that name schemes outside the registry.

use firstflight_contract::{Ack, Congestion, Control, Entry, Phase, Role, Step, slow_start};
use firstflight_document::Problem;
use firstflight_scenario::{Scenario, build, parse, parse_with};
use firstflight_schemes::catalogue::Schemes;
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme;

use build::{Flow, Path};

/// Slow start with a fraction of its growth.
#[derive(Clone, Debug, Default)]
struct Gentle {
    parameters: Parameters,
}

scheme! {
    impl Scheme for Gentle {
        label: "gentle",
        role: Role::Startup,
        source: "this test",
        summary: "slow start with a fraction of its growth",
    }

    pub struct Parameters {
        /// growth of slow start over growth of this scheme
        divisor: u64 in 1..=16 = 2,
    }
}

impl Gentle {
    const fn by(divisor: u64) -> Self {
        Self { parameters: Parameters { divisor } }
    }
}

impl Phase for Gentle {
    fn enter(&mut self, _: &Entry, _: &mut Control) {}

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        slow_start(&Ack { growth: ack.growth / self.parameters.divisor, ..*ack }, control)
    }

    fn on_congestion(&mut self, event: &Congestion, _: &mut Control) -> Step {
        Step::Exit(event.trigger.into())
    }
}

fn schemes() -> Schemes {
    Schemes::built_in().with(Gentle::default()).expect("a free label")
}

fn text(startup: &str) -> String {
    format!(
        "[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 s\"\nbuffer = \"9 packets\"\n[[flow]]\nsize = \"1 MB\"\nstartup = {startup}\n"
    )
}

/// The first phase of the first flow, as it runs.
fn first_phase(scenario: &Scenario) -> String {
    format!("{:?}", scenario.flows[0].scheme.build()[0])
}

#[test]
fn a_file_names_a_scheme_of_the_catalogue_and_sets_its_parameters() {
    let read = |startup| parse_with(&text(startup), "own.toml", &schemes()).unwrap().scenario;
    let plain = read("\"gentle\"");
    assert_eq!(plain.flows[0].scheme.label(), "gentle+reno");
    assert!(first_phase(&plain).contains("divisor: 2"), "{}", first_phase(&plain));
    let set = read("{ kind = \"gentle\", divisor = 4 }");
    assert!(first_phase(&set).contains("divisor: 4"), "{}", first_phase(&set));
    assert_ne!(plain, set);
    assert_eq!(read("\"vegas+gentle\"").flows[0].scheme.label(), "vegas+gentle+reno");
    // The canonical form names the scheme, and the same catalogue reads it back.
    assert_eq!(parse_with(&set.to_toml(), "own.toml", &schemes()).unwrap().scenario, set);
}

#[test]
fn a_file_is_refused_without_the_catalogue_and_checked_with_it() {
    let error = parse(&text("\"gentle\""), "own.toml").unwrap_err();
    assert_eq!(error.problem, Problem::UnknownName { what: "scheme", name: "gentle".into() });
    assert!(!error.to_string().contains("cubic-picoquic, gentle"), "{error}");
    let error = parse_with(&text("\"gentel\""), "own.toml", &schemes()).unwrap_err();
    assert_eq!(error.nearest.as_deref(), Some("gentle"));
    assert!(error.to_string().contains("cubic-picoquic, gentle; did you mean"), "{error}");
    let error = parse_with(&text("{ kind = \"gentle\", divisor = 99 }"), "own.toml", &schemes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "own.toml:7:40: flow[0].startup.divisor = 99: out of range; expected a number from 1 to 16"
    );
}

#[test]
fn a_builder_takes_a_scheme_by_label_with_parameters_or_as_a_value() {
    let built = |flow: Flow| {
        let path = Path::new("1 Mbit/s", "1 s", "9 packets");
        Scenario::builder().schemes(schemes()).path(path).flow(flow.size("1 MB")).build().unwrap()
    };
    let file =
        parse_with(&text("{ kind = \"gentle\", divisor = 4 }"), "own.toml", &schemes()).unwrap().scenario;
    assert_eq!(built(Flow::new().startup(build::Phase::new("gentle").with("divisor", 4))), file);
    let value = built(Flow::new().startup(AnyPhase::custom(Gentle::by(7))).avoidance("cubic"));
    assert_eq!(value.flows[0].scheme.label(), "gentle+cubic");
    assert!(first_phase(&value).contains("divisor: 7"), "{}", first_phase(&value));
    // Without the catalogue a value needs no label to look up.
    let again = value.to_builder().schemes(Schemes::built_in()).build().unwrap();
    assert_eq!(again, value);
    let other = built(Flow::new().startup(AnyPhase::custom(Gentle::by(8))).avoidance("cubic"));
    assert_ne!(other, value, "prototypes with other parameters are other schemes");
}
