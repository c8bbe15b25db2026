//! Congestion controls of this machine's kernel, and the schemes that they stand for.

use std::borrow::Cow;
use std::sync::Arc;

use firstflight_contract::{Declared as _, Signals};
use firstflight_document::nearest;
use firstflight_hosts::host::{Host as _, Observe, Refusal};
use firstflight_hosts::network::place;
use firstflight_kernel::{self as kernel, Exits, Offer, Offered};
use firstflight_scenario::{FlowGroup, Profile, Scenario, SchemeSpec};

use crate::host::Kernel;

/// A congestion control of the kernel.
#[derive(Clone, Debug)]
pub struct CongestionControl {
    /// Name in the kernel: `cubic`.
    pub name: Cow<'static, str>,
    /// Chain of scheme labels that it stands for: `hystart-linux+cubic`.
    pub stands_for: Cow<'static, str>,
    /// Parameters of these schemes.
    pub parameters: Parameters,
    /// Slow-start threshold with which connections begin, bytes; `None` is infinite.
    pub initial_ssthresh: Option<u64>,
    /// Sign that its start-up has ended.
    pub exit: ExitSign,
}

/// Parameters of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// The defaults of the schemes.
    Defaults,
    /// Those of profile `linux`.
    Linux,
}

impl Parameters {
    /// Labels of the phases of a chain, each with all its values.
    fn of(self, chain: &SchemeSpec) -> Vec<(&'static str, String)> {
        let phases = match self {
            Self::Defaults => chain.build(),
            Self::Linux => chain.build_in(Profile::Linux.stack()),
        };
        phases.iter().map(|phase| (phase.info().label, format!("{phase:?}"))).collect()
    }

    /// The words of a refusal.
    fn words(self) -> &'static str {
        match self {
            Self::Defaults => "the defaults of the schemes",
            Self::Linux => "the parameters of profile linux",
        }
    }
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
    /// Whether a run so observed can be made with the schemes that the flows of `scenario` need. Nothing is loaded or run.
    ///
    /// # Errors
    /// For the first key that asks for more than the kernel and the emulator have.
    pub fn check(scenario: &Scenario, observe: &Observe) -> Result<(), Refusal> {
        let mut all = STOCK.to_vec();
        for (_, offer, control) in Self::needed(scenario)? {
            all.push(CongestionControl { name: offer.name().to_owned().into(), ..control });
        }
        Kernel { controls: &all }.check(scenario, observe).map(drop)
    }

    /// Loads the schemes that the flows of `scenario` need into the kernel.
    ///
    /// # Errors
    /// By the key of the first flow whose scheme the kernel cannot run.
    pub fn of(scenario: &Scenario) -> Result<Self, Refusal> {
        let mut controls = Self { all: STOCK.to_vec(), _offered: vec![] };
        for (index, offer, control) in Self::needed(scenario)? {
            let refuse =
                |why: kernel::Refusal| Refusal { key: startup(scenario, index), why: why.to_string() };
            let offered = offer.load().map_err(refuse)?;
            let exits = offered.exits().map_err(refuse)?;
            let name = offered.name().to_owned().into();
            controls.all.push(CongestionControl { name, exit: ExitSign::Record(Arc::new(exits)), ..control });
            controls._offered.push(offered);
        }
        Ok(controls)
    }

    /// The schemes that an unchanged Linux lacks, each once, with the first flow that names it. They are not loaded: their sign and
    /// their name are still to be filled in.
    fn needed(scenario: &Scenario) -> Result<Vec<(usize, Offer, CongestionControl)>, Refusal> {
        let mut needed: Vec<(usize, Offer, CongestionControl)> = vec![];
        for (index, group) in scenario.flows.iter().enumerate() {
            let (scheme, initial_ssthresh) = (&group.scheme, group.initial_ssthresh);
            let known = STOCK.iter().chain(needed.iter().map(|(.., control)| control));
            if known.into_iter().any(|control| control.does(group)) {
                continue;
            }
            let refuse = |why: String| Refusal { key: startup(scenario, index), why };
            if let Some(why) = needs_plan(scheme) {
                return Err(refuse(why));
            }
            let labels: Vec<_> = scheme.phases().iter().map(|phase| phase.label()).collect();
            let offer = Offer::new(&labels).map_err(|refusal| refuse(refusal.to_string()))?;
            let stands_for: Cow<'static, str> = scheme.label().into();
            let control = |parameters| CongestionControl {
                name: "".into(),
                stands_for: stands_for.clone(),
                parameters,
                initial_ssthresh,
                exit: ExitSign::Threshold,
            };
            // Parameters that neither has are refused by their key when the scenario is checked.
            let as_in_linux = control(Parameters::Linux);
            let (offer, control) = match as_in_linux.does(group) {
                true => (offer.as_in_linux(), as_in_linux),
                false => (offer, control(Parameters::Defaults)),
            };
            let offer = initial_ssthresh.map_or(offer.clone(), |bytes| offer.initial_ssthresh(bytes));
            match needed.iter().find(|(_, known, _)| known.name() == offer.name()) {
                None => needed.push((index, offer, control)),
                Some((.., known)) if known.initial_ssthresh == initial_ssthresh => {}
                Some(_) => {
                    let key = format!("{}.initial_ssthresh", place(scenario, index));
                    let why = format!("{} has one threshold in a run", control.stands_for);
                    return Err(Refusal { key, why });
                }
            }
        }
        Ok(needed)
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
        let parameters = Parameters::Linux;
        Self {
            name: Cow::Borrowed(name),
            stands_for: Cow::Borrowed(stands_for),
            parameters,
            initial_ssthresh: None,
            exit,
        }
    }

    /// The first of `known` that does what the flows of `group` do.
    ///
    /// # Errors
    /// If there is none: the reason as a whole sentence, with the chains that there are.
    pub fn of<'a>(group: &FlowGroup, known: &'a [Self]) -> Result<&'a Self, String> {
        let scheme = &group.scheme;
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
        let with_label = known.iter().filter(|control| control.stands_for == label);
        if let Some(same) = with_label.into_iter().find(|control| control.does(group)) {
            return Ok(same);
        }
        let (asked, has) = (Parameters::Linux.of(scheme), control.phases());
        let differs = asked.iter().zip(&has).find(|(asked, has)| asked != has);
        let Some(((label, _), _)) = differs else {
            return Err(format!("the kernel's {} begins with another slow-start threshold", control.name));
        };
        let words = control.parameters.words();
        Err(format!("the kernel's {} has {words}, and {label} has others", control.name))
    }

    /// Labels of its phases, each with all its values.
    fn phases(&self) -> Vec<(&'static str, String)> {
        self.parameters.of(&SchemeSpec::parse(&self.stands_for).expect("known labels make chains"))
    }

    /// Whether it does what the flows of `group` do in profile `linux`.
    fn does(&self, group: &FlowGroup) -> bool {
        self.stands_for == group.scheme.label()
            && self.initial_ssthresh == group.initial_ssthresh
            && Parameters::Linux.of(&group.scheme) == self.phases()
    }
}

/// The key of a flow's scheme.
fn startup(scenario: &Scenario, index: usize) -> String {
    format!("{}.startup", place(scenario, index))
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
        CongestionControl::of(&scenario.flows[0], STOCK).map(|control| control.name.to_string())
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
