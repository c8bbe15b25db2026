//! A full disk and storms of reloads, through the whole service.

#![expect(clippy::disallowed_methods, reason = "the kill switch answers within a time of a real process")]

use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Scratch, Service, setup, teach};
use firstflight_contract::Nanos;
use firstflight_daemon::{Fresh, Setup, Source, Unanswered};
use firstflight_gateway::{Mode, Override, Settings};
use firstflight_paths::Prefix;
use serde_json::{Value, json};

const PAGE: u64 = 4096;

/// Runs `work` with a file system of this many pages at `folder`, in a mount namespace of its own; threads that it starts are within.
/// False where the machine does not allow it.
fn with_disk(folder: &Path, pages: u64, work: impl FnOnce() + Send) -> bool {
    fs::create_dir_all(folder).expect("a folder");
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            let text = |text: String| CString::new(text).expect("no zero");
            let (root, none, kind) = (text("/".into()), text("none".into()), text("tmpfs".into()));
            let place = text(folder.display().to_string());
            let size = text(format!("size={},mode=0700", pages * PAGE));
            // SAFETY: each text ends in a zero; the thread gets mounts of its own.
            let made = unsafe {
                libc::unshare(libc::CLONE_NEWNS) == 0
                    && libc::mount(
                        std::ptr::null(),
                        root.as_ptr(),
                        std::ptr::null(),
                        libc::MS_PRIVATE | libc::MS_REC,
                        std::ptr::null(),
                    ) == 0
                    && libc::mount(none.as_ptr(), place.as_ptr(), kind.as_ptr(), 0, size.as_ptr().cast()) == 0
            };
            let made = if made { Ok(()) } else { Err(std::io::Error::last_os_error()) };
            if let Err(error) = made {
                firstflight_skip::skip(format!("a file system of the test's own: {error}"));
                return false;
            }
            work();
            true
        });
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Fills a file system but for these pages. The file is removed with the value.
struct Ballast<'a>(&'a Path);

impl<'a> Ballast<'a> {
    fn fill(path: &'a Path, free: u64) -> Self {
        let file = File::create(path).expect("a file");
        let mut pages = 0;
        while file.write_all_at(&[1; PAGE as usize], pages * PAGE).is_ok() {
            pages += 1;
        }
        file.set_len(pages.saturating_sub(free) * PAGE).expect("a shorter file");
        Self(path)
    }
}

impl Drop for Ballast<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}

/// An answer within a second.
fn soon(service: &Service, path: &str, body: &Value) -> Result<Value, Unanswered> {
    let asked = Instant::now();
    let answer = service.client.post(path, body);
    assert!(asked.elapsed() < Duration::from_secs(1), "{path}: {:?}", asked.elapsed());
    answer
}

fn start(folder: &Path) -> Service {
    let usual = setup(folder, Mode::Enforce);
    // Snapshots are due all the time.
    Service::with(Setup { record: None, snapshot_every: Nanos::from_millis(100), ..usual })
}

#[test]
fn a_full_disk_at_each_page_loses_no_acknowledged_order_and_holds_no_kill_switch() {
    let scratch = Scratch::new();
    let state = scratch.0.join("state");
    // From no free page to one more than all files need.
    for free in 0..8 {
        let ran = with_disk(&state, 64, || {
            let service = start(&scratch.0);
            teach(&service);
            service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
            let path = state.join("ballast");
            let ballast = Ballast::fill(&path, free);
            let mut taken = vec![];
            // A page of the journal has room for some of them.
            for number in 0..60 {
                let prefix = format!("198.51.{number}.0/24");
                // An order that begins something is durable or refused.
                match soon(&service, "/v1/set", &json!({ "prefix": prefix, "window": 20 })) {
                    Ok(_) => taken.push(prefix),
                    Err(Unanswered::Refused(why)) => {
                        assert!(why.contains("the orders cannot be saved"), "{why}")
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            // A canary and the kill switch are in force at once, whether or not they are durable.
            let canary = soon(&service, "/v1/canary", &json!({ "begin": "" })).expect("an answer");
            assert_eq!(canary["state"], "running");
            let canary = soon(&service, "/v1/canary", &json!("stop")).expect("an answer");
            assert!(service.kernel.told(|told| told.stopped), "{free}");
            let off = soon(&service, "/v1/off", &json!({})).expect("an answer");
            assert!(service.kernel.told(|told| told.stopped), "{free}");
            for answer in [&canary, &off] {
                let durable = answer["durable"].as_bool().expect("a fact");
                assert_eq!(answer["why_not_durable"].is_string(), !durable, "{answer}");
                if free == 0 {
                    assert!(!durable, "{answer}");
                }
            }
            let status = service.client.get("/v1/status").expect("a status");
            if free == 0 {
                assert!(taken.len() < 60, "a page has room for fewer");
                assert_eq!(status["store"]["orders_durable"], false);
                assert!(
                    status["store"]["failures"].as_u64().is_some_and(|failures| failures > 0),
                    "{status}"
                );
            }
            // It heals by itself.
            drop(ballast);
            service.until("all orders are durable", || {
                let status = service.client.get("/v1/status").expect("a status");
                status["store"]["orders_durable"] == true && status["canary"]["durable"] == true
            });
            service.end().expect("it ends in order");
            let service = start(&scratch.0);
            let status = service.client.get("/v1/status").expect("a status");
            assert_eq!(
                (&status["stopped"], &status["canary"]["state"]),
                (&json!(true), &json!("stopped")),
                "{free}"
            );
            let kept: Vec<_> = status["order_list"]
                .as_array()
                .expect("orders")
                .iter()
                .map(|order| order["prefix"].clone())
                .collect();
            assert_eq!(kept, taken, "{free} pages");
            service.end().expect("it ends in order");
        });
        if !ran {
            return;
        }
    }
}

#[test]
fn a_hundred_reloads_in_a_second_also_bad_ones_end_with_the_newest_good_configuration() {
    let scratch = Scratch::new();
    let usual = setup(&scratch.0, Mode::Enforce);
    // Every third file has an error. The number of the file is the window of its order.
    let reads = Arc::new(AtomicU64::new(0));
    let file: Arc<Mutex<Option<u32>>> = Arc::default();
    let here: Prefix = "198.51.100.0/24".parse().expect("a prefix");
    let (counted, found, settings) = (Arc::clone(&reads), Arc::clone(&file), usual.settings.clone());
    let reread = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let window = found.lock().expect("no panic").ok_or("gateway.toml:3: an error")?;
        Ok(Fresh {
            settings: Settings { overrides: vec![], ..settings.clone() },
            orders: vec![(here, Override::Window(window), 3)],
            canary: None,
            needs_restart: vec![],
        })
    };
    // Signals come as fast as they are taken.
    static ASKED: AtomicBool = AtomicBool::new(false);
    let source = Source {
        file: Some("gateway.toml".into()),
        reread: Some(Arc::new(reread)),
        asked: Some(|| ASKED.load(Ordering::Relaxed)),
        ..Source::default()
    };
    let service = Service::with(Setup { record: None, source, ..usual });
    teach(&service);
    service.until("a plan", || service.kernel.told(|told| !told.plans.is_empty()));
    let began = Instant::now();
    let mut last = None;
    for number in 0..100_u32 {
        let good = number % 3 != 0;
        *file.lock().expect("no panic") = good.then_some(11 + number % 30);
        ASKED.store(number % 2 == 0, Ordering::Relaxed);
        match service.client.post("/v1/reload", &json!({})) {
            Ok(_) => last = Some(11 + number % 30),
            Err(Unanswered::Refused(why)) => assert_eq!(why, "gateway.toml:3: an error"),
            Err(other) => panic!("{other:?}"),
        }
        assert!(!good || last == Some(11 + number % 30));
        if number == 50 {
            soon(&service, "/v1/off", &json!({})).expect("an answer");
            assert!(service.kernel.told(|told| told.stopped));
        }
    }
    ASKED.store(false, Ordering::Relaxed);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert!(reads.load(Ordering::Relaxed) >= 100, "the signals come besides");
    // The last file has an error.
    let orders = service.kernel.told(|told| told.orders.clone());
    assert_eq!(orders, [(here, Override::Window(last.expect("a good one")))]);
    assert!(service.kernel.told(|told| told.stopped), "a reload ends no stop");
    service.end().expect("it ends in order");
    let mut audit = fs::read_to_string(scratch.0.join("state/audit.jsonl")).expect("the audit log");
    for number in 1..=9 {
        audit +=
            &fs::read_to_string(scratch.0.join(format!("state/audit.jsonl.{number}"))).unwrap_or_default();
    }
    let of_socket = |line: &&str| line.contains("\"via\":\"socket\"") && line.contains("reload of");
    assert_eq!(audit.lines().filter(of_socket).count(), 100, "each is in the audit log");
}
