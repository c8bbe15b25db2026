//! CUBIC: L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert (ed.), "CUBIC for Fast and Long-Distance Networks", RFC 9438; and
//! the older algorithm of the Linux kernel, with the kernel's integer arithmetic.
//!
//! The window follows a cubic function of the time since the last reduction: it returns to the window of that
//! reduction, grows slowly around it, and fast beyond it. If a Reno flow would be faster, the window follows Reno.

pub(crate) mod curve;
mod linux;
mod quic;
mod rfc9438;

use crate::scheme::Fixed;
use crate::{choice, scheme};
use firstflight_contract::{
    Ack, Congestion, Control, Declaration, Entry, Nanos, Phase, Role, Step, mul_div_round,
};
pub use linux::Linux;
pub use quic::Quic;
pub use rfc9438::Rfc9438;

/// Parameters are kept in 2^-32.
const ONE: u64 = 1 << 32;

/// `part` of `bytes`, `part` in 2^-32, to the nearest byte: 0.7 of 100 packets are 70 packets.
fn times(bytes: u64, part: u64) -> u64 {
    mul_div_round(bytes, part, ONE)
}

/// CUBIC.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    parameters: Parameters,
    state: State,
}

scheme! {
    impl Scheme for Cubic {
        label: "cubic",
        role: Role::Avoidance,
        source: "RFC 9438; Linux 6.x, net/ipv4/tcp_cubic.c; neqo 80ca01ee, quinn-proto 0.11.19, s2n-quic-core 0.91.0, tquic 1.6.0",
        summary: "a cubic function of the time since the last reduction, never slower than Reno",
    }
    on set: configure;

    pub struct Parameters {
        /// rfc9438: the rules of the RFC; linux: the rules of the kernel, in whole segments and with 5 % a round trip
        /// before the first loss; neqo, quinn, s2n-quic, tquic: those of a QUIC stack
        rules: Rules = Rfc9438,
        // RFC 9438 section 5: "C SHOULD be set to 0.4".
        /// steepness of the curve, segments per second cubed (RFC 9438 section 5; Linux: bic_scale, in steps of 10/1024)
        c: Fixed<ONE> in 0.01..=10.0 = 0.4,
        // RFC 9438 section 4.6: "The parameter beta_cubic SHOULD be set to 0.7".
        /// window left after congestion (RFC 9438 section 4.6; Linux: beta, 717/1024)
        beta: Fixed<ONE> in 0.1..=0.95 = 0.7,
        /// lower W_max further when the window did not reach it again (RFC 9438 section 4.7)
        fast_convergence: bool = true,
        // CONFIG_HZ is 250 by default.
        /// tick of the clock under rules = linux: 4 ms at HZ = 250, 1 ms at 1000; 0 is 1 ns
        jiffy: Nanos = 4 ms,
    }
}

choice! {
    /// Values of the parameter `rules`.
    pub enum Rules {
        /// The rules of the RFC.
        Rfc9438 = "rfc9438",
        /// The rules of the Linux kernel.
        Linux = "linux",
        /// The rules of neqo 80ca01ee.
        Neqo = "neqo",
        /// The rules of quinn-proto 0.11.19.
        Quinn = "quinn",
        /// The rules of s2n-quic-core 0.91.0.
        S2nQuic = "s2n-quic",
        /// The rules of tquic 1.6.0.
        Tquic = "tquic",
    }
}

/// State under each of the rules.
#[derive(Clone, Debug)]
enum State {
    Rfc9438(Rfc9438),
    Linux(Linux),
    Quic(Quic),
}

impl Default for State {
    fn default() -> Self {
        Self::Rfc9438(Rfc9438::default())
    }
}

/// One set of rules with its state. Windows and amounts are bytes, as in [`Phase`].
pub trait Ruled: Clone + core::fmt::Debug + Default {
    /// The scheme takes over.
    fn enter(&mut self, parameters: &Parameters, entry: &Entry);

    /// An ACK.
    fn on_ack(&mut self, parameters: &Parameters, ack: &Ack, control: &mut Control);

    /// An episode of congestion.
    fn on_congestion(&mut self, parameters: &Parameters, event: &Congestion, control: &mut Control);

    /// The last episode was spurious.
    fn on_spurious(&mut self);
}

/// CUBIC under one set of rules, the other parameters at their defaults: for a host that chooses schemes by their type. A program
/// of the Linux kernel is checked along every branch that it could take; here none leads to the other rules.
#[derive(Clone, Debug, Default)]
pub struct Only<R> {
    parameters: Parameters,
    rules: R,
}

impl<R> Only<R> {
    /// That of CUBIC.
    pub const DECLARATION: Declaration = Cubic::DECLARATION;
}

impl<R: Ruled> Phase for Only<R> {
    #[inline]
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        self.rules.enter(&self.parameters, entry);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        self.rules.on_ack(&self.parameters, ack, control);
        Step::Stay
    }

    #[inline]
    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.rules.on_congestion(&self.parameters, event, control);
        Step::Stay
    }

    #[inline]
    fn on_spurious(&mut self) {
        self.rules.on_spurious();
    }
}

impl Cubic {
    fn configure(&mut self) {
        self.state = match self.parameters.rules {
            Rules::Rfc9438 => State::default(),
            Rules::Linux => State::Linux(Linux::default()),
            Rules::Neqo | Rules::Quinn | Rules::S2nQuic | Rules::Tquic => State::Quic(Quic::default()),
        };
    }
}

impl Phase for Cubic {
    fn enter(&mut self, entry: &Entry, _: &mut Control) {
        match &mut self.state {
            State::Rfc9438(rules) => rules.enter(&self.parameters, entry),
            State::Linux(rules) => rules.enter(&self.parameters, entry),
            State::Quic(rules) => rules.enter(&self.parameters, entry),
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        match &mut self.state {
            State::Rfc9438(rules) => rules.on_ack(&self.parameters, ack, control),
            State::Linux(rules) => rules.on_ack(&self.parameters, ack, control),
            State::Quic(rules) => rules.on_ack(&self.parameters, ack, control),
        }
        Step::Stay
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        match &mut self.state {
            State::Rfc9438(rules) => rules.on_congestion(&self.parameters, event, control),
            State::Linux(rules) => rules.on_congestion(&self.parameters, event, control),
            State::Quic(rules) => rules.on_congestion(&self.parameters, event, control),
        }
        Step::Stay
    }

    fn on_spurious(&mut self) {
        match &mut self.state {
            State::Rfc9438(rules) => rules.on_spurious(),
            State::Linux(rules) => rules.on_spurious(),
            State::Quic(rules) => rules.on_spurious(),
        }
    }
}
