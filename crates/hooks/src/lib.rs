//! The gateway's hold on the Linux kernel.
//!
//! Two eBPF programs (`bpf/hooks.bpf.c`) start new connections as a [`Plan`](firstflight_gateway::Plan) says and report
//! them as [`Connection`](firstflight_gateway::Connection)s. The programs hold every plan to
//! [`Limits`](firstflight_gateway::Limits) that are fixed when they are loaded. The crate learns nothing and decides no
//! plan.
//!
//! Without eBPF, [`Polls`] reports connections, and [`Routes`] gives them first windows, within narrower bounds.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use firstflight_contract::Nanos;
//! # use firstflight_gateway::Limits;
//! # use firstflight_hooks::{Hooks, Setup};
//! let limits = Limits { window: 45, ssthresh: false, lease: Nanos(5_000_000_000), holdout: 50 };
//! let mut hooks = Hooks::load(&Setup::new(limits))?;
//! hooks.adopt()?;
//! loop {
//!     hooks.renew()?;
//!     hooks.drain(Duration::from_millis(20), |connection| println!("{connection:?}"))?;
//! }
//! # #[expect(unreachable_code)]
//! # Ok::<(), firstflight_hooks::Refusal>(())
//! ```

mod diag;
mod elsewhere;
mod flight;
mod hand;
mod hooks;
mod layout;
mod lines;
mod load;
mod map;
mod refusal;
mod routes;
mod tiers;

pub use diag::Polls;
pub use elsewhere::Count;
pub use hooks::{Hooks, MOST_CGROUPS, Override, TRANSFER, now};
pub use load::{Setup, Transfers, beside, number_of, root};
pub use refusal::Refusal;
pub use routes::{Routes, WIDEST};
pub use tiers::{Cgroups, Tier, Tiers};
