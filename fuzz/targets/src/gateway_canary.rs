//! Any text as the saved canary of a gateway: refused as a whole, or a canary that goes on and is saved again.

use firstflight_contract::Nanos;
use firstflight_gateway::{Canary, configuration};

use crate::gateways::reports;
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "gateway_canary",
    about: "text as a gateway's saved canary: refused as a whole, or one that goes on, is compared and is saved again",
    run,
    longest: 8 << 10,
    form: Form::Text(WORDS),
};

const WORDS: &[&str] = &[
    "\"running\"",
    "{\"finished\":1}",
    "{\"stopped\":[1,\"x\"]}",
    "\"share\":1000",
    "\"time\":null",
    "\"looks\":4294967295",
    "\"connections\":18446744073709551615",
    "\"sent_squared\":1e308",
    "\"evidence\":1",
    "\"2000\":18446744073709551615",
    "[]",
    "{}",
    ",",
    "-1",
    "0",
];

fn run(bytes: &[u8]) {
    let (saved, mut canary) = match firstflight_daemon::reread_canary(bytes) {
        Ok(read) => read,
        Err(why) => return refused(why),
    };
    let (_, again) = firstflight_daemon::reread_canary(&saved)
        .unwrap_or_else(|why| panic!("a saved canary is refused: {why}"));
    assert_eq!(again.share(), canary.share());
    for (turn, connection) in (0_u64..).zip(reports(Nanos::from_secs(5))) {
        canary.report(&connection);
        // The change may be any; the shares grow, or the canary is stopped.
        let before = canary.share();
        canary.tick(Nanos::from_secs(10 + turn), turn, true);
        assert!(canary.share() >= before || canary.share() == 0, "the share has fallen");
        canary.waits_for();
    }
    for at in 0..canary.steps().count() {
        let found = canary.compare(at).expect("a step that has begun");
        for interval in found.p95.iter().flatten().chain(&found.retransmissions).map(|found| found.interval) {
            assert!(interval.0 <= interval.1, "{interval:?}");
        }
    }
}

/// A canary in its second step, with connections of both groups.
pub(crate) fn second_step() -> Vec<u8> {
    let rules = "ramp = \"1 % 1 s, 100 %\"\nevidence = 10\nports = \"443\"";
    let mut canary = Canary::begin(configuration::canary_rules(rules).expect("rules"), 7, 1);
    for second in 0..9 {
        reports(Nanos::from_secs(second)).for_each(|connection| canary.report(&connection));
        canary.tick(Nanos::from_secs(second), second, true);
    }
    firstflight_daemon::save_canary(canary)
}
