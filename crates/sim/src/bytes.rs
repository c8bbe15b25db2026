//! Bytes of a flow over a dumbbell, part by part. The table is in `docs/benchmarks.md`.

use crate::config::{FlowConfig, LinkConfig};
use crate::flow::Flow;
use crate::receiver::Receiver;
use crate::route::Leg;
use crate::sender::app::App;
use crate::sender::rfc::Rfc;
use crate::sender::rto::Rto;
use crate::sender::{Common, Sender};
use firstflight_host::chain::Chain;
use firstflight_net::link::Link;
use firstflight_schemes::registry::AnyPhase;

/// Of each part: its name, its bytes, how many of it a flow has, and the bytes up to which all of them may grow.
#[test]
fn a_flow_takes_no_more_bytes_than_before() {
    macro_rules! parts {
        ($($part:ty, $count:expr, $most:expr;)+) => {
            [$((stringify!($part), size_of::<$part>(), $count, $most)),+]
        };
    }
    let whole = parts! {
        Flow, 1, 1408;
        FlowConfig, 1, 248;
        LinkConfig, 4, 192;
        Link, 4, 256;
        Leg, 4, 256;
    };
    let inside = parts! {
        Sender, 1, 1088;
        Common, 1, 904;
        Chain<AnyPhase>, 1, 256;
        App, 1, 144;
        Rto, 1, 128;
        Rfc, 1, 184;
        Receiver, 1, 216;
        AnyPhase, 2, 144;
    };
    for (part, bytes, count, most) in whole.into_iter().chain(inside) {
        println!("{part:<16} {count} x {bytes:>4} = {:>4}", count * bytes);
        assert!(count * bytes <= most, "{part} takes {} bytes instead of {most}", count * bytes);
    }
}
