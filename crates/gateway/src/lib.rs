//! The performance gateway without its host: what a server learns from its connections, and the starts that it
//! gives to new ones.
//!
//! The kernel reports each connection as a [`Connection`]; the [`Gateway`] answers with [`Decision`]s, among them a
//! [`Plan`] for a prefix of destinations. The crate reads no clock, draws no random number without a seed and does no
//! I/O, so that a log of its events replays to the same plans.

mod advice;
pub mod canary;
pub mod configuration;
mod connection;
mod decision;
mod estimate;
mod gateway;
mod host;
mod log;
mod memory;
mod orders;
mod plan;
mod prefix;
mod serial;
mod settings;
mod share;
mod stamp;
mod state;
mod survey;
mod table;
mod transfer;
mod trial;

pub use advice::{Advice, UNPACED};
pub use canary::{Canary, Rules};
pub use configuration::{Configuration, Metrics, Share, Site, Transfers};
pub use connection::{Arm, Connection, Stage};
pub use decision::{Decision, Misfit, Target, Why, WhyNot};
pub use estimate::{Estimate, Unfounded};
pub use gateway::{Explanation, Gateway, Heard, Live, Ranking};
pub use host::{Arms, HostVerdict};
pub use log::{Difference, Event, LogError, Logged, Replay, replay};
pub use orders::{Act, Book, By, Kept, MOST_ORDERS, Orders, Origin, Record};
pub use plan::{Limits, Plan, Start};
pub use settings::{Changed, MOST, Mode, Override, Policy, STOCK, Settings};
pub use share::{Acceptance, Keys, Known, LONGEST_RECORD, Observation, PLACES, Refused, Remote, Signer};
pub use state::{Restore, STATE_VERSION, StateError, seal, unsealed};
pub use survey::{Found, Judged, Sized, Survey, typical};
pub use transfer::{Rule, Transfer, TransferPlan};
pub use trial::{CLASSES, Harm, HarmKind, Verdict, class};
