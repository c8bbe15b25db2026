//! The real Linux kernel as a host.
//!
//! [`Netns`] and [`Tun`] give a socket of this machine's kernel a network of its own, of which this process is the
//! other end. [`play()`] answers a [`Script`] of `firstflight sender` with such a socket, so that the simulator's Linux
//! sender can be held against the kernel line by line.
//!
//! The line protocol is that of `firstflight-script`. Nothing here depends on a simulator, and nothing touches the network namespace the process was started in.

mod need;
mod netns;
mod play;
mod realtime;
mod recording;
mod script;
mod segment;
mod socket;
mod tcp_info;
mod tun;

pub use need::Need;
pub use netns::Netns;
pub use play::{Failure, Played, play};
pub use realtime::be_on_time;
pub use script::{Line, Script, Setup};
pub use segment::{Flags, Segment};
pub use tcp_info::TcpInfo;
pub use tun::Tun;
