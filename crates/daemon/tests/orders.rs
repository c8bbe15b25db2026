//! Orders of the file and of the socket: which counts, what is kept, reloaded and audited.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::{COMPLAINTS, Scratch, Service, setup, teach};
use firstflight_contract::Nanos;
use firstflight_daemon::{Fresh, Setup, Source, Unanswered};
use firstflight_gateway::{Mode, Override, Settings};
use firstflight_paths::Prefix;
use serde_json::{Value, json};

const HERE: &str = "192.0.2.0/24";

fn prefix(text: &str) -> Prefix {
    text.parse().expect("a prefix")
}

fn refusal(result: Result<Value, Unanswered>) -> String {
    match result {
        Err(Unanswered::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

fn post(service: &Service, path: &str, body: &Value) -> Value {
    service.client.post(path, body).expect("an answer")
}

/// A gateway in the mode enforce with this limit and these orders of a file.
fn with(folder: &Path, window: u32, orders: &[(&str, Override, u32)]) -> Service {
    let orders: Vec<_> = orders.iter().map(|(at, order, line)| (prefix(at), *order, *line)).collect();
    let overrides = orders.iter().map(|(at, order, _)| (*at, *order)).collect();
    let settings = Settings { mode: Mode::Enforce, window, overrides, ..Settings::default() };
    let source = Source { file: Some("gateway.toml".into()), orders, ..Source::default() };
    Service::with(Setup { settings, source, record: None, ..setup(folder, Mode::Enforce) })
}

fn in_force(service: &Service) -> Vec<(Prefix, Override)> {
    service.kernel.told(|told| told.orders.clone())
}

fn audit(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("state/audit.jsonl")).expect("the audit log");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_window_that_no_connection_starts_with_is_refused_at_once_and_the_others_outlive_a_restart() {
    for most in [45, 20] {
        let scratch = Scratch::new();
        let mut taken = vec![];
        for window in 0..=most + 1 {
            let service = with(&scratch.0, most, &[]);
            assert_eq!(in_force(&service), taken, "{window} of {most}: after a restart");
            assert_eq!(service.client.get("/v1/status").expect("a status")["complaint"], Value::Null);
            let set = service.client.post("/v1/set", &json!({ "prefix": HERE, "window": window }));
            if (10..=most).contains(&window) {
                set.expect("it is taken");
                taken = vec![(prefix(HERE), Override::Window(window))];
            } else {
                let why = format!("a first window of {window} segments; expected 10 to {most}");
                assert_eq!(refusal(set), why);
            }
            assert_eq!(in_force(&service), taken, "{window} of {most}");
            service.end().expect("it ends in order");
        }
    }
}

#[test]
fn orders_for_prefixes_of_any_length_are_taken_and_kept() {
    let scratch = Scratch::new();
    let service = with(&scratch.0, 45, &[]);
    let mut expected: Vec<_> = (0..=32)
        .map(|bits| Prefix::around([192, 0, 2, 77].into(), bits))
        .chain((0..=128).map(|bits| Prefix::around(std::net::Ipv6Addr::from([0xab; 16]).into(), bits)))
        .map(|at| (at, Override::Off))
        .collect();
    for (at, _) in &expected {
        post(&service, "/v1/off", &json!({ "prefix": at.to_string() }));
    }
    service.end().expect("it ends in order");
    let service = with(&scratch.0, 45, &[]);
    let mut found = in_force(&service);
    expected.sort_by_key(|(at, _)| *at);
    found.sort_by_key(|(at, _)| *at);
    assert_eq!(found, expected);
    service.end().expect("it ends in order");
}

#[test]
fn a_limit_that_is_lowered_makes_an_order_wait_and_names_it() {
    let scratch = Scratch::new();
    let service = with(&scratch.0, 45, &[]);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    post(&service, "/v1/set", &json!({ "prefix": "198.51.100.0/24", "window": 40 }));
    post(&service, "/v1/off", &json!({ "prefix": "203.0.113.0/24" }));
    service.end().expect("it ends in order");

    let service = with(&scratch.0, 20, &[]);
    assert_eq!(in_force(&service), [(prefix("203.0.113.0/24"), Override::Off)]);
    let why = "a first window of 40 segments; expected 10 to 20";
    let said = format!("the saved order 198.51.100.0/24 40 does not count: {why}");
    assert!(COMPLAINTS.lock().expect("no panic").contains(&said), "{said}");
    let status = service.client.get("/v1/status").expect("a status");
    assert_eq!(
        (&status["orders"], &status["order_list"][0]["why_not"]),
        (&json!(1), &json!(why)),
        "{status}"
    );
    // The learned state is there.
    assert_eq!(service.client.get("/v1/explain/192.0.2.1").expect("an explanation")["hosts"], 5);
    service.end().expect("it ends in order");

    let service = with(&scratch.0, 45, &[]);
    assert!(in_force(&service).contains(&(prefix("198.51.100.0/24"), Override::Window(40))));
    service.end().expect("it ends in order");
}

#[test]
fn an_order_of_the_file_ends_with_its_table_and_one_of_the_socket_with_its_release() {
    let scratch = Scratch::new();
    let (off, twenty) = ((prefix(HERE), Override::Off), (prefix(HERE), Override::Window(20)));
    let service = with(&scratch.0, 45, &[(HERE, Override::Off, 7), ("198.51.100.0/24", Override::Off, 10)]);
    assert_eq!(in_force(&service).len(), 2);
    let found = service.client.get("/v1/explain/192.0.2.9").expect("an explanation");
    let origin = &found["order_origin"];
    assert_eq!(
        (&origin["origin"], &origin["line"], &origin["file"]),
        (&json!("file"), &json!(7), &json!("gateway.toml"))
    );
    let why = refusal(service.client.post("/v1/release", &json!({ "prefix": HERE })));
    assert!(why.contains("is that of gateway.toml:7; it ends when it is removed there"), "{why}");
    // The order of the socket takes its place.
    post(&service, "/v1/set", &json!({ "prefix": HERE, "window": 20 }));
    assert!(in_force(&service).contains(&twenty));
    let origin = service.client.get("/v1/explain/192.0.2.9").expect("an explanation")["order_origin"].clone();
    // SAFETY: getuid has no conditions.
    let uid = unsafe { libc::getuid() };
    assert_eq!(
        (&origin["origin"], &origin["uid"], &origin["pid"]),
        (&json!("socket"), &json!(uid), &json!(std::process::id()))
    );
    assert!(origin["at"].as_str().expect("a time").ends_with('Z') && origin["comm"].is_string(), "{origin}");
    service.end().expect("it ends in order");

    // One table is deleted, the other one changed: the next start has neither of the old orders.
    let service = with(&scratch.0, 45, &[(HERE, Override::Freeze, 3)]);
    assert_eq!(in_force(&service), [twenty]);
    let orders = service.client.get("/v1/orders").expect("the orders");
    let orders: Vec<_> = orders["orders"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|order| (&order["origin"], &order["in_force"]))
        .collect();
    assert_eq!(orders, [(&json!("socket"), &json!(true)), (&json!("file"), &json!(false))]);
    let released = post(&service, "/v1/release", &json!({ "prefix": HERE }));
    assert_eq!(
        (&released["released"], &released["order"]["order"]),
        (&json!(1), &json!("freeze")),
        "{released}"
    );
    assert_eq!(in_force(&service), [(prefix(HERE), Override::Freeze)]);
    service.end().expect("it ends in order");

    let service = with(&scratch.0, 45, &[]);
    assert_eq!(in_force(&service), []);
    assert_eq!(post(&service, "/v1/release", &json!({ "prefix": HERE }))["released"], 0);
    service.end().expect("it ends in order");

    // A release of all orders, and an undo, leave those of the file.
    let service = with(&scratch.0, 45, &[(HERE, Override::Off, 7)]);
    for end in ["/v1/release", "/v1/undo"] {
        post(&service, "/v1/set", &json!({ "prefix": HERE, "window": 20 }));
        post(&service, "/v1/off", &json!({}));
        let ended = post(&service, end, &json!({}));
        assert!(ended["released"] == 1 || ended["removed_orders"] == 1, "{ended}");
        assert_eq!(in_force(&service), [off]);
    }
    service.end().expect("it ends in order");
}

#[test]
fn an_order_that_the_kernel_refuses_changes_nothing() {
    let scratch = Scratch::new();
    let service = with(&scratch.0, 45, &[]);
    post(&service, "/v1/set", &json!({ "prefix": HERE, "window": 20 }));
    service.kernel.told(|told| told.full = Some(prefix("198.51.100.0/24")));
    for (path, body) in [
        ("/v1/set", json!({ "prefix": "198.51.100.0/24", "window": 20 })),
        ("/v1/off", json!({ "prefix": "198.51.100.0/24" })),
    ] {
        assert_eq!(refusal(service.client.post(path, &body)), "no room for 198.51.100.0/24");
    }
    service.kernel.told(|told| told.full = None);
    assert_eq!(service.client.get("/v1/status").expect("a status")["orders"], 1);
    service.end().expect("it ends in order");
    let service = with(&scratch.0, 45, &[]);
    assert_eq!(in_force(&service), [(prefix(HERE), Override::Window(20))]);
    service.end().expect("it ends in order");
}

/// A configuration that a test changes, and a gateway that reads it again.
fn reloading(folder: &Path, fresh: &Arc<Mutex<Result<Fresh, String>>>, record: bool) -> Service {
    let read = Arc::clone(fresh);
    let source = Source {
        file: Some("gateway.toml".into()),
        reread: Some(Arc::new(move || read.lock().expect("no panic").clone())),
        ..Source::default()
    };
    let usual = setup(folder, Mode::Enforce);
    let record = usual.record.clone().filter(|_| record);
    Service::with(Setup { source, record, ..usual })
}

fn fresh(mode: Mode, orders: &[(&str, Override, u32)]) -> Result<Fresh, String> {
    let orders = orders.iter().map(|(at, order, line)| (prefix(at), *order, *line)).collect();
    let settings = Settings { mode, ..Settings::default() };
    Ok(Fresh { settings, orders, canary: None, needs_restart: vec![] })
}

#[test]
fn a_reload_takes_orders_rules_and_mode_and_names_what_needs_a_restart() {
    let scratch = Scratch::new();
    let file = Arc::new(Mutex::new(fresh(Mode::Enforce, &[])));
    let put = |fresh| *file.lock().expect("no panic") = fresh;
    let service = reloading(&scratch.0, &file, false);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    post(&service, "/v1/set", &json!({ "prefix": "203.0.113.0/24", "window": 30 }));

    let mut wanted =
        fresh(Mode::Enforce, &[("198.51.100.0/24", Override::Window(20), 4)]).expect("a configuration");
    wanted.settings.half_life = Nanos::from_secs(300);
    wanted.needs_restart = vec!["plan.window".to_owned()];
    put(Ok(wanted));
    let answer = post(&service, "/v1/reload", &json!({}));
    assert_eq!(
        answer,
        json!({
            "file": "gateway.toml",
            "changed": [{ "key": "estimator.half_life", "before": "600 s", "now": "300 s" }],
            "orders": [{ "prefix": "198.51.100.0/24", "before": null, "now": { "set": 20 } }],
            "canary_changed": false,
            "needs_restart": ["plan.window"],
        })
    );
    let set = |at: &str, window| (prefix(at), Override::Window(window));
    assert_eq!(in_force(&service), [set("203.0.113.0/24", 30), set("198.51.100.0/24", 20)]);

    // A file with an error, or an order outside the limits, changes nothing and says why.
    put(Err("gateway.toml:1:1: mod = \"observe\": no such key".to_owned()));
    let why = refusal(service.client.post("/v1/reload", &json!({})));
    assert_eq!(why, "gateway.toml:1:1: mod = \"observe\": no such key");
    put(fresh(Mode::Enforce, &[(HERE, Override::Off, 1), ("10.0.0.0/8", Override::Window(9), 4)]));
    let why = refusal(service.client.post("/v1/reload", &json!({})));
    assert_eq!(why, "gateway.toml:4: a first window of 9 segments; expected 10 to 45");
    let status = service.client.get("/v1/status").expect("a status");
    assert_eq!((&status["reload"]["error"], &status["orders"]), (&json!(why), &json!(2)));
    // Nor does one of which the kernel refuses an order.
    service.kernel.told(|told| told.full = Some(prefix(HERE)));
    put(fresh(Mode::Enforce, &[(HERE, Override::Off, 1)]));
    let why = refusal(service.client.post("/v1/reload", &json!({})));
    assert_eq!(why, "192.0.2.0/24: no room for 192.0.2.0/24");
    service.kernel.told(|told| told.full = None);
    let mut found = in_force(&service);
    found.sort_by_key(|(at, _)| *at);
    assert_eq!(found, [set("198.51.100.0/24", 20), set("203.0.113.0/24", 30)]);

    // Another mode takes everything out of the kernel, and puts it there again.
    put(fresh(Mode::Observe, &[("198.51.100.0/24", Override::Window(20), 4)]));
    post(&service, "/v1/reload", &json!({}));
    assert!(service.kernel.told(|told| told.plans.is_empty() && told.orders.is_empty()));
    assert_eq!(service.client.get("/v1/status").expect("a status")["mode"], "observe");
    put(fresh(Mode::Enforce, &[("198.51.100.0/24", Override::Window(20), 4)]));
    let answer = post(&service, "/v1/reload", &json!({}));
    assert_eq!(answer["changed"], json!([{ "key": "mode", "before": "observe", "now": "enforce" }]));
    service.until("the plan again", || service.kernel.told(|told| !told.plans.is_empty()));
    assert_eq!(in_force(&service).len(), 2);
    service.end().expect("it ends in order");

    // Orders of the file are not kept: the configuration has them.
    let service = with(&scratch.0, 45, &[]);
    assert_eq!(in_force(&service), [set("203.0.113.0/24", 30)]);
    service.end().expect("it ends in order");
}

#[test]
fn a_recording_replays_after_a_reload() {
    let scratch = Scratch::new();
    let file = Arc::new(Mutex::new(fresh(Mode::Observe, &[(HERE, Override::Window(20), 4)])));
    let service = reloading(&scratch.0, &file, true);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let answer = post(&service, "/v1/reload", &json!({}));
    assert_eq!(answer["needs_restart"], json!(["mode (because of --record)"]));
    assert_eq!(answer["orders"][0]["now"], json!({ "set": 20 }));
    post(&service, "/v1/off", &json!({ "prefix": HERE }));
    post(&service, "/v1/release", &json!({ "prefix": HERE }));
    service.end().expect("it ends in order");
    let events = fs::read_to_string(scratch.0.join("events.jsonl")).expect("the recording");
    let replayed = firstflight_gateway::replay(events.lines()).expect("a recording");
    assert_eq!(replayed.difference, None);
}

#[test]
fn every_order_is_audited_with_its_origin_and_its_effect_also_if_it_is_refused() {
    let scratch = Scratch::new();
    let file = Arc::new(Mutex::new(fresh(Mode::Enforce, &[(HERE, Override::Off, 4)])));
    let service = reloading(&scratch.0, &file, false);
    post(&service, "/v1/set", &json!({ "prefix": HERE, "window": 20 }));
    refusal(service.client.post("/v1/set", &json!({ "prefix": HERE, "window": 9 })));
    post(&service, "/v1/off", &json!({ "prefix": HERE }));
    post(&service, "/v1/release", &json!({ "prefix": HERE }));
    post(&service, "/v1/reload", &json!({}));
    post(&service, "/v1/off", &json!({}));
    post(&service, "/v1/undo", &json!({}));
    let state = service.client.get_bytes("/v1/export").expect("a state");
    service.client.post_bytes("/v1/import", state.clone()).expect("it is taken");
    service.client.post_bytes("/v1/import", b"other".to_vec()).expect_err("it is refused");
    let entries = audit(&scratch.0);
    // SAFETY: getuid has no conditions.
    let uid = unsafe { libc::getuid() };
    let times: Vec<_> =
        entries.iter().map(|entry| entry["at"].as_str().expect("a time").to_owned()).collect();
    assert!(times.is_sorted() && times[0].len() == "2026-01-01T00:00:00.000Z".len(), "{times:?}");
    for entry in &entries {
        assert_eq!((&entry["uid"], &entry["pid"]), (&json!(uid), &json!(std::process::id())), "{entry}");
    }
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| json!([entry["via"], entry["what"], entry["before"], entry["after"], entry["why"]]))
        .collect();
    let off = "192.0.2.0/24 off (socket)";
    let refused = "a first window of 9 segments; expected 10 to 45";
    assert_eq!(
        rows,
        [
            json!(["start", "start with gateway.toml", [], [], null]),
            json!(["socket", "set 192.0.2.0/24 20", [], ["192.0.2.0/24 20 (socket)"], null]),
            json!([
                "socket",
                "set 192.0.2.0/24 9",
                ["192.0.2.0/24 20 (socket)"],
                ["192.0.2.0/24 20 (socket)"],
                refused
            ]),
            json!(["socket", "off 192.0.2.0/24", ["192.0.2.0/24 20 (socket)"], [off], null]),
            json!(["socket", "release 192.0.2.0/24", [off], [], null]),
            json!(["socket", "reload of gateway.toml", [], ["192.0.2.0/24 off"], null]),
            json!(["socket", "off", [], ["stop (socket)"], null]),
            json!(["socket", "undo", ["stop (socket)"], ["stop (socket)"], null]),
            json!([
                "socket",
                format!("import of {} bytes", state.len()),
                ["0 networks"],
                ["0 networks"],
                null
            ]),
            json!([
                "socket",
                "import of 5 bytes",
                ["0 networks"],
                ["0 networks"],
                "not a state of the gateway: expected the bytes FFGW at its beginning"
            ]),
        ]
    );
    // Each order that changed something was durable before its line.
    let durable: Vec<_> = entries.iter().map(|entry| entry["durable"].as_bool()).collect();
    let (yes, none) = (Some(true), None);
    assert_eq!(durable, [none, yes, none, yes, yes, none, yes, yes, yes, none]);
    // Another program takes the file away: the next order begins a new one.
    let log = scratch.0.join("state/audit.jsonl");
    fs::rename(&log, scratch.0.join("taken")).expect("renamed");
    post(&service, "/v1/release", &json!({}));
    assert_eq!(audit(&scratch.0).len(), 1);
    service.end().expect("it ends in order");
}

#[test]
fn an_order_of_a_user_without_rights_is_audited_and_fills_no_log() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;
    // SAFETY: getuid has no conditions.
    if unsafe { libc::getuid() } != 0 {
        return firstflight_skip::skip("only root can start a program as another user");
    }
    let scratch = Scratch::new();
    fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o755)).expect("a folder that all may enter");
    let service = Service::start(&scratch.0, Mode::Observe);
    for _ in 0..30 {
        let asked = Command::new("curl")
            .args(["--silent", "--max-time", "10", "--request", "POST", "--unix-socket"])
            .arg(scratch.socket())
            .arg("http://gateway/v1/undo")
            .uid(65_534)
            .gid(65_534)
            .output()
            .expect("curl runs");
        assert!(String::from_utf8_lossy(&asked.stdout).contains("no right to this"), "{asked:?}");
    }
    // An answer shows that the orders before it were taken.
    service.client.get("/v1/status").expect("a status");
    let entries = audit(&scratch.0);
    let denied: Vec<_> = entries.iter().filter(|entry| entry["uid"] == 65_534).collect();
    // Ten in a minute; a minute may end meanwhile.
    assert!([10, 20].contains(&denied.len()), "{}", denied.len());
    assert_eq!(
        (&denied[0]["what"], &denied[0]["result"], &denied[0]["comm"]),
        (&json!("POST /v1/undo"), &json!("refused"), &json!("curl"))
    );
    service.end().expect("it ends in order");
}

#[test]
fn while_stopped_nothing_shows_a_plan_in_force() {
    let scratch = Scratch::new();
    let service = with(&scratch.0, 45, &[]);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let get = |path: &str| service.client.get(path).expect("an answer");
    let gauge = |name: &str| {
        let text = String::from_utf8(service.client.get_bytes("/metrics").expect("metrics")).expect("text");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("firstflight_gateway_{name} ")));
        line.expect("a gauge").to_owned()
    };
    // SAFETY: getuid has no conditions.
    let user = format!("stopped by the operator, user {}, ", unsafe { libc::getuid() });
    for stop in ["/v1/off", "/v1/undo"] {
        let window = get("/v1/explain/192.0.2.1")["plan"]["window_segments"].clone();
        assert!(window.is_u64() && get("/v1/status")["plans"] == 1, "{stop}");
        service.until("the counts", || gauge("plans") == "1" && gauge("stopped") == "0");
        post(&service, stop, &json!({}));
        for found in [get("/v1/explain/192.0.2.1"), get("/v1/prefixes?limit=5")["prefixes"][0].clone()] {
            assert_eq!(found["plan"], Value::Null, "{stop}: {found}");
            assert_eq!(found["plan_after_release"]["window_segments"], window, "{stop}: {found}");
            let why = found["why_no_plan"].as_str().expect("a reason");
            assert!(why.starts_with(&user) && why.ends_with(": no plan is used"), "{why}");
        }
        // A network without a plan keeps its reason.
        let unknown = get("/v1/explain/198.51.100.1");
        assert_eq!(unknown["why_no_plan"], "no measurement of it is kept");
        let status = get("/v1/status");
        assert_eq!((&status["plans"], &status["plans_after_release"]), (&json!(0), &json!(1)), "{stop}");
        service.until("the counts", || {
            gauge("plans") == "0" && gauge("stopped") == "1" && gauge("enforcing") == "0"
        });
        post(&service, "/v1/release", &json!({}));
    }
    service.end().expect("it ends in order");
}

#[test]
fn an_order_has_no_bound_on_round_trips_and_no_family_but_its_own() {
    let scratch = Scratch::new();
    let service = with(&scratch.0, 45, &[]);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let get = |address: &str| service.client.get(&format!("/v1/explain/{address}")).expect("an answer");
    post(&service, "/v1/set", &json!({ "prefix": "::/0", "window": 20 }));
    assert_eq!((&get("192.0.2.1")["order"], &get("2001:db8::1")["order"]["set"]), (&Value::Null, &json!(20)));
    post(&service, "/v1/release", &json!({}));
    post(&service, "/v1/set", &json!({ "prefix": "0.0.0.0/0", "window": 20 }));
    let found = get("192.0.2.1");
    assert_eq!(found["order"]["set"], 20);
    assert_eq!(found["plan"]["rtt_ms"], json!([0.0, null]), "{found}");
    let v6 = get("2001:db8::1");
    assert_eq!((&v6["order"], &v6["why_no_plan"]), (&Value::Null, &json!("no measurement of it is kept")));
    // An order for a network that nobody has connected to is in force.
    assert_eq!(get("203.0.113.1")["why_no_plan"], Value::Null);
    post(&service, "/v1/freeze", &json!({ "prefix": "198.51.100.0/24" }));
    assert_eq!(get("198.51.100.1")["why_no_plan"], "the operator froze it while it had no plan");
    service.end().expect("it ends in order");
    let log = fs::read_to_string(scratch.0.join("state/decisions.jsonl")).expect("the decision log");
    assert!(log.contains("for round trips of any length: by order of the operator"), "{log}");
}
