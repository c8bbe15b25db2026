//! The service with a kernel that the test plays.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use crate::common::{Played, Scratch, Service, connection, counted, setup, teach};
use firstflight_contract::Nanos;
use firstflight_daemon::{Client, Setup, Unanswered, serve};
use firstflight_gateway::{Arm, Connection, Mode, Override, Settings};
use firstflight_paths::Prefix;
use serde_json::json;
use sha2::{Digest as _, Sha256};

#[test]
fn connections_make_a_plan_that_the_kernel_gets_and_every_order_reaches_it() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    assert_eq!(service.kernel.told(|told| told.adoptions), 1);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let plan = service.kernel.told(|told| told.plans[0]);
    assert_eq!(plan.prefix.to_string(), "192.0.2.0/24");
    // Between the stack's ten segments and the 34 of a round trip.
    assert!((11..=34).contains(&plan.window), "{plan:?}");

    let found = service.client.get("/v1/explain/192.0.2.200").expect("an explanation");
    assert_eq!(found["prefix"], "192.0.2.0/24");
    assert_eq!(found["plan"]["window_segments"], plan.window);
    assert!(
        (found["estimate"]["window_segments"].as_f64().expect("an estimate") - 34.5).abs() < 1.0,
        "{found}"
    );
    let status = service.client.get("/v1/status").expect("a status");
    assert_eq!(
        (&status["mode"], &status["plans"], &status["lost_reports"]),
        (&json!("enforce"), &json!(1), &json!(7))
    );
    assert_eq!(status["tiers"], json!(["sock_ops: played"]));
    let metrics = String::from_utf8(service.client.get_bytes("/metrics").expect("metrics")).expect("text");
    assert_eq!(counted(&metrics, "firstflight_gateway_connections_total{start=\"stock\""), 40, "{metrics}");

    let post = |path: &str, body| service.client.post(path, &body).expect("an answer");
    post("/v1/set", json!({ "prefix": "198.51.100.0/24", "window": 20 }));
    post("/v1/off", json!({ "prefix": "203.0.113.0/24" }));
    let order = |prefix: &str, order| (prefix.parse::<Prefix>().expect("a prefix"), order);
    let orders = service.kernel.told(|told| told.orders.clone());
    assert_eq!(
        orders,
        [order("198.51.100.0/24", Override::Window(20)), order("203.0.113.0/24", Override::Off)]
    );
    post("/v1/release", json!({ "prefix": "198.51.100.0/24" }));
    assert_eq!(service.kernel.told(|told| told.orders.len()), 1);
    post("/v1/off", json!({}));
    assert!(service.kernel.told(|told| told.stopped));
    post("/v1/release", json!({}));
    assert!(service.kernel.told(|told| !told.stopped && told.orders.is_empty()));
    let undone = post("/v1/undo", json!({}));
    assert_eq!(undone["removed_plans"], 1);
    assert!(service.kernel.told(|told| told.stopped && told.plans.is_empty()));
    assert!(service.kernel.told(|told| told.renewals > 0));
    service.end().expect("it ends in order");
    assert!(!scratch.socket().exists());

    // The recording replays to the same decisions.
    let events = fs::read_to_string(scratch.0.join("events.jsonl")).expect("the recording");
    let replayed = firstflight_gateway::replay(events.lines()).expect("a recording");
    assert_eq!(replayed.difference, None);
    assert!(replayed.events > 40 && replayed.decisions > 0, "{replayed:?}");

    let log = fs::read_to_string(scratch.0.join("state/decisions.jsonl")).expect("the decision log");
    let first: serde_json::Value = serde_json::from_str(log.lines().next().expect("a line")).expect("JSON");
    assert!(first["text"].as_str().expect("a text").starts_with("192.0.2.0/24: first window "), "{first}");
}

#[test]
fn a_window_that_the_operator_ordered_is_taken_back_when_it_does_harm() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    service.client.post("/v1/set", &json!({ "prefix": "192.0.2.0/24", "window": 40 })).expect("an answer");
    // Planned connections take twice as long as those held out.
    let now = firstflight_hooks::now().0;
    let reports = (0..2000).map(|i| {
        let (arm, busy) = if i % 4 == 0 { (Arm::Holdout(40), 250) } else { (Arm::Planned(40), 500) };
        Connection {
            arm,
            busy: Nanos::from_millis(busy),
            ..connection(now + i * 1_000_000, 1 + (i % 5) as u8)
        }
    });
    service.kernel.told(|told| told.reports.extend(reports));
    let prefix = "192.0.2.0/24".parse::<Prefix>().expect("a prefix");
    service.until("the order is off", || {
        service.kernel.told(|told| told.orders == [(prefix, Override::Off)] || told.stopped)
    });
    let found = service.client.get("/v1/explain/192.0.2.1").expect("an explanation");
    assert_eq!(found["plan"], json!(null), "{found}");
    // The operator has the last word.
    service.client.post("/v1/set", &json!({ "prefix": "192.0.2.0/24", "window": 20 })).expect("an answer");
    assert_eq!(service.kernel.told(|told| told.orders.clone()), [(prefix, Override::Window(20))]);
    service.end().expect("it ends in order");
}

#[test]
fn observing_and_advising_change_nothing_in_the_kernel() {
    for mode in [Mode::Observe, Mode::Advise] {
        let scratch = Scratch::new();
        let service = Service::start(&scratch.0, mode);
        teach(&service);
        service.until("an estimate", || {
            let found = service.client.get("/v1/explain/192.0.2.1").expect("an explanation");
            found["plan"]["window_segments"].as_u64().is_some()
        });
        let refused = service.client.post("/v1/set", &json!({ "prefix": "192.0.2.0/24", "window": 20 }));
        let why = refused.expect_err("refused").to_string();
        assert!(why.contains("expected mode = \"enforce\""), "{why}");
        service.client.post("/v1/off", &json!({ "prefix": "192.0.2.0/24" })).expect("an answer");
        assert!(service.kernel.told(|told| told.plans.is_empty() && told.orders.is_empty() && !told.stopped));
        service.end().expect("it ends in order");
    }
}

#[test]
fn a_configured_window_waits_for_the_mode_enforce() {
    let scratch = Scratch::new();
    let order = ("192.0.2.0/24".parse::<Prefix>().expect("a prefix"), Override::Window(20));
    for (mode, orders) in [(Mode::Observe, vec![]), (Mode::Enforce, vec![order])] {
        let settings = Settings { mode, overrides: vec![order], ..Settings::default() };
        let service = Service::with(Setup { settings, ..setup(&scratch.0, mode) });
        assert_eq!(service.kernel.told(|told| told.orders.clone()), orders);
        service.end().expect("it ends in order");
    }
}

#[test]
fn a_release_by_the_operator_does_not_lift_the_revert_of_the_host() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    teach(&service);
    let plan = "192.0.2.0/24".parse::<Prefix>().expect("a prefix");
    service.until("a plan", || service.kernel.told(|told| told.plans.iter().any(|held| held.prefix == plan)));
    // Planned connections of many prefixes take twice as long as those held out.
    let now = firstflight_hooks::now().0;
    let reports = (0..8000_u64).map(|i| {
        let (arm, busy) = if i % 5 == 0 { (Arm::Holdout(40), 250) } else { (Arm::Planned(40), 500) };
        let peer = IpAddr::from([198, 18, (i % 200) as u8, 1 + (i % 5) as u8]);
        Connection { arm, peer, busy: Nanos::from_millis(busy), ..connection(now + i * 1_000_000, 1) }
    });
    service.kernel.told(|told| told.reports.extend(reports));
    service.until("a revert", || service.kernel.told(|told| told.stopped));
    service.until("no plan in the kernel", || service.kernel.told(|told| told.plans.is_empty()));
    service.client.post("/v1/off", &json!({})).expect("an answer");
    service.client.post("/v1/release", &json!({})).expect("an answer");
    assert!(service.kernel.told(|told| told.stopped && told.plans.is_empty()));
    service.end().expect("it ends in order");

    // Nor does a restart.
    let service = Service::start(&scratch.0, Mode::Enforce);
    assert!(service.kernel.told(|told| told.stopped && told.plans.is_empty()));
    service.end().expect("it ends in order");
}

#[test]
fn knowledge_survives_a_restart_and_an_unreadable_store_is_kept_aside() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let exported = service.client.get_bytes("/v1/export").expect("a state");
    service.end().expect("it ends in order");

    let service = Service::start(&scratch.0, Mode::Enforce);
    let found = service.client.get("/v1/explain/192.0.2.1").expect("an explanation");
    assert_eq!(found["hosts"], 5, "{found}");
    service.end().expect("it ends in order");

    fs::write(scratch.0.join("state/learned.state"), b"half a state").expect("written");
    let service = Service::start(&scratch.0, Mode::Enforce);
    assert_eq!(service.client.get("/v1/status").expect("a status")["prefixes"], 0);
    assert_eq!(kept(&scratch).len(), 1);
    service.end().expect("it ends in order");

    // The exported state brings everything back; one that is cut changes nothing.
    let service = Service::with(Setup { record: None, ..setup(&scratch.0, Mode::Enforce) });
    let cut = service.client.post_bytes("/v1/import", exported[..exported.len() / 2].to_vec());
    assert!(matches!(cut, Err(Unanswered::Refused(_))), "{cut:?}");
    assert_eq!(service.client.get("/v1/status").expect("a status")["prefixes"], 0);
    let imported = service.client.post_bytes("/v1/import", exported).expect("it is taken");
    assert!(imported["prefixes"].as_u64().expect("a number") >= 1);
    service.end().expect("it ends in order");
}

/// Files of the state folder that could not be used.
fn kept(scratch: &Scratch) -> Vec<PathBuf> {
    let files =
        fs::read_dir(scratch.0.join("state")).expect("a folder").map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.to_string_lossy().contains(".unreadable-")).collect()
}

#[test]
fn a_state_of_another_version_is_kept_aside_and_named_and_the_orders_stay() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    service.client.post("/v1/off", &json!({ "prefix": "203.0.113.0/24" })).expect("an answer");
    service.end().expect("it ends in order");
    // The version is the third word; the checksum is of the contents and of the fields before it.
    let path = scratch.0.join("state/learned.state");
    let mut state = fs::read(&path).expect("a state");
    state[8] += 1;
    let sum = Sha256::new().chain_update(&state[68..]).chain_update(&state[..36]).finalize();
    state[36..68].copy_from_slice(&sum);
    fs::write(&path, &state).expect("written");
    let service = Service::start(&scratch.0, Mode::Enforce);
    let status = service.client.get("/v1/status").expect("a status");
    assert_eq!(
        (&status["prefixes"], &status["orders"], &status["stopped"]),
        (&json!(0), &json!(1), &json!(false))
    );
    service.end().expect("it ends in order");
    let [aside] = &kept(&scratch)[..] else { panic!("{:?}", kept(&scratch)) };
    let said = format!(
        "the learned state {}: the state has version {}; expected {}; kept as {}, and a new one begun; the orders are not affected",
        path.display(),
        firstflight_gateway::STATE_VERSION + 1,
        firstflight_gateway::STATE_VERSION,
        aside.display()
    );
    assert!(crate::common::COMPLAINTS.lock().expect("no panic").contains(&said), "{said}");
    assert_eq!(fs::read(aside).expect("a file"), state);
}

#[test]
fn orders_are_durable_when_they_are_acknowledged_and_status_shows_the_store() {
    let scratch = Scratch::new();
    let service = Service::with(Setup { record: None, ..setup(&scratch.0, Mode::Enforce) });
    let orders = || fs::read_to_string(scratch.0.join("state/orders.journal")).expect("orders");
    service.client.post("/v1/set", &json!({ "prefix": "198.51.100.0/24", "window": 20 })).expect("an answer");
    let last =
        || orders().lines().last().expect("a line").splitn(4, ' ').nth(3).expect("an order").to_owned();
    // SAFETY: getuid has no conditions.
    let (uid, pid) = (unsafe { libc::getuid() }, std::process::id());
    let by = format!(" uid {uid} pid {pid} comm ");
    assert!(last().starts_with("198.51.100.0/24 20 at ") && last().contains(&by), "{}", orders());
    let answer = service.client.post("/v1/off", &json!({})).expect("an answer");
    assert_eq!(answer, json!({ "stopped": true, "durable": true }));
    assert!(last().starts_with("stop at ") && last().contains(&by), "{}", orders());
    let answer = service.client.post("/v1/undo", &json!({})).expect("an answer");
    assert_eq!((&answer["removed_orders"], &answer["durable"]), (&json!(1), &json!(true)));
    let exported = service.client.get_bytes("/v1/export").expect("a state");
    let imported = service.client.post_bytes("/v1/import", exported).expect("it is taken");
    assert_eq!(imported["prefixes"], 0);
    let status = service.client.get("/v1/status").expect("a status");
    let store = &status["store"];
    assert!(store["snapshot_age_s"].as_f64().is_some_and(|age| age < 60.0), "{store}");
    assert_eq!((&store["failures"], &store["orders_durable"]), (&json!(0), &json!(true)));
    service.end().expect("it ends in order");
    let service = Service::start(&scratch.0, Mode::Enforce);
    assert!(service.kernel.told(|told| told.stopped && told.orders.is_empty()));
    service.end().expect("it ends in order");
}

/// Each look takes longer than the time between two looks: a gateway that answered only in the time that is left would never do.
#[test]
fn a_flood_of_reports_holds_up_no_kill_switch() {
    let scratch = Scratch::new();
    let service = Service::with(Setup { record: None, ..setup(&scratch.0, Mode::Enforce) });
    service.kernel.told(|told| told.flood = 200_000);
    service.until("a look in the flood", || {
        service.client.get("/v1/status").expect("a status")["prefixes"] == 1
    });
    for _ in 0..5 {
        let began = firstflight_hooks::now();
        service.client.post("/v1/off", &json!({})).expect("an answer");
        assert!(service.kernel.told(|told| told.stopped));
        let took = firstflight_hooks::now() - began;
        assert!(took < Nanos::from_secs(1), "{took:?}");
    }
    service.kernel.told(|told| told.flood = 0);
    service.end().expect("it ends in order");
}

/// An order that the kernel has no room for was durable before it was refused.
#[test]
fn an_order_that_the_kernel_refuses_is_not_there_at_the_next_start() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Enforce);
    service.kernel.told(|told| told.full = Some("198.51.100.0/24".parse().expect("a prefix")));
    let refused = service.client.post("/v1/set", &json!({ "prefix": "198.51.100.0/24", "window": 20 }));
    assert!(refused.expect_err("refused").to_string().contains("no room"));
    service.end().expect("it ends in order");
    let service = Service::start(&scratch.0, Mode::Enforce);
    assert!(service.kernel.told(|told| told.orders.is_empty()));
    service.end().expect("it ends in order");
}

#[test]
fn bad_requests_get_one_line_and_a_second_gateway_is_refused() {
    let scratch = Scratch::new();
    let service = Service::start(&scratch.0, Mode::Observe);
    let refusal = |result: Result<serde_json::Value, Unanswered>| match result {
        Err(Unanswered::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refusal(service.client.get("/v1/explain/192.0.2")),
        "\"192.0.2\" is no address; expected one as 192.0.2.7 or 2001:db8::7"
    );
    let why = refusal(service.client.post("/v1/off", &json!({ "prefix": "192.0.2.1/24" })));
    assert!(why.contains("192.0.2.0/24"), "{why}");
    let why = refusal(service.client.post("/v1/set", &json!({ "prefix": "192.0.2.0/24", "window": 1000 })));
    assert_eq!(why, "a first window of 1000 segments; expected 10 to 45");
    assert!(refusal(service.client.get("/v1/nothing")).contains("no such path"));

    let second = serve(&setup(&scratch.0, Mode::Observe), Box::new(Played::default()), || true, |_| ());
    let why = second.expect_err("refused").to_string();
    assert!(why.contains("another gateway, process ") && why.contains(" has this folder"), "{why}");
    let other = Setup { state: scratch.0.join("other"), ..setup(&scratch.0, Mode::Observe) };
    let why = serve(&other, Box::new(Played::default()), || true, |_| ()).expect_err("refused").to_string();
    assert!(why.contains("another gateway serves"), "{why}");
    let other = Setup { socket: scratch.0.join("other.sock"), ..setup(&scratch.0, Mode::Observe) };
    let why = serve(&other, Box::new(Played::default()), || true, |_| ()).expect_err("refused").to_string();
    assert!(why.contains(" has this folder") && !scratch.0.join("other.sock").exists(), "{why}");
    service.end().expect("it ends in order");
    let gone = Client::new(&scratch.socket()).get("/v1/status").expect_err("nobody serves").to_string();
    assert!(gone.contains("start one with `firstflight gateway run`"), "{gone}");
}

#[test]
fn a_user_without_rights_is_refused_by_name() {
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
    let asked = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "10", "--unix-socket"])
        .arg(scratch.socket())
        .arg("http://gateway/v1/status")
        .uid(65_534)
        .gid(65_534)
        .output()
        .expect("curl runs");
    let answer = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(
        answer.contains(
            "user 65534 has no right to this; expected root or a member of the configuration's read_group"
        ),
        "{answer} {}",
        String::from_utf8_lossy(&asked.stderr)
    );
    service.end().expect("it ends in order");
}
