//! Any text as the record of another gateway: accepted only with its signature, and then bounded in its effect.

use firstflight_contract::Nanos;
use firstflight_gateway::{Acceptance, Gateway, Keys, Known, MOST, Observation, Refused, Signer};
use ring::signature::Ed25519KeyPair;

use crate::gateways::{enforcing, held, reports};
use crate::{Form, Target, refused, text};

pub(crate) const TARGET: Target = Target {
    name: "gateway_record",
    about: "text as the record of another gateway, as it is and signed: refused, or accepted and bounded in its effect",
    run,
    longest: 1200,
    form: Form::Text(WORDS),
};

const WORDS: &[&str] = &[
    "{\"version\":2",
    "\"host\":\"there\"",
    "\"host\":\"here\"",
    "\"prefix\":\"192.0.2.0/24\"",
    "\"prefix\":\"2001:db8::/48\"",
    "\"window\":640",
    "\"window\":720",
    "\"window\":65535",
    "\"rtt\":80000000",
    "\"rtt\":18446744073709551615",
    "\"samples\":40",
    "\"samples\":4294967295",
    "\"at\":1700000000",
    "\"at\":18446744073709551615",
    ",",
    "}",
    " ",
    "0",
    "-1",
    "1e3",
];

const SECRET: [u8; 32] = [7; 32];
const NOW: u64 = 1_700_000_000;

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let keys = Keys::of(&signer());
    let rules = Acceptance {
        keys: &keys,
        host: "here",
        bits: (24, 48),
        window: MOST,
        now: NOW,
        max_age: Nanos::from_secs(1800),
        weight: 500,
    };
    let (own, number) = (Ed25519KeyPair::from_seed_unchecked(&SECRET).expect("32 bytes"), number());
    let signed = |text: &str| {
        let signature = own.sign(text.as_bytes());
        let hex: String = signature.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{text} {number} {hex}")
    };
    match Observation::accept(text, &rules) {
        Ok(_) => {
            let content = text.rsplitn(3, ' ').nth(2).unwrap_or_default();
            assert!(text.eq_ignore_ascii_case(&signed(content)), "accepted without its signature");
        }
        Err(error) => {
            let unsigned =
                matches!(error, Refused::Unsigned | Refused::UnknownKey { .. } | Refused::Signature);
            assert!(unsigned || text.len() > number.len() + 130, "{error}");
            refused(error);
        }
    }
    let remote = match Observation::accept(&signed(text), &rules) {
        Ok(remote) => remote,
        Err(error) => return refused(error),
    };
    assert!(remote.age <= rules.max_age && remote.weight == rules.weight);
    // In the store: a place of its prefix, taken once, and refused in the place of another.
    let observation = &remote.observation;
    assert!(Observation::places(&observation.prefix).contains(&observation.place()));
    let (mut known, place) = (Known::new(), observation.prefix);
    assert_eq!([known.admit(&place, &remote), known.admit(&place, &remote)], [Ok(true), Ok(false)]);
    let other = "198.51.100.0/24".parse().expect("a prefix");
    assert!(place == other || matches!(known.admit(&other, &remote), Err(Refused::Misplaced { .. })));
    let mut gateway = Gateway::new(enforcing());
    let mut out = vec![];
    // Before and beside own measurements.
    gateway.remote(&remote, &mut out);
    for connection in reports(Nanos::from_secs(5)) {
        gateway.report(&connection, &mut out);
        gateway.remote(&remote, &mut out);
    }
    let own = |gateway: &Gateway| -> Vec<_> { gateway.observations("here", NOW).collect() };
    let mut alone = Gateway::new(enforcing());
    reports(Nanos::from_secs(5)).for_each(|connection| alone.report(&connection, &mut vec![]));
    let sorted = |mut all: Vec<Observation>| {
        all.sort_by_key(|observation| observation.prefix);
        all
    };
    assert_eq!(
        sorted(own(&gateway)),
        sorted(own(&alone)),
        "a record of another host comes back as an own one"
    );
    held(&gateway, &out);
}

fn signer() -> Signer {
    Signer::from_seed("there", &SECRET)
}

fn record(prefix: &str) -> String {
    let prefix = prefix.parse().expect("a prefix");
    Observation::new("there", prefix, 640, Nanos::from_millis(80), 40, NOW - 10).sign(&signer())
}

/// Number of the key.
fn number() -> String {
    record("192.0.2.0/24").rsplit(' ').nth(1).unwrap_or_default().to_owned()
}

/// The content of a record, without its signature.
pub(crate) fn content() -> Vec<u8> {
    record("192.0.2.0/24").rsplitn(3, ' ').nth(2).unwrap_or_default().into()
}

/// A signed record.
pub(crate) fn signed_record() -> Vec<u8> {
    record("2001:db8::/48").into_bytes()
}
