//! Pieces that the programs of this package share.

pub mod block;
pub mod table;

/// Processor seconds of all threads of this process: other work on the machine does not count.
pub fn processor_seconds() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 * 1e-9
}
