//! CUBIC: L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert (ed.), "CUBIC for Fast and Long-Distance Networks", RFC
//! 9438; and as the Linux kernel has had it since before, in integers of its own.
//!
//! The window follows a cubic function of the time since the last reduction: back towards the window where
//! that happened, slowly around it, fast beyond. Where a Reno flow would be faster, it follows Reno.

mod linux;
mod rfc9438;

use crate::scheme::{Info, Param, ParamKind, Scheme, Value};
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Role, Signals, Step};
use linux::Linux;
use rfc9438::Rfc9438;

/// RFC 9438 section 5: "C SHOULD be set to 0.4", segments per second cubed.
const C: f64 = 0.4;
/// RFC 9438 section 4.6: "The parameter beta_cubic SHOULD be set to 0.7".
const BETA: f64 = 0.7;
/// CONFIG_HZ is 250 where nobody chose another.
const JIFFY: Nanos = Nanos::from_millis(4);

/// Parameters are kept in 2^-32.
const ONE: u64 = 1 << 32;

/// The values of the parameter `rules`.
const RULES: &[&str] = &["rfc9438", "linux"];

/// CUBIC.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    parameters: Parameters,
    rules: Rules,
}

/// What may be set, whichever rules apply.
#[derive(Clone, Debug)]
struct Parameters {
    /// Segments per second cubed, 2^-32.
    c: u64,
    /// 2^-32.
    beta: u64,
    fast_convergence: bool,
    /// Tick of the kernel's clock.
    jiffy: Nanos,
}

/// Whose arithmetic, and its state.
#[derive(Clone, Debug)]
enum Rules {
    Rfc9438(Rfc9438),
    Linux(Linux),
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            c: (C * ONE as f64).round() as u64,
            beta: (BETA * ONE as f64).round() as u64,
            fast_convergence: true,
            jiffy: JIFFY,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::Rfc9438(Rfc9438::default())
    }
}

impl Scheme for Cubic {
    const INFO: Info = Info {
        label: "cubic",
        role: Role::Avoidance,
        source: "RFC 9438; Linux 6.x, net/ipv4/tcp_cubic.c",
        summary: "a cubic function of the time since the last reduction, never slower than Reno",
        needs: Signals::NONE,
        params: &[
            Param {
                name: "rules",
                kind: ParamKind::Choice(RULES),
                default: "rfc9438",
                doc: "rfc9438: as the RFC has it; linux: as the kernel does it, in whole segments and with 5 % a \
                      round trip before the first loss",
            },
            Param {
                name: "c",
                kind: ParamKind::Number { min: 0.01, max: 10.0 },
                default: "0.4",
                doc: "steepness of the curve, segments per second cubed (RFC 9438 section 5; Linux: bic_scale, in \
                      steps of 10/1024)",
            },
            Param {
                name: "beta",
                kind: ParamKind::Number { min: 0.1, max: 0.95 },
                default: "0.7",
                doc: "window left after congestion (RFC 9438 section 4.6; Linux: beta, 717/1024)",
            },
            Param {
                name: "fast_convergence",
                kind: ParamKind::Flag,
                default: "true",
                doc: "lower W_max further when the window did not reach it again (RFC 9438 section 4.7)",
            },
            Param {
                name: "jiffy",
                kind: ParamKind::Time,
                default: "4 ms",
                doc: "tick of the clock under rules = linux: 4 ms at HZ = 250, 1 ms at 1000; 0 is 1 ns",
            },
        ],
    };

    fn set(&mut self, name: &str, value: Value) {
        let parameters = &mut self.parameters;
        match (name, value) {
            ("rules", Value::Choice(i)) => {
                self.rules =
                    if RULES[i] == "linux" { Rules::Linux(Linux::default()) } else { Rules::default() };
            }
            ("c", Value::Number(x)) => parameters.c = (x * ONE as f64).round() as u64,
            ("beta", Value::Number(x)) => parameters.beta = (x * ONE as f64).round() as u64,
            ("fast_convergence", Value::Flag(on)) => parameters.fast_convergence = on,
            ("jiffy", Value::Time(t)) => parameters.jiffy = t.max(Nanos(1)),
            _ => unreachable!("cubic has no parameter {name} of this kind"),
        }
    }
}

impl Phase for Cubic {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        match &mut self.rules {
            Rules::Rfc9438(rules) => rules.enter(&self.parameters, entry),
            Rules::Linux(rules) => rules.enter(&self.parameters, entry),
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        match &mut self.rules {
            Rules::Rfc9438(rules) => rules.on_ack(ack, control),
            Rules::Linux(rules) => rules.on_ack(ack, control),
        }
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        match &mut self.rules {
            Rules::Rfc9438(rules) => rules.on_congestion(&self.parameters, event, control),
            Rules::Linux(rules) => rules.on_congestion(&self.parameters, event, control),
        }
        Step::Stay
    }

    fn on_spurious(&mut self) {
        match &mut self.rules {
            Rules::Rfc9438(rules) => rules.on_spurious(),
            // The kernel gives the window and the threshold back, and nothing of what follows from them.
            Rules::Linux(_) => {}
        }
    }
}
