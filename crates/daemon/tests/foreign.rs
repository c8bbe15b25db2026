//! Programs of others, to which the service yields.

use crate::common::{COMPLAINTS, Scratch, Service, setup, teach};
use firstflight_contract::Nanos;
use firstflight_daemon::Setup;
use firstflight_gateway::{Mode, Settings};

#[test]
fn the_service_uses_no_plan_while_another_program_takes_callbacks_and_says_so() {
    let scratch = Scratch::new();
    let usual = setup(&scratch.0, Mode::Enforce);
    let settings = Settings { hold_down: Nanos::from_secs(2), ..usual.settings.clone() };
    let service = Service::with(Setup { settings, record: None, ..usual });
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let stopped = || service.kernel.told(|told| told.stopped);
    assert!(!stopped());
    service.kernel.told(|told| told.yields = (3, 5));
    service.until("it yields", stopped);
    let status = service.client.get("/v1/status").expect("a status");
    let expected = serde_json::json!({ "yielding": true, "callbacks_taken": 3, "other_first_windows": 5 });
    assert_eq!((&status["others"], &status["plans"]), (&expected, &serde_json::json!(0)));
    let why = service.client.get("/v1/explain/192.0.2.1").expect("an explanation")["why_no_plan"].clone();
    let said = "the gateway yields to another program, which takes the callbacks of connections: no plan is used until it has taken none \
                for 2 s";
    assert_eq!(why, said);
    // An operator's release does not end it; two seconds without do.
    service.client.post("/v1/off", &serde_json::json!({})).expect("an answer");
    service.client.post("/v1/release", &serde_json::json!({})).expect("an answer");
    assert!(stopped());
    service.until("plans are used again", || !stopped());
    service.until("it is said", || {
        let complaints = COMPLAINTS.lock().expect("no panic");
        complaints
            .iter()
            .any(|line| line == "no other program takes callbacks any more: plans are used again")
    });
    service.end().expect("it ends in order");
}

#[test]
fn settings_that_another_program_changes_are_named_once() {
    // A thread in a network namespace of its own; those that it starts are in it, too, and the machine's own settings stay.
    let ran = std::thread::spawn(|| {
        // SAFETY: takes no pointer.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            firstflight_skip::skip("no network namespace of the test's own");
            return;
        }
        let scratch = Scratch::new();
        let service = Service::with(Setup { record: None, ..setup(&scratch.0, Mode::Enforce) });
        let line = "another program set net.ipv4.tcp_slow_start_after_idle from 1 to 0: connections with and without a plan follow it";
        let said = || COMPLAINTS.lock().expect("no panic").iter().filter(|said| *said == line).count();
        let renewals = || service.kernel.told(|told| told.renewals);
        service.until("the first look", || renewals() > 1);
        assert_eq!(said(), 0);
        std::fs::write("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0")
            .expect("a setting of the namespace");
        service.until("it is said", || said() > 0);
        let before = renewals();
        service.until("two further looks", || renewals() > before + 1);
        assert_eq!(said(), 1);
        service.end().expect("it ends in order");
    });
    ran.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
