//! The real Linux kernel as a host.
//!
//! [`Kernel`] runs scenarios: the kernel's own TCP across an emulated network, whose links and queues are the simulator's,
//! in real time. [`play()`] answers a [`Script`] of `firstflight sender` with a socket of the kernel, so that the
//! simulator's Linux sender can be held against the kernel line by line.
//!
//! [`Netns`] and [`Tun`] give sockets a network of their own, of which this process is the other end. Nothing touches the
//! network namespace the process was started in, and nothing outlives the process.
#![cfg(target_os = "linux")]

mod answers;
mod cable;
pub mod check;
mod clock;
mod congestion_control;
mod emulator;
mod header;
mod host;
mod need;
mod netns;
mod play;
pub mod probe;
mod quic;
mod realtime;
mod recording;
mod script;
mod segment;
mod served;
mod socket;
mod tcp_info;
mod traffic;
mod tun;
mod turn;
mod watch;

pub use cable::{Broken, Cable};
pub use congestion_control::{CongestionControl, Controls, ExitSign, Parameters, STOCK};
pub use host::{Kernel, LONGEST, Range};
pub use need::Need;
pub use netns::Netns;
pub use play::{Failure, Played, play};
pub use quic::Quic;
pub use realtime::be_on_time;
pub use script::{Line, Script, Setup};
pub use segment::{Flags, Segment};
pub use served::Served;
pub use tcp_info::TcpInfo;
pub use tun::Tun;
pub use turn::Turn;
