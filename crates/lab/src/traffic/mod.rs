//! The traffic of a run: a sender and a receiver for each flow, sockets of the kernel in two namespaces.
//!
//! The sockets are made before the run begins, inside their namespaces, so that everything the kernel refuses shows before
//! anything is measured. A thread for each end then writes or reads.

mod receiver;
mod sender;
mod start;
mod writes;

use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) use receiver::receive;
pub(crate) use sender::send;
pub(crate) use start::Start;
pub(crate) use writes::Writes;

use firstflight_sim::sender::app::AppConfig;

use crate::socket;

/// Priority of the threads of the traffic, below that of the emulator.
pub(crate) const PRIORITY: i32 = 10;

/// The sockets of one flow, and what its threads and the emulator know of each other.
#[derive(Debug)]
pub(crate) struct Tap {
    sender: TcpStream,
    listener: TcpListener,
    receiver: OnceLock<TcpStream>,
    /// Address of the listener.
    to: SocketAddrV4,
    opened: AtomicBool,
    /// Bytes acknowledged, and the time at which they were.
    acked: AtomicU64,
    acked_at: AtomicU64,
    writes: Writes,
    failure: Mutex<Option<String>>,
}

impl Tap {
    /// A sender of `app` that is not connected, and the listener at `to`.
    pub(crate) fn new(sender: TcpStream, listener: TcpListener, to: SocketAddrV4, app: &AppConfig) -> Self {
        Self {
            sender,
            listener,
            receiver: OnceLock::new(),
            to,
            opened: AtomicBool::new(false),
            acked: AtomicU64::new(0),
            acked_at: AtomicU64::new(0),
            writes: Writes::of(app),
            failure: Mutex::new(None),
        }
    }

    /// The sender's socket, once it is connected.
    pub(crate) fn sender(&self) -> Option<&TcpStream> {
        self.opened.load(Ordering::Acquire).then_some(&self.sender)
    }

    /// Beginnings of the sender's writes.
    pub(crate) fn writes(&self) -> &Writes {
        &self.writes
    }

    /// `bytes` were acknowledged by `at`.
    pub(crate) fn acknowledge(&self, bytes: u64, at: u64) {
        // The time is stored first, so that a reader of the bytes finds their time or a later one.
        self.acked_at.store(at, Ordering::Release);
        self.acked.store(bytes, Ordering::Release);
    }

    fn acknowledged(&self) -> (u64, u64) {
        let bytes = self.acked.load(Ordering::Acquire);
        (bytes, self.acked_at.load(Ordering::Acquire))
    }

    fn fail(&self, why: String) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert(why);
        }
    }

    /// Reason why a thread gave up.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().ok()?.clone()
    }

    /// Wakes the threads of the flow, whose calls fail from now on.
    pub(crate) fn shut(&self) {
        socket::shut(&self.sender);
        socket::shut(&self.listener);
        if let Some(receiver) = self.receiver.get() {
            socket::shut(receiver);
        }
    }
}
