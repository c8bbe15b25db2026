//! The schemes of the object. The position of a scheme in its list is the number that chooses it.

use firstflight_contract::Declaration;
use firstflight_schemes::{avoidance, standalone, startup};

/// A scheme of the object.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Its name in C.
    pub name: &'static str,
    /// What it declares.
    pub declaration: &'static Declaration,
}

macro_rules! schemes {
    ($($(#[$meta:meta])* $list:ident, $bare:ident: { $($name:ident: $scheme:ty,)+ })+) => {
        $(
            $(#[$meta])*
            pub const $list: &[Member] =
                &[$(Member { name: stringify!($name), declaration: &<$scheme>::DECLARATION }),+];

            /// The same declarations without labels: constants of eBPF have no pointers.
            #[cfg(feature = "object")]
            #[allow(dead_code, reason = "schemes that fail have the facts of slow start")]
            pub(crate) static $bare: [Declaration; $list.len()] =
                [$(Declaration { label: "", ..<$scheme>::DECLARATION }),+];
        )+

        /// Words of the largest state of a scheme.
        #[cfg(feature = "object")]
        pub(crate) const WORDS: usize = {
            let sizes = [$($(size_of::<$scheme>()),+),+];
            let (mut largest, mut at) = (0, 0);
            while at < sizes.len() {
                largest = if sizes[at] > largest { sizes[at] } else { largest };
                at += 1;
            }
            largest.div_ceil(8)
        };

        #[cfg(feature = "object")]
        const _: () = { $($(assert!(align_of::<$scheme>() <= 8);)+)+ };

        /// Two functions for each scheme, of which the shim makes subprograms.
        #[cfg(feature = "object")]
        pub mod functions {
            use super::*;
            use crate::place::{begin, run};
            use core::ffi::c_void;
            use firstflight_contract::Control;

            $($(
                /// # Safety
                /// As [`run`].
                #[unsafe(export_name = concat!("ff_scheme_", stringify!($name)))]
                pub unsafe extern "C" fn $name(
                    call: u64,
                    state: *mut u64,
                    event: *const c_void,
                    control: *mut Control,
                ) -> u64 {
                    // SAFETY: by contract.
                    unsafe { run::<$scheme>(call, state.cast(), event, control) }
                }
            )+)+

            /// The calls that begin.
            pub mod beginnings {
                use super::*;

                $($(
                    /// # Safety
                    /// As [`begin`].
                    #[unsafe(export_name = concat!("ff_begin_", stringify!($name)))]
                    pub unsafe extern "C" fn $name(
                        call: u64,
                        state: *mut u64,
                        event: *const c_void,
                        control: *mut Control,
                    ) -> u64 {
                        // SAFETY: by contract.
                        unsafe { begin::<$scheme>(call, state.cast(), event, control) }
                    }
                )+)+
            }
        }
    };
}

schemes! {
    /// Start-up schemes. Missing are those that need routers, per-packet sends or a shared window.
    STARTUPS, STARTUP_FACTS: {
        slow_start: startup::slow_start::SlowStart,
        limited_slow_start: startup::limited_slow_start::LimitedSlowStart,
        smooth_start: startup::smooth_start::SmoothStart,
        delay_slow_start: startup::delay_slow_start::DelaySlowStart,
        hoe: startup::hoe::Hoe,
        vegas_slow_start: startup::vegas::Vegas,
        adaptive_start: startup::adaptive_start::AdaptiveStart,
        hybrid_slow_start: startup::hybrid_slow_start::HybridSlowStart,
        hystart_aioquic: startup::hystart_aioquic::HystartAioquic,
        hystart_linux: startup::hystart_linux::HystartLinux,
        hystart_pp: startup::hystart_pp::HystartPp,
        suss: startup::suss::Suss,
        rapid_start: startup::rapid_start::RapidStart,
        search: startup::search::Search,
        jump_start: startup::jump_start::JumpStart,
        swift_start: startup::swift_start::SwiftStart,
        past: startup::past::Past,
        aron_druschel: startup::aron_druschel::AronDruschel,
        liss: startup::liss::Liss,
        iss: startup::iss::Iss,
        miss: startup::miss::Miss,
        js: startup::js::Js,
        spand: startup::spand::Spand,
        cached: startup::cached::Cached,
        careful_resume: startup::careful_resume::CarefulResume,
        averaged: startup::averaged::Averaged,
        rate_based_pacing: startup::rate_based_pacing::RateBasedPacing,
    }
    /// Schemes that never end: the last of a chain.
    LASTS, LAST_FACTS: {
        reno: avoidance::reno::Reno,
        highspeed: avoidance::highspeed::Highspeed,
        scalable: avoidance::scalable::Scalable,
        h_tcp: avoidance::h_tcp::HTcp,
        bic: avoidance::bic::Bic,
        fast: avoidance::fast::Fast,
        cubic: avoidance::cubic::Only<avoidance::cubic::Rfc9438>,
        cubic_linux: avoidance::cubic::Only<avoidance::cubic::Linux>,
        exp: avoidance::exp::Exp,
        westwood: avoidance::westwood::Westwood,
        vegas: avoidance::vegas::Vegas,
        bbr: standalone::bbr::Bbr,
    }
    /// Schemes that fail, for tests: each in the place of slow start, the first of the start-up schemes.
    FAULTS, FAULT_FACTS: {
        panicking: crate::fault::Panicking,
    }
}
