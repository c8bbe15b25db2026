//! The performance gateway as a service.
//!
//! One thread owns the [`Gateway`](firstflight_gateway::Gateway): it reads the kernel's reports, applies decisions, and
//! answers the orders that come from the socket. The socket is served by a second thread, and the exchange with other
//! gateways, if there is one, by a third.
#![cfg(target_os = "linux")]

mod access;
mod addresses;
mod answers;
mod api;
mod audit;
mod canary;
mod client;
mod clock;
mod door;
mod engine;
mod exchange;
mod files;
mod foreign;
mod journal;
mod kernel;
mod keys;
mod limits;
mod logs;
mod metrics;
mod orders;
mod others;
mod pending;
mod privileges;
mod reload;
mod requests;
mod routed;
mod service;
mod site;
mod source;
mod store;
mod tls;
mod view;

pub use access::{Groups, NoGroup};
pub use api::Doors;
pub use canary::{reread_canary, save_canary};
pub use client::{Client, Start, Unanswered};
pub use exchange::Sharing;
pub use files::{is_private, prepare, reserve};
pub use kernel::Kernel;
pub use keys::of_site;
pub use privileges::{Keep, NoUser, User, leave};
pub use routed::Routed;
pub use service::{Setup, Site, Trouble, serve, serve_at};
pub use site::{Interface, Mirror, leaves, report};
pub use source::{Fresh, Reread, Source};
pub use store::{Lock, claim_cgroup, is_free, parse_orders, read_snapshot, whole_orders, whole_snapshot};
pub use view::explanation;
