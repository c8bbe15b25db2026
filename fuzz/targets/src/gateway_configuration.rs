//! Any text as `gateway.toml`: an error in one line, or a configuration within its limits with which a gateway works.

use firstflight_contract::Nanos;
use firstflight_gateway::{Configuration, Gateway, MOST, STOCK};

use crate::gateways::exercised;
use crate::{Form, Target, text};

pub(crate) const TARGET: Target = Target {
    name: "gateway_configuration",
    about: "text of a gateway's configuration: refused, or within its limits, and a gateway with it plans within them",
    run,
    longest: 4 << 10,
    form: Form::Text(WORDS),
};

const WORDS: &[&str] = &[
    "mode = ",
    "policy = ",
    "[prefixes]",
    "[estimator]",
    "[plan]",
    "[trial]",
    "[share]",
    "[[override]]",
    "prefix = ",
    "\"192.0.2.0/24\"",
    "\"2001:db8::/48\"",
    "\"::ffff:192.0.2.0/120\"",
    "window = ",
    "action = \"off\"",
    "action = \"freeze\"",
    "v4 = ",
    "v6 = ",
    "split = false",
    "split_v4 = ",
    "split_v6 = ",
    "most = ",
    "half_life = ",
    "samples = ",
    "hosts = ",
    "ssthresh = true",
    "lease = ",
    "lifetime = ",
    "hold_down = ",
    "freeze = ",
    "holdout = ",
    "false_alarm_prefix = ",
    "false_alarm_host = ",
    "url = \"redis://h:1\"",
    "key_file = ",
    "keys = ",
    "user = ",
    "host = ",
    "weight = ",
    "max_age = ",
    "\"enforce\"",
    "\"observe\"",
    "\"measured\"",
    "\"spand\"",
    "\"liss\"",
    "\"10 s\"",
    "\"1440 min\"",
    "\"1e308 s\"",
    "nan",
    "-1",
    "18446744073709551615",
];

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Configuration { settings, limits, share, .. } = match Configuration::parse(text, "gateway.toml") {
        Ok(configuration) => configuration,
        Err(error) => {
            let error = error.to_string();
            assert!(!error.is_empty() && !error.chars().any(char::is_control), "{error:?}");
            return;
        }
    };
    assert!((STOCK..=MOST).contains(&settings.window) && limits.window == settings.window);
    assert!((10..=500).contains(&settings.holdout) && limits.holdout == settings.holdout);
    let day = Nanos::from_secs(86_400);
    assert!(settings.half_life <= day && settings.lifetime <= day && settings.hold_down <= day);
    assert!(share.is_none_or(|share| share.weight <= 1000 && share.max_age <= day));
    for (at, (prefix, _)) in settings.overrides.iter().enumerate() {
        assert!(settings.overrides[..at].iter().all(|(other, _)| !other.contains(prefix)));
    }
    exercised(&mut Gateway::new(settings), Nanos::from_secs(5));
}
