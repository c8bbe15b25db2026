//! Start-up schemes: each begins a connection and says why it ended.

pub mod hystart_pp;
pub mod limited_slow_start;
pub mod slow_start;
