//! Start-up schemes: each begins a connection and says why it ended.

pub mod slow_start;
