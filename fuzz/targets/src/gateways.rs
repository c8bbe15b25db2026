//! Gateways for the targets that feed them, and the properties that hold for every gateway and any input.

use core::net::IpAddr;

use firstflight_contract::Nanos;
use firstflight_gateway::{Arm, Connection, Decision, Gateway, Mode, Override, Settings, Stage};

/// Settings that put plans in force.
pub(crate) fn enforcing() -> Settings {
    Settings { mode: Mode::Enforce, secret: 7, ssthresh: true, ..Settings::default() }
}

/// A connection that measured this window on a path of 100 ms.
pub(crate) fn measured(at: Nanos, peer: IpAddr, segments: u32) -> Connection {
    let rtt = Nanos::from_millis(100);
    Connection {
        at,
        peer,
        arm: Arm::Stock,
        stage: Stage::Ended,
        age: Nanos::from_secs(20),
        busy: Nanos::from_secs(5),
        mss: 1000,
        bytes: 1_000_000,
        handshake_rtt: rtt,
        min_rtt: rtt,
        srtt: rtt,
        rate: u64::from(segments) * 10_000,
        limited: false,
        shared: false,
        cwnd: segments,
        ssthresh: Some(segments),
        receive_window: 1 << 20,
        sent: 1001,
        retransmits: 1,
        timeouts: 0,
        first_window_lost: 0,
    }
}

/// Reports of three hosts of two networks, stock, planned and held out, from this time on.
pub(crate) fn reports(from: Nanos) -> impl Iterator<Item = Connection> {
    (0..24_u8).map(move |turn| {
        let host = turn % 3 + 1;
        let peer = match turn % 2 {
            0 => IpAddr::from([192, 0, 2, host]),
            _ => IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(host)]),
        };
        let arm = match turn % 4 {
            0 => Arm::Stock,
            1 => Arm::Holdout(20),
            _ => Arm::Planned(20),
        };
        let at = Nanos(from.0.saturating_add(u64::from(turn) * 100_000_000));
        Connection { arm, first_window_lost: if turn == 17 { 20 } else { 0 }, ..measured(at, peer, 40) }
    })
}

/// Lets a gateway live for some seconds, from the time `from`, and asks it everything.
pub(crate) fn exercised(gateway: &mut Gateway, from: Nanos) {
    let mut out = vec![];
    for connection in reports(from) {
        gateway.report(&connection, &mut out);
    }
    gateway.tick(Nanos(from.0.saturating_add(10_000_000_000)), &mut out);
    let prefix = "192.0.2.0/24".parse().expect("a prefix");
    gateway.order(prefix, Some(Override::Window(12)), &mut out);
    gateway.order(prefix, None, &mut out);
    gateway.tick(Nanos::NEVER, &mut out);
    held(gateway, &out);
}

/// Asserts what every gateway promises of its plans and answers.
pub(crate) fn held(gateway: &Gateway, decisions: &[Decision]) {
    let most = gateway.settings().overrides.iter().filter_map(|(_, order)| match order {
        Override::Window(window) => Some(*window),
        Override::Freeze | Override::Off => None,
    });
    let most = most.chain([gateway.settings().window, 12]).max().expect("there is one");
    for plan in gateway.plans() {
        assert!((10..=most).contains(&plan.window), "{plan:?}");
        assert!(plan.ssthresh.is_none_or(|ssthresh| ssthresh >= plan.window), "{plan:?}");
        assert!(plan.pace().is_none_or(|pace| pace >= plan.window), "{plan:?}");
    }
    for decision in decisions {
        assert!(!decision.to_string().is_empty());
    }
    let found = gateway.busiest(16);
    for explanation in &found {
        assert!((0.0..=1.0).contains(&explanation.own_loss), "{explanation:?}");
        for bound in explanation.trial.iter().flat_map(|trial| [trial.slower, trial.lossier]) {
            assert!((0.0..=1.0).contains(&bound), "{explanation:?}");
        }
        let effect = explanation.trial.and_then(|trial| trial.effect);
        assert!(effect.is_none_or(|effect| effect.iter().all(|x| !x.is_nan())), "{explanation:?}");
    }
    assert!(gateway.planned() <= gateway.prefixes());
    assert!(gateway.observations("fuzz", 1_700_000_000).count() <= gateway.prefixes());
}
