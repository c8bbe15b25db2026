//! Largest valid values. They are far above those of experiments, and keep every product of two of them within the integers that
//! hold it.

use firstflight_contract::{Nanos, Rate};

/// A file, bytes.
pub const FILE: u64 = 4 << 20;
/// A rate; the smallest is 1 bit/s.
pub const RATE: Rate = Rate(100_000_000_000_000);
/// Any time.
pub const TIME: Nanos = Nanos::from_secs(100_000_000);
/// A propagation delay, one way or both.
pub const DELAY: Nanos = Nanos::from_secs(3_600);
/// A size, bytes.
pub const BYTES: u64 = 1_000_000_000_000_000;
/// A number of packets.
pub const PACKETS: u64 = 1_000_000_000_000;
/// A buffer, millionths of a bandwidth-delay product.
pub const BDP_MILLIONTHS: u64 = 1_000_000_000;
/// A name, characters.
pub const NAME: usize = 64;
