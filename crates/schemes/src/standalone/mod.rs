//! Schemes that control a connection from beginning to end, loss recovery included.

pub mod bbr;
pub mod bbr3;
pub mod bbr3_picoquic;
pub mod c4;
pub mod cubic_picoquic;
