//! The interface between a congestion-control scheme and its host.
//!
//! A host (the simulator, a QUIC stack, the Linux kernel) measures; a scheme decides. Each measurement reaches the scheme
//! in one flat struct per event ([`Ack`], [`Congestion`], [`Sent`], [`Lost`], [`Entry`]); each decision is a register of
//! [`Control`]. Neither side sees more of the other.
//!
//! Windows and amounts are bytes of payload, times are [`Nanos`], rates are [`Rate`]. Zero means "not known" unless a
//! field's documentation says otherwise.
//!
//! The crate allocates nothing and uses no floating point, so that a scheme built on it also runs in the Linux kernel.
//! Every event struct, [`Control`] and [`Step`] have a C layout, declared in `include/firstflight.h`.

#![no_std]

mod control;
mod declaration;
mod event;
mod forget;
mod mul_div;
mod phase;
mod signals;
mod step;
mod units;

pub use control::Control;
pub use declaration::{Beginning, Declaration, Declared, Role};
pub use event::{Ack, Congestion, DescribeAck, Entry, Load, Lost, Plan, Sent, Trigger, Why};
pub use forget::forget;
pub use mul_div::{
    Sum, compare_products, cube_root, cube_shift, least_squares_slope, mul_add_div, mul_add_shift, mul_div,
    mul_div_ceil, mul_div_round, mul_shift, sqrt_of_product, weighted_mean, weighted_mean_round,
};
pub use phase::{Phase, slow_start};
pub use signals::Signals;
pub use step::{Exit, StartupExit, Step};
pub use units::{Moment, Nanos, Rate};
