//! The schemes as the kernel's eBPF object runs them.
//!
//! One object holds every scheme of [`STARTUPS`] and [`LASTS`]. Two constants, set when the object is loaded, choose a
//! start-up scheme and the scheme that follows; the kernel's verifier then removes the code of all others. The chain of
//! phases is `firstflight_host::chain::Chain`, the one that the simulator runs.
//!
//! With the feature `object` the crate has the functions that `shim/firstflight.bpf.c` calls. They are compiled for the
//! building machine, whose LLVM IR `firstflight-kernel-build` turns into eBPF.

#![no_std]

mod fault;
#[cfg(feature = "object")]
mod object;
#[cfg(feature = "object")]
mod place;
mod schemes;
pub mod wide;

pub use schemes::{FAULTS, LASTS, Member, STARTUPS};
