//! Schemes that rule a connection from beginning to end, loss repair included.

pub mod bbr;
