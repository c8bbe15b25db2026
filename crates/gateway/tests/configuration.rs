//! The configuration file and its reference.

use std::fs;
use std::path::PathBuf;

use firstflight_contract::Nanos;
use firstflight_gateway::{Configuration, Metrics, Mode, Override, Policy, Settings, configuration};

fn page() -> String {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway-configuration.md");
    fs::read_to_string(page).expect("the page exists")
}

fn refused(text: &str) -> String {
    Configuration::parse(text, "gateway.toml").expect_err("it is refused").to_string()
}

#[test]
fn the_example_of_the_reference_is_a_configuration() {
    let page = page();
    let text = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let Configuration { settings, limits, admin_group, .. } =
        Configuration::parse(text, "gateway.toml").expect("a configuration");
    assert_eq!(
        (settings.mode, settings.hosts, settings.half_life),
        (Mode::Enforce, 2, Nanos::from_secs(300))
    );
    assert_eq!((limits.window, limits.holdout, limits.lease), (34, 100, Nanos::from_secs(10)));
    assert_eq!(admin_group.as_deref(), Some("netops"));
    let orders: Vec<_> =
        settings.overrides.iter().map(|(prefix, order)| (prefix.to_string(), *order)).collect();
    assert_eq!(
        orders,
        [("198.51.100.0/24".into(), Override::Off), ("2001:db8:1::/48".into(), Override::Window(20))]
    );
}

#[test]
fn an_override_has_a_window_from_that_of_the_stack_to_that_of_the_plan() {
    for (limit, most) in [("", 45), ("[plan]\nwindow = 20\n", 20)] {
        for window in 0..=most + 1 {
            let text = format!("{limit}[[override]]\nprefix = \"192.0.2.0/24\"\nwindow = {window}");
            let found = Configuration::parse(&text, "gateway.toml");
            if (10..=most).contains(&window) {
                let line = if limit.is_empty() { 2 } else { 4 };
                let order = ("192.0.2.0/24".parse().expect("a prefix"), Override::Window(window), line);
                assert_eq!(found.expect("a configuration").orders, [order]);
            } else {
                let why = found.expect_err("it is refused").to_string();
                assert!(why.contains(&format!("override[0].window = {window}: ")), "{why}");
                assert!(why.contains(&format!("10 to {}", if window < 10 { 45 } else { most })), "{why}");
            }
        }
    }
}

#[test]
fn every_key_is_taken_by_a_running_gateway_or_needs_a_restart() {
    // Each key with a value that is not its default; keys that one table needs together stand together.
    let keys = [
        ("mode = \"enforce\"", "mode", true),
        ("policy = \"spand\"", "policy", false),
        ("cgroup = \"/x\"", "cgroup", false),
        ("state = \"/x\"", "state", false),
        ("socket = \"/x\"", "socket", false),
        ("user = \"daemon\"", "user", false),
        ("read_group = \"adm\"", "read_group", false),
        ("admin_group = \"adm\"", "admin_group", false),
        ("plan_group = \"adm\"", "plan_group", false),
        ("[prefixes]\nv4 = 23", "prefixes", false),
        ("[prefixes]\nmost = 1000", "prefixes", false),
        ("[prefixes]\nsplit = false", "prefixes", false),
        ("[estimator]\nhalf_life = \"5 min\"", "estimator.half_life", true),
        ("[estimator]\nsamples = 9", "estimator.samples", true),
        ("[estimator]\nhosts = 4", "estimator.hosts", true),
        ("[plan]\nwindow = 20", "plan.window", false),
        ("[plan]\nssthresh = true", "plan.ssthresh", false),
        ("[plan]\nidle = true", "plan.idle", false),
        ("[plan]\nretreat = true", "plan.retreat", false),
        ("[plan]\nlease = \"5 s\"", "plan.lease", false),
        ("[plan]\nlifetime = \"5 min\"", "plan.lifetime", true),
        ("[plan]\nhold_down = \"5 min\"", "plan.hold_down", true),
        ("[plan]\nfreeze = \"5 min\"", "plan.freeze", true),
        ("[trial]\nholdout = 10", "trial.holdout", false),
        ("[trial]\nfalse_alarm_prefix = 0.02", "trial.false_alarm_prefix", true),
        ("[trial]\nfalse_alarm_host = 0.02", "trial.false_alarm_host", true),
        ("[transfers]\napply = true", "transfers", false),
        (
            "[share]\nurl = \"redis://store\"\nkey_file = \"key\"\nkeys = \"keys\"\nhost = \"a\"",
            "share",
            false,
        ),
        ("[site]\nlisten = \"10.0.0.1:4646\"\nhosts = \"10.0.0.0/24\"\nkey_file = \"key\"", "site", false),
        ("[metrics]\nlisten = \"127.0.0.1:9475\"", "metrics", false),
    ];
    let before = Configuration::default();
    for (text, key, live) in keys {
        let after = Configuration::parse(text, "gateway.toml").expect("a configuration");
        let mut settings = before.settings.clone();
        let taken: Vec<_> = settings.adopt(&after.settings).iter().map(|changed| changed.key).collect();
        let restart = after.needs_restart(&before);
        assert_eq!((taken, restart), if live { (vec![key], vec![]) } else { (vec![], vec![key]) }, "{text}");
    }
    assert_eq!(before.needs_restart(&before), [""; 0]);
}

#[test]
fn an_empty_file_has_the_defaults() {
    let Configuration { settings, limits, read_group, share, .. } =
        Configuration::parse("", "gateway.toml").expect("a configuration");
    assert_eq!(settings, Settings::default());
    assert_eq!((limits.window, limits.ssthresh, limits.holdout), (45, false, 50));
    assert_eq!((read_group, share), (None, None));
}

#[test]
fn every_policy_of_the_shared_memory_can_be_chosen() {
    for label in firstflight_paths::Policy::LABELS {
        let text = format!("policy = \"{label}\"");
        let settings = Configuration::parse(&text, "gateway.toml").expect("a policy").settings;
        let Policy::Shared(policy) = settings.policy else { panic!("{label}: {:?}", settings.policy) };
        assert_eq!(policy.label(), *label);
    }
}

#[test]
fn an_error_names_its_place_the_valid_values_and_the_nearest_name() {
    for (text, error) in [
        (
            "mode = \"enforse\"",
            "gateway.toml:1:8: mode = \"enforse\": there is no \"enforse\"; expected one of: observe, advise, enforce; did \
             you mean \"enforce\"?",
        ),
        (
            "[estimator]\nhalflife = \"10 min\"",
            "gateway.toml:2:1: estimator.halflife = \"10 min\": no such key; expected one of: half_life, samples, hosts; did \
             you mean \"half_life\"?",
        ),
        (
            "[plan]\nwindow = 46",
            "gateway.toml:2:10: plan.window = 46: out of range; expected a whole number from 11 to 45",
        ),
        (
            "[plan]\nfreeze = \"8 d\"",
            "gateway.toml:2:10: plan.freeze = \"8 d\": there is no unit \"d\" here, only ns, us, ms, s, min; expected a time \
             above zero such as \"100 ms\"",
        ),
        (
            "[plan]\nlease = \"61 min\"",
            "gateway.toml:2:9: plan.lease = \"61 min\": out of range; expected a time from 1 s to 3600 s",
        ),
        (
            "[prefixes]\nv4 = 28",
            "gateway.toml:2:6: prefixes.v4 = 28: split_v4 = 28 is no more than v4 = 28, so that nothing is split; expected \
             split_v4 above v4, or split = false",
        ),
        (
            "[prefixes]\nsplit_v6 = 65",
            "gateway.toml:2:12: prefixes.split_v6 = 65: out of range; expected a whole number from 17 to 64",
        ),
        (
            "[transfers]\naply = true",
            "gateway.toml:2:1: transfers.aply = true: no such key; expected one of: apply, ssthresh; did you mean \
             \"apply\"?",
        ),
        (
            "[[override]]\nprefix = \"10.0.0.0/8\"\naction = \"off\"\n[[override]]\nprefix = \"10.1.0.0/16\"\nwindow = 20",
            "gateway.toml:5:10: override[1].prefix = \"10.1.0.0/16\": 10.1.0.0/16 overlaps 10.0.0.0/8, which another \
             [[override]] has; expected prefixes of which none contains another",
        ),
        (
            "[[override]]\nprefix = \"10.1.0.1/16\"\nwindow = 20",
            "gateway.toml:2:10: override[0].prefix = \"10.1.0.1/16\": 10.1.0.1/16 has bits set beyond its length: expected \
             10.1.0.0/16",
        ),
        (
            "[[override]]\nprefix = \"10.1.0.0/16\"",
            "gateway.toml:1:1: override[0]: there is no order; expected window or action",
        ),
        (
            "[share]\nurl = \"http://store\"\nkey_file = \"key\"\nhost = \"a\"",
            "gateway.toml:2:7: share.url = \"http://store\": not the address of a store; expected one that begins with \
             redis://, valkey://, rediss://, valkeys://, unix:///",
        ),
        (
            "[share]\nurl = \"redis://store\"\nkey_file = \"key\"\nkeys = \"keys\"\nhost = \"a\"\nca_file = \"ca.pem\"",
            "gateway.toml:6:11: share.ca_file = \"ca.pem\": the way to the store is not encrypted; expected a url that begins \
             with rediss:// or valkeys://, or no key",
        ),
        (
            "[metrics]\nlisten = \"0.0.0.0:9475\"",
            "gateway.toml:2:10: metrics.listen = \"0.0.0.0:9475\": other hosts could read the metrics at this address; expected \
             127.0.0.1:9475, or metrics.any_host = true",
        ),
        (
            "[metrics]\nlisten = \"[2001:db8::1]:80\"",
            "gateway.toml:2:10: metrics.listen = \"[2001:db8::1]:80\": other hosts could read the metrics at this address; \
             expected [::1]:80, or metrics.any_host = true",
        ),
        (
            "[metrics]\nlisten = \"localhost:9475\"",
            "gateway.toml:2:10: metrics.listen = \"localhost:9475\": not an address with a port; expected one as 127.0.0.1:9475 or \
             [::1]:9475",
        ),
        (
            "[metrics]\nlisten = \"127.0.0.1:0\"",
            "gateway.toml:2:10: metrics.listen = \"127.0.0.1:0\": no port; expected a port above zero, as in 127.0.0.1:9475",
        ),
        (
            "[metrics]\nany_host = true",
            "gateway.toml:2:12: metrics.any_host = true: it has no effect without listen; expected listen, or no any_host",
        ),
        (
            "[metrics]\ntextfile = \"/run/firstflight/metrics.txt\"",
            "gateway.toml:2:12: metrics.textfile = \"/run/firstflight/metrics.txt\": node_exporter reads no file of this name; \
             expected a name that ends with .prom, as /run/firstflight/metrics.prom",
        ),
        (
            "[metrics]\ntextfile = \"metrics.prom\"",
            "gateway.toml:2:12: metrics.textfile = \"metrics.prom\": not the whole path; expected a path that begins with /",
        ),
        (
            "[metrics]\ntextfile = \"/run/m.prom\"\nevery = \"100 ms\"",
            "gateway.toml:3:9: metrics.every = \"100 ms\": out of range; expected a time from 1 s to 3600 s",
        ),
        (
            "[metrics]\nlistn = \"127.0.0.1:9475\"",
            "gateway.toml:2:1: metrics.listn = \"127.0.0.1:9475\": no such key; expected one of: listen, any_host, textfile, every; \
             did you mean \"listen\"?",
        ),
        (
            "[site]\nlisten = \"0.0.0.0:4646\"\nhosts = \"10.0.0.0/24\"\nkey_file = \"key\"",
            "gateway.toml:2:10: site.listen = \"0.0.0.0:4646\": not an address of one interface; expected an address and a \
             port above zero",
        ),
        (
            "[site]\nlisten = \"10.0.0.1:4646\"\nhosts = \"10.0.0.0/24 10.0.1.1/24\"\nkey_file = \"key\"",
            "gateway.toml:3:9: site.hosts = \"10.0.0.0/24 10.0.1.1/24\": 10.0.1.1/24 has bits set beyond its length: \
             expected 10.0.1.0/24",
        ),
        ("[share]\nurl = \"redis://store\"", "gateway.toml:1:1: share.key_file: missing; expected a text"),
        (
            "[share]\nurl = \"redis://store\"\nkey_file = \"key\"\nhost = \"a\"",
            "gateway.toml:1:1: share.keys: missing; expected a text",
        ),
        (
            "[estimator]\nhosts = 1\n[share]\nurl = \"redis://store\"\nkey_file = \"key\"\nkeys = \"keys\"\nhost = \"a\"",
            "gateway.toml:3:1: share: with estimator.hosts = 1, one host of the exchange would found plans alone; expected \
             estimator.hosts of 2 or more, or no [share]",
        ),
    ] {
        assert_eq!(refused(text), error);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(18),
        ..proptest::prelude::ProptestConfig::default()
    })]
    #[test]
    fn a_list_is_refused_exactly_if_two_prefixes_overlap(
        prefixes in proptest::collection::vec((0..16u32, 1..=5u8), 1..6),
    ) {
        let prefixes: Vec<firstflight_paths::Prefix> = prefixes
            .iter()
            .map(|&(top, length)| firstflight_paths::Prefix::around(std::net::Ipv4Addr::from(top << 28).into(), length))
            .collect();
        let text: String =
            prefixes.iter().map(|p| format!("[[override]]\nprefix = \"{p}\"\naction = \"off\"\n")).collect();
        let overlap = prefixes.iter().enumerate().any(|(i, a)| prefixes[..i].iter().any(|b| a.contains(b) || b.contains(a)));
        proptest::prop_assert_eq!(Configuration::parse(&text, "").is_err(), overlap, "{}", text);
    }
}

#[test]
fn the_rules_of_a_canary_are_the_same_in_the_file_and_in_an_order() {
    let lines = "ports = \"443 8443\"\ncgroups = \"/sys/fs/cgroup/web.slice\"\nramp = \"2.5 % 10 min, 50 %\"\np95 = 5\nevidence = 50";
    let file = Configuration::parse(&format!("mode = \"enforce\"\n[canary]\n{lines}\n"), "gateway.toml");
    let (rules, line) = file.expect("a configuration").canary.expect("a canary");
    assert_eq!((rules.clone(), line), (configuration::canary_rules(lines).expect("rules"), 2));
    assert_eq!((rules.ports, rules.cgroups), (vec![443, 8443], vec!["/sys/fs/cgroup/web.slice".to_owned()]));
    assert_eq!((rules.retransmissions, rules.p95, rules.evidence), (1.0, 5.0, 50));
    let shares = |text: &str| -> Vec<u16> {
        configuration::canary_rules(text).expect("rules").ramp.iter().map(|step| step.share).collect()
    };
    assert_eq!((shares(lines), shares("")), (vec![25, 500], vec![10, 50, 250, 1000]));
    for (lines, why) in [
        ("ports = \"443 http\"", "\"http\" is no port"),
        ("ports = \"0\"", "\"0\" is no port"),
        ("cgroups = \"web.slice\"", "\"web.slice\" is no folder"),
        ("ramp = \"5 %, 1 %\"", "step 1 has no time"),
        ("evidence = 9", "canary.evidence"),
        ("p99 = 1", "p99"),
    ] {
        let refusal = refused(&format!("[canary]\n{lines}\n"));
        assert!(refusal.contains(why) && refusal.contains("gateway.toml:2"), "{refusal}");
        assert!(configuration::canary_rules(lines).expect_err("refused").to_string().contains(why));
    }
}

#[test]
fn metrics_are_served_to_other_hosts_only_where_the_configuration_says_so() {
    let read = |text: &str| Configuration::parse(text, "gateway.toml").expect("a configuration").metrics;
    assert_eq!(read(""), Metrics::default());
    let listen = |text: &str| read(&format!("[metrics]\n{text}")).listen.expect("an address").to_string();
    for own in ["127.0.0.1:9475", "127.9.9.9:80", "[::1]:9475", "[::ffff:127.0.0.1]:9475"] {
        assert_eq!(listen(&format!("listen = \"{own}\"")), own);
    }
    for other in ["0.0.0.0:9475", "192.0.2.1:9475", "[::]:9475"] {
        assert_eq!(listen(&format!("listen = \"{other}\"\nany_host = true")), other);
    }
    let file = read("[metrics]\ntextfile = \"/run/firstflight/f.prom\"\nevery = \"1 min\"").textfile;
    assert_eq!(file, Some(("/run/firstflight/f.prom".into(), Nanos::from_secs(60))));
}
