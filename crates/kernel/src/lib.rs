//! The Linux kernel as a host: the scheme files of `firstflight-schemes`, compiled to eBPF, as congestion controls of the
//! running kernel.
//!
//! ```no_run
//! # use firstflight_kernel::Offer;
//! let offered = Offer::new(&["hystart++", "reno"])?.load()?;
//! println!("setsockopt(TCP_CONGESTION, \"{}\") until this process ends", offered.name());
//! # Ok::<(), firstflight_kernel::Refusal>(())
//! ```
//!
//! The object in `bpf/` ships with the program; nobody needs a compiler. `bpf/face` is the Rust side of it, `bpf/shim` the
//! C side, `bpf/build` makes the object of both.

mod offer;
mod prefix;
mod record;
mod refusal;
mod replay;

pub use offer::{Exits, Offer, Offered, SIGNALS, Selected, every_process};
pub use prefix::{Memory, Prefix};
pub use record::{Event, Record, Totals};
pub use refusal::Refusal;
pub use replay::{Compared, Replay};
