//! Congestion controls of this machine's kernel, and the schemes that they stand for.

use firstflight_scenario::{Profile, SchemeSpec, nearest};

/// A congestion control of the kernel.
///
/// This is all that the host knows of one: another source of congestion controls, such as programs loaded into the kernel,
/// adds its own to [`STOCK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionControl {
    /// Name in the kernel: `cubic`.
    pub name: &'static str,
    /// Chain of scheme labels that it stands for, each with the parameters of profile `linux`: `hystart-linux+cubic`.
    pub stands_for: &'static str,
    /// Registers that show the end of its start-up.
    pub exit: ExitSign,
}

/// Registers that show the end of a start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitSign {
    /// The slow-start threshold, infinite before.
    Threshold,
    /// BBR's pacing gain, which falls.
    PacingGain,
}

/// Congestion controls of an unchanged Linux.
pub const STOCK: &[CongestionControl] = &[
    CongestionControl { name: "reno", stands_for: "slow-start+reno", exit: ExitSign::Threshold },
    CongestionControl { name: "cubic", stands_for: "hystart-linux+cubic", exit: ExitSign::Threshold },
    CongestionControl { name: "bbr", stands_for: "bbr", exit: ExitSign::PacingGain },
];

impl CongestionControl {
    /// The first of `known` that does what `scheme` does.
    ///
    /// # Errors
    /// If there is none: the reason as a whole sentence, with the chains that there are.
    pub fn of<'a>(scheme: &SchemeSpec, known: &'a [Self]) -> Result<&'a Self, String> {
        let label = scheme.label();
        let chains = known.iter().map(|control| control.stands_for);
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
        let plain = SchemeSpec::parse(control.stands_for).expect("known labels make chains").build_in(stack);
        if format!("{:?}", scheme.build_in(stack)) != format!("{plain:?}") {
            return Err(format!(
                "the kernel's {} has the parameters of profile linux; expected {label} without others",
                control.name
            ));
        }
        Ok(control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scheme: &str) -> Result<&'static str, String> {
        let text = format!(
            "[path]\nrate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n[[flow]]\nprofile = \"linux\"\n\
             size = \"30 KB\"\n{scheme}\n"
        );
        let scenario = firstflight_scenario::parse(&text, "test.toml").expect("a valid scenario").scenario;
        CongestionControl::of(&scenario.flows[0].scheme, STOCK).map(|control| control.name)
    }

    #[test]
    fn a_chain_is_the_congestion_control_that_does_it() {
        assert_eq!(of("avoidance = \"reno\""), Ok("reno"));
        assert_eq!(of(""), Ok("cubic"));
        assert_eq!(of("startup = \"bbr\""), Ok("bbr"));
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
        assert!(why.contains("parameters"), "{why}");
        assert_eq!(of("avoidance = { kind = \"cubic\", rules = \"linux\" }"), Ok("cubic"));
    }
}
