//! The registry: every built-in scheme, one line each. A new scheme needs its file, its line here and its page in
//! `docs/algorithms/`.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::{self, Debug};

use firstflight_contract::{
    Ack, Congestion, Control, Declaration, Declared, DescribeAck, Entry, Lost, Phase, Role, Sent, Step,
};

use crate::custom::Custom;
use crate::scheme::{Info, ParamKind, Scheme, Value};
use crate::{avoidance, standalone, startup};

macro_rules! registry {
    (@stored $path:path) => { $path };
    (@stored $path:path, Box) => { Box<$path> };
    ($($name:ident ( $path:path $(; $store:ident)? )),+ $(,)?) => {
        /// Any scheme. A registered one is dispatched by its tag, without a call through a pointer.
        ///
        /// The tag comes first, beside the state of the small schemes.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        #[expect(missing_docs, reason = "each variant is documented by its type")]
        pub enum AnyPhase {
            $($name(registry!(@stored $path $(, $store)?)),)+
            /// A scheme outside the registry.
            Custom(Custom),
        }

        /// Every registered scheme, in listing order.
        pub const SCHEMES: &[Info] = &[$(<$path>::INFO),+];

        impl AnyPhase {
            /// The scheme with this label and one of these roles, its parameters at their defaults. A label may stand
            /// for a start-up scheme and for an avoidance scheme (`vegas`).
            pub fn with_role(label: &str, roles: &[Role]) -> Option<Self> {
                $(
                    let info = &<$path>::INFO;
                    if label == info.label && roles.contains(&info.role) {
                        return Some(Self::$name(Default::default()));
                    }
                )+
                None
            }

            /// Entry of this scheme in listings.
            pub fn info(&self) -> &'static Info {
                match self { $(Self::$name(_) => &<$path>::INFO,)+ Self::Custom(p) => p.info() }
            }

            fn set_checked(&mut self, name: &str, value: Value) {
                match self { $(Self::$name(p) => p.set(name, value),)+ Self::Custom(p) => p.set(name, value) }
            }
        }

        impl Declared for AnyPhase {
            fn declaration(&self) -> &'static Declaration {
                match self { $(Self::$name(_) => &<$path>::DECLARATION,)+ Self::Custom(p) => p.declaration() }
            }
        }

        impl Phase for AnyPhase {
            fn open(&mut self, entry: &Entry, control: &mut Control) {
                match self { $(Self::$name(p) => p.open(entry, control),)+ Self::Custom(p) => p.open(entry, control) }
            }
            #[inline]
            fn enter(&mut self, entry: &Entry, control: &mut Control) {
                match self { $(Self::$name(p) => p.enter(entry, control),)+ Self::Custom(p) => p.enter(entry, control) }
            }
            #[inline]
            fn on_sent(&mut self, sent: &Sent, control: &mut Control) {
                match self { $(Self::$name(p) => p.on_sent(sent, control),)+ Self::Custom(p) => p.on_sent(sent, control) }
            }
            fn on_lost(&mut self, lost: &Lost, control: &mut Control) {
                match self { $(Self::$name(p) => p.on_lost(lost, control),)+ Self::Custom(p) => p.on_lost(lost, control) }
            }
            #[inline]
            fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
                match self { $(Self::$name(p) => p.on_ack(ack, control),)+ Self::Custom(p) => p.on_ack(ack, control) }
            }
            fn spent(&self, grown: u64) -> u64 {
                match self { $(Self::$name(p) => p.spent(grown),)+ Self::Custom(p) => p.spent(grown) }
            }
            fn on_watched(&mut self, ack: &Ack, cwnd: u64) {
                match self { $(Self::$name(p) => p.on_watched(ack, cwnd),)+ Self::Custom(p) => p.on_watched(ack, cwnd) }
            }
            #[inline]
            fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
                match self { $(Self::$name(p) => p.on_congestion(event, control),)+ Self::Custom(p) => p.on_congestion(event, control) }
            }
            fn on_spurious(&mut self) {
                match self { $(Self::$name(p) => p.on_spurious(),)+ Self::Custom(p) => p.on_spurious() }
            }

            // Only the two schemes that handle most simulated ACKs, and that read two or three fields, have the
            // description inline: with a copy for every scheme, the compiler inlines none.
            #[inline(always)]
            fn on_described_ack(&mut self, ack: &impl DescribeAck, control: &mut Control) -> Step {
                match self {
                    Self::SlowStart(phase) => phase.on_ack(&ack.describe(), control),
                    Self::Reno(phase) => phase.on_ack(&ack.describe(), control),
                    phase => phase.on_ack(&ack.describe(), control),
                }
            }
        }
    };
}

// A scheme of more than 64 bytes is in a box: beside the others, every connection would be as large.
registry! {
    SlowStart(startup::slow_start::SlowStart),
    LimitedSlowStart(startup::limited_slow_start::LimitedSlowStart),
    SmoothStart(startup::smooth_start::SmoothStart),
    DelaySlowStart(startup::delay_slow_start::DelaySlowStart),
    Hoe(startup::hoe::Hoe; Box),
    Vegas(startup::vegas::Vegas),
    AdaptiveStart(startup::adaptive_start::AdaptiveStart; Box),
    HybridSlowStart(startup::hybrid_slow_start::HybridSlowStart; Box),
    HystartAioquic(startup::hystart_aioquic::HystartAioquic; Box),
    HystartLinux(startup::hystart_linux::HystartLinux; Box),
    HystartPp(startup::hystart_pp::HystartPp; Box),
    Suss(startup::suss::Suss; Box),
    RapidStart(startup::rapid_start::RapidStart; Box),
    Search(startup::search::Search; Box),
    JumpStart(startup::jump_start::JumpStart),
    SwiftStart(startup::swift_start::SwiftStart; Box),
    Past(startup::past::Past; Box),
    AronDruschel(startup::aron_druschel::AronDruschel; Box),
    Liss(startup::liss::Liss),
    Iss(startup::iss::Iss),
    Miss(startup::miss::Miss),
    Js(startup::js::Js),
    Spand(startup::spand::Spand),
    Cached(startup::cached::Cached),
    CarefulResume(startup::careful_resume::CarefulResume; Box),
    Averaged(startup::averaged::Averaged),
    CongestionManager(startup::congestion_manager::CongestionManager),
    QuickStart(startup::quick_start::QuickStart),
    FastStart(startup::fast_start::FastStart),
    RateBasedPacing(startup::rate_based_pacing::RateBasedPacing),
    Reno(avoidance::reno::Reno),
    Highspeed(avoidance::highspeed::Highspeed),
    Scalable(avoidance::scalable::Scalable),
    HTcp(avoidance::h_tcp::HTcp; Box),
    Bic(avoidance::bic::Bic; Box),
    Fast(avoidance::fast::Fast),
    Cubic(avoidance::cubic::Cubic; Box),
    Exp(avoidance::exp::Exp; Box),
    Westwood(avoidance::westwood::Westwood; Box),
    VegasAvoidance(avoidance::vegas::Vegas; Box),
    Xcp(avoidance::xcp::Xcp),
    Vcp(avoidance::vcp::Vcp),
    Bbr(standalone::bbr::Bbr; Box),
    Bbr3(standalone::bbr3::Bbr3; Box),
    Bbr3Picoquic(standalone::bbr3_picoquic::Bbr3Picoquic; Box),
    C4(standalone::c4::C4; Box),
    CubicPicoquic(standalone::cubic_picoquic::CubicPicoquic; Box),
}

impl AnyPhase {
    /// A scheme outside the registry, with the parameters that it has now.
    pub fn custom(scheme: impl Scheme + Clone + Debug + Send + Sync + 'static) -> Self {
        Self::Custom(Custom::new(scheme))
    }

    /// The scheme with this label and default parameters; of two, the start-up scheme.
    pub fn by_label(label: &str) -> Option<Self> {
        Self::with_role(label, &Role::ALL)
    }

    /// The phases with these labels, looked up by their places in a chain: the last never ends, the others do.
    pub fn chain(labels: &[&str]) -> Option<Vec<Self>> {
        let roles = |at| if at + 1 == labels.len() { Role::LAST } else { Role::LEADING };
        labels.iter().enumerate().map(|(at, label)| Self::with_role(label, roles(at))).collect()
    }
}

/// Reason why a parameter was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// The scheme has no such parameter; these are its parameters.
    Unknown(Vec<&'static str>),
    /// The value is not of the parameter's type or outside its range.
    Invalid {
        /// Type and range of the parameter.
        expected: ParamKind,
    },
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(known) => {
                write!(f, "no such parameter; expected one of:")?;
                known.iter().try_for_each(|name| write!(f, " {name}"))
            }
            Self::Invalid { expected } => write!(f, "invalid value; expected {expected:?}"),
        }
    }
}

impl core::error::Error for ParamError {}

impl AnyPhase {
    /// Sets one parameter.
    ///
    /// # Errors
    /// [`ParamError`] if the scheme has no parameter `name` or `value` does not fit its kind.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), ParamError> {
        let params = self.info().params;
        let Some(param) = params.iter().find(|p| p.name == name) else {
            return Err(ParamError::Unknown(params.iter().map(|p| p.name).collect()));
        };
        if !param.kind.accepts(value) {
            return Err(ParamError::Invalid { expected: param.kind });
        }
        self.set_checked(name, value);
        Ok(())
    }
}
