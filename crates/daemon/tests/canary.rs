//! The canary of a service: plans for some networks, its end by harm, its orders, its file.

use std::fs;
use std::path::Path;

use crate::common::{COMPLAINTS, Scratch, Service, connection, setup, teach};
use firstflight_daemon::{Setup, Source, Unanswered};
use firstflight_gateway::{Arm, Canary, Connection, Mode, Settings, configuration};
use serde_json::{Value, json};

const HERE: &str = "192.0.2.0/24";

fn start(folder: &Path, rules: Option<&str>) -> Service {
    let canary = rules.map(|rules| (configuration::canary_rules(rules).expect("rules"), 12));
    let source = Source { file: Some("/etc/gateway.toml".into()), canary, ..Source::default() };
    let usual = setup(folder, Mode::Enforce);
    // The trial, which would stop all plans as well, finds nothing here.
    let settings = Settings { false_alarm: (1e-300, 1e-300), ..usual.settings.clone() };
    Service::with(Setup { record: None, source, settings, ..usual })
}

fn planned(service: &Service) -> bool {
    service.kernel.told(|told| !told.plans.is_empty() && !told.stopped)
}

fn post(service: &Service, body: &Value) -> Value {
    service.client.post("/v1/canary", body).expect("an answer")
}

fn begin(service: &Service, rules: &str) -> Value {
    post(service, &json!({ "begin": rules }))
}

fn get(service: &Service, path: &str) -> Value {
    service.client.get(path).expect("an answer")
}

fn refused(service: &Service, body: &Value) -> String {
    match service.client.post("/v1/canary", body) {
        Err(Unanswered::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// A ramp whose only share leaves this network out, and one that has it. The key is the secret of the settings, zero.
fn shares() -> (String, String) {
    let has = |share: u32| {
        let rules = format!("ramp = \"{}.{} %\"", share / 10, share % 10);
        let canary = Canary::begin(configuration::canary_rules(&rules).expect("rules"), 0, 0);
        (canary.has(&HERE.parse().expect("a prefix")), rules)
    };
    let least = (1..=1000).map(has).find(|(has, _)| *has).expect("100 % has all");
    let most = (1..=1000).rev().map(has).find(|(has, _)| !*has).expect("0.1 % has few");
    (most.1, least.1)
}

#[test]
fn plans_are_for_the_networks_of_the_canary_alone() {
    let scratch = Scratch::new();
    let service = start(&scratch.0, None);
    teach(&service);
    service.until("a plan", || planned(&service));
    assert_eq!(get(&service, "/v1/canary"), json!({ "state": "none" }));
    let (without, with) = shares();
    let answer = begin(&service, &without);
    assert_eq!(
        (&answer["state"], &answer["durable"], planned(&service)),
        (&json!("running"), &json!(true), false)
    );
    assert_eq!(answer["networks"], json!({ "with_a_plan": 0, "planned_without_canary": 1 }));
    // It learns, and decides no plan for the kernel.
    teach(&service);
    let explained = get(&service, "/v1/explain/192.0.2.1");
    assert!(explained["plan"].is_null() && !explained["plan_after_release"].is_null(), "{explained}");
    let why = explained["why_no_plan"].as_str().expect("a reason");
    assert!(why.starts_with("not among the ") && why.ends_with(" % of the networks in the canary"), "{why}");
    let transfer = json!({ "destination": "192.0.2.1", "bytes": 100_000 });
    assert_eq!(service.client.post("/v1/plan", &transfer).expect("an answer")["start"], "stock");
    assert_eq!(get(&service, "/v1/status")["plans"], 0);
    assert!(!planned(&service));
    begin(&service, &with);
    assert!(planned(&service), "at once");
    assert_eq!(get(&service, "/v1/status")["canary"]["state"], "running");
    post(&service, &json!("stop"));
    assert!(!planned(&service));
    assert_eq!(refused(&service, &json!("stop")), "the canary is stopped already");
    // An order to stop all plans, and its release, change nothing of it.
    service.client.post("/v1/off", &json!({})).expect("an answer");
    service.client.post("/v1/release", &json!({})).expect("an answer");
    assert!(!planned(&service));
    service.end().expect("it ends in order");
    // A stopped canary outlives a restart.
    let service = start(&scratch.0, None);
    teach(&service);
    let report = get(&service, "/v1/canary");
    assert_eq!((&report["state"], &report["share_percent"]), (&json!("stopped"), &json!(0.0)));
    assert!(report["why"].as_str().is_some_and(|why| why.starts_with("an order, user 0, 20")), "{report}");
    assert_eq!(
        (&report["ordered_by"]["origin"], &report["ordered_by"]["uid"]),
        (&json!("socket"), &json!(0))
    );
    assert!(!planned(&service));
    assert_eq!(post(&service, &json!("release"))["state"], "none");
    assert!(planned(&service));
    assert_eq!(refused(&service, &json!("release")), "there is no canary");
    assert!(refused(&service, &json!({ "begin": "p99 = 1" })).contains("p99"));
    assert!(!scratch.0.join("state/canary.json").exists());
    service.end().expect("it ends in order");
    let audit = fs::read_to_string(scratch.0.join("state/audit.jsonl")).expect("the audit log");
    for what in ["canary begin ramp = ", "canary stop", "canary release"] {
        let line = audit.lines().find(|line| line.contains(what)).expect("a line");
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(
            (&line["result"], &line["durable"], &line["uid"]),
            (&json!("done"), &json!(true), &json!(0)),
            "{line}"
        );
    }
}

/// Ends of connections to another network, of which every tenth is held out; planned ones retransmit `lost` of 100 segments.
fn ends(service: &Service, lost: u32) {
    let now = firstflight_hooks::now().0;
    let reports = (0..200_u32).map(|number| {
        let (arm, retransmits) =
            if number % 10 == 0 { (Arm::Holdout(30), 0) } else { (Arm::Planned(30), lost) };
        let (sent, busy) =
            (100 + retransmits, firstflight_contract::Nanos(200_000_000 + 1_000_000 * u64::from(number % 7)));
        let peer = [198, 51, 100, number as u8].into();
        Connection { arm, sent, retransmits, busy, peer, bytes: 144_800, ..connection(now, 1) }
    });
    service.kernel.told(|told| told.reports.extend(reports));
}

#[test]
fn a_canary_stops_by_itself_when_planned_connections_lose_more() {
    let scratch = Scratch::new();
    let rules = "ramp = \"100 %\"\nevidence = 20\nports = \"443 8443\"";
    let service = start(&scratch.0, Some(rules));
    teach(&service);
    service.until("a plan", || planned(&service));
    assert_eq!(service.kernel.told(|told| told.limits.clone()), (vec![443, 8443], vec![]));
    ends(&service, 0);
    service.until("a look", || get(&service, "/v1/canary")["steps_begun"][0]["holdout"] == 20);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(get(&service, "/v1/canary")["state"], "running", "they do no worse");
    ends(&service, 6);
    service.until("it stops", || get(&service, "/v1/canary")["state"] == "stopped");
    assert!(!planned(&service));
    let report = get(&service, "/v1/canary");
    let step = &report["steps_begun"][0];
    assert_eq!((&step["planned"], &step["holdout"]), (&json!(360), &json!(40)));
    // By hand: half of 360 planned connections retransmitted 6 of 106 segments, 1080 of 37080; the held-out ones none of 4000.
    let lost = step["retransmissions"]["planned"].as_f64().expect("a number");
    assert!((lost - 100.0 * 1080.0 / 37_080.0).abs() < 1e-9, "{lost}");
    assert_eq!(
        (&step["retransmissions"]["holdout"], &step["retransmissions"]["worse"]),
        (&json!(0.0), &json!(true))
    );
    let why = report["why"].as_str().expect("a reason");
    assert!(
        why.starts_with("planned connections retransmit 2.91 % of their segments, held-out ones 0.00 %"),
        "{why}"
    );
    assert_eq!(report["ordered_by"]["place"], "/etc/gateway.toml:12");
    let said = format!("the canary has stopped, and no plan is used: {why}");
    assert!(COMPLAINTS.lock().expect("no panic").contains(&said));
    let log = fs::read_to_string(scratch.0.join("state/decisions.jsonl")).expect("the decision log");
    assert!(log.lines().any(|line| line.contains("\"canary\":\"stopped\"")));
    service.end().expect("it ends in order");
    // The same rules in the configuration do not begin it anew; others do, and without a table plans are for everybody.
    let service = start(&scratch.0, Some(rules));
    assert_eq!((&get(&service, "/v1/canary")["why"], planned(&service)), (&json!(why), false));
    service.end().expect("it ends in order");
    let service = start(&scratch.0, Some("ramp = \"100 %\"\nevidence = 30"));
    assert_eq!((&get(&service, "/v1/canary")["state"], planned(&service)), (&json!("running"), true));
    service.end().expect("it ends in order");
    let service = start(&scratch.0, None);
    assert_eq!((&get(&service, "/v1/canary")["state"], planned(&service)), (&json!("none"), true));
    service.end().expect("it ends in order");
}

#[test]
fn a_canary_that_cannot_be_limited_or_read_uses_no_plan() {
    let scratch = Scratch::new();
    let service = start(&scratch.0, None);
    teach(&service);
    service.until("a plan", || planned(&service));
    let missing = json!({ "begin": "cgroups = \"/no/such/cgroup\"" });
    assert_eq!(refused(&service, &missing), "/no/such/cgroup: no cgroup");
    assert_eq!((get(&service, "/v1/canary"), planned(&service)), (json!({ "state": "none" }), true));
    service.end().expect("it ends in order");
    let service = start(&scratch.0, Some("cgroups = \"/no/such/cgroup\""));
    let report = get(&service, "/v1/canary");
    assert_eq!((&report["state"], planned(&service)), (&json!("stopped"), false), "{report}");
    service.end().expect("it ends in order");

    let file = scratch.0.join("state/canary.json");
    fs::write(&file, "{\"version\":1}").expect("a file");
    let service = start(&scratch.0, None);
    assert_eq!((&get(&service, "/v1/canary")["state"], planned(&service)), (&json!("stopped"), false));
    let kept = fs::read_dir(scratch.0.join("state")).expect("the folder").flatten();
    assert!(
        kept.into_iter()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("canary.json.unreadable-"))
    );
    post(&service, &json!("release"));
    assert!(planned(&service));
    service.end().expect("it ends in order");
}
