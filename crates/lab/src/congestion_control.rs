//! Congestion controls of this machine's kernel, and the schemes that they stand for.

use std::borrow::Cow;
use std::sync::Arc;

use firstflight_contract::{Declared as _, Signals};
use firstflight_kernel::{Exits, Offer, Offered};
use firstflight_scenario::{Profile, Scenario, SchemeSpec, nearest};
use firstflight_study::host::Refusal;
use firstflight_study::network::place;

/// A congestion control of the kernel.
#[derive(Clone, Debug)]
pub struct CongestionControl {
    /// Name in the kernel: `cubic`.
    pub name: Cow<'static, str>,
    /// Chain of scheme labels that it stands for, each with the parameters of profile `linux`: `hystart-linux+cubic`.
    pub stands_for: Cow<'static, str>,
    /// Sign that its start-up has ended.
    pub exit: ExitSign,
}

/// Sign that a start-up has ended.
#[derive(Clone, Debug)]
pub enum ExitSign {
    /// The slow-start threshold, infinite before.
    Threshold,
    /// BBR's pacing gain, which falls.
    PacingGain,
    /// The scheme's own record in the kernel.
    Record(Arc<Exits>),
}

/// Congestion controls of an unchanged Linux.
pub const STOCK: &[CongestionControl] = &[
    CongestionControl::stock("reno", "slow-start+reno", ExitSign::Threshold),
    CongestionControl::stock("cubic", "hystart-linux+cubic", ExitSign::Threshold),
    CongestionControl::stock("bbr", "bbr", ExitSign::PacingGain),
];

/// Congestion controls for a scenario: those of an unchanged Linux, and the schemes of this program that the scenario names
/// beside them. The kernel has the latter until this value is dropped.
#[derive(Debug)]
pub struct Controls {
    all: Vec<CongestionControl>,
    _offered: Vec<Offered>,
}

impl Controls {
    /// Loads the schemes that the flows of `scenario` need into the kernel.
    ///
    /// # Errors
    /// By the key of the first flow whose scheme the kernel cannot run.
    pub fn of(scenario: &Scenario) -> Result<Self, Refusal> {
        let mut controls = Self { all: STOCK.to_vec(), _offered: vec![] };
        for (index, group) in scenario.flows.iter().enumerate() {
            let label = group.scheme.label();
            if controls.all.iter().any(|control| control.stands_for == label) {
                continue;
            }
            let refuse = |why: String| Refusal { key: format!("{}.startup", place(scenario, index)), why };
            if let Some(why) = needs_plan(&group.scheme) {
                return Err(refuse(why));
            }
            let labels: Vec<_> = group.scheme.phases().iter().map(|phase| phase.label()).collect();
            let offered = Offer::new(&labels).and_then(|offer| offer.load());
            let offered = offered.map_err(|refusal| refuse(refusal.to_string()))?;
            let exits = offered.exits().map_err(|refusal| refuse(refusal.to_string()))?;
            controls.all.push(CongestionControl {
                name: offered.name().to_owned().into(),
                stands_for: label.into(),
                exit: ExitSign::Record(Arc::new(exits)),
            });
            controls._offered.push(offered);
        }
        Ok(controls)
    }

    /// The congestion controls.
    pub fn all(&self) -> &[CongestionControl] {
        &self.all
    }
}

/// Why a scheme that follows a plan does not run here: without a plan it would be slow start. `None` for any other.
pub(crate) fn needs_plan(scheme: &SchemeSpec) -> Option<String> {
    let phases = scheme.build();
    let planned = phases.iter().find(|phase| phase.declaration().needs.has(Signals::PLAN))?;
    let label = planned.info().label;
    Some(format!(
        "{label} follows a plan, and connections of a run on a real stack share no memory of the path"
    ))
}

impl CongestionControl {
    const fn stock(name: &'static str, stands_for: &'static str, exit: ExitSign) -> Self {
        Self { name: Cow::Borrowed(name), stands_for: Cow::Borrowed(stands_for), exit }
    }

    /// The first of `known` that does what `scheme` does.
    ///
    /// # Errors
    /// If there is none: the reason as a whole sentence, with the chains that there are.
    pub fn of<'a>(scheme: &SchemeSpec, known: &'a [Self]) -> Result<&'a Self, String> {
        let label = scheme.label();
        let chains = known.iter().map(|control| &*control.stands_for);
        let Some(control) = known.iter().find(|control| control.stands_for == label) else {
            let all: Vec<_> = chains.clone().collect();
            let mut why = format!(
                "this kernel has no congestion control for {label}; expected one of: {}",
                all.join(", ")
            );
            if let Some(nearest) = nearest(&label, chains) {
                why += &format!("; did you mean \"{nearest}\"?");
            }
            return Err(why);
        };
        let stack = Profile::Linux.stack();
        let plain = SchemeSpec::parse(&control.stands_for).expect("known labels make chains");
        // The kernel's own have the parameters of profile linux, the schemes of this program their defaults.
        let (plain, of) = match control.exit {
            ExitSign::Record(_) => (plain.build(), "the defaults of the schemes"),
            _ => (plain.build_in(stack), "the parameters of profile linux"),
        };
        let asked = scheme.build_in(stack);
        let differs = asked.iter().zip(&plain).find(|(a, b)| format!("{a:?}") != format!("{b:?}"));
        if let Some((phase, _)) = differs {
            let label = phase.info().label;
            let mut why = format!("the kernel's {} has {of}, and {label} has others", control.name);
            if label == "cubic" && matches!(control.exit, ExitSign::Record(_)) {
                why += "; expected avoidance = { kind = \"cubic\", rules = \"rfc9438\" }";
            }
            return Err(why);
        }
        Ok(control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scheme: &str) -> Result<String, String> {
        let text = format!(
            "[path]\nrate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n[[flow]]\nprofile = \"linux\"\n\
             size = \"30 KB\"\n{scheme}\n"
        );
        let scenario = firstflight_scenario::parse(&text, "test.toml").expect("a valid scenario").scenario;
        CongestionControl::of(&scenario.flows[0].scheme, STOCK).map(|control| control.name.to_string())
    }

    #[test]
    fn a_chain_is_the_congestion_control_that_does_it() {
        assert_eq!(of("avoidance = \"reno\""), Ok("reno".into()));
        assert_eq!(of(""), Ok("cubic".into()));
        assert_eq!(of("startup = \"bbr\""), Ok("bbr".into()));
    }

    #[test]
    fn a_chain_that_the_kernel_lacks_is_refused_with_those_it_has() {
        let why = of("startup = \"hystart++\"\navoidance = \"cubic\"").expect_err("not in Linux");
        assert!(why.contains("hystart+++cubic") && why.contains("slow-start+reno"), "{why}");
        assert!(why.contains("did you mean \"hystart-linux+cubic\"?"), "{why}");
        let why = of("startup = \"slow-start\"\navoidance = \"cubic\"").expect_err("cubic has HyStart");
        assert!(why.contains("slow-start+cubic"), "{why}");
    }

    #[test]
    fn parameters_that_the_kernel_does_not_have_are_refused() {
        let why = of("avoidance = { kind = \"cubic\", rules = \"rfc9438\" }").expect_err("another cubic");
        assert!(why.contains("the parameters of profile linux, and cubic has others"), "{why}");
        assert_eq!(of("avoidance = { kind = \"cubic\", rules = \"linux\" }"), Ok("cubic".into()));
    }
}
