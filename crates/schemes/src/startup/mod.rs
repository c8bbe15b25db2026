//! Start-up schemes: each begins a connection, ends, and reports the reason.

pub mod adaptive_start;
pub mod aron_druschel;
pub mod averaged;
pub mod cached;
pub mod careful_resume;
pub mod congestion_manager;
pub mod delay_slow_start;
pub mod fast_start;
pub mod hoe;
pub mod hybrid_slow_start;
pub mod hystart_aioquic;
pub mod hystart_linux;
pub mod hystart_pp;
pub mod iss;
pub mod js;
pub mod jump_start;
pub mod limited_slow_start;
pub mod liss;
pub mod miss;
pub mod past;
pub mod planned;
pub mod quick_start;
pub mod rapid_start;
pub mod rate_based_pacing;
pub mod search;
pub mod slow_start;
pub mod smooth_start;
pub mod spand;
pub mod suss;
pub mod swift_start;
#[cfg(test)]
mod test_sender;
pub mod vegas;
