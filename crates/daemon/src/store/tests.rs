use std::fs;
use std::thread::sleep;
use std::time::Duration;

use firstflight_gateway::{By, Gateway, Override, Settings};

use super::played::{Fault, Played};
use super::*;
use crate::api::{Content, Message, Order};

/// A folder of its own, for the lock; the files are in memory.
struct Ground {
    folder: PathBuf,
    disk: Played,
}

/// An open store, and the book of a gateway.
struct Opened {
    found: Found,
    book: Book,
}

impl Ground {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("firstflight-store-{name}-{}", std::process::id()));
        Self { folder, disk: Played::default() }
    }

    fn open(&self) -> Opened {
        let lock = claim(&self.folder).expect("it is free");
        let fresh = Gateway::new(Settings::default());
        let disk = Arc::new(self.disk.clone());
        let mut book = Book::new(10..=45, []);
        let every = Nanos::from_secs(3600);
        let found = Store::on(disk, &self.folder, lock, every, (fresh, &mut book)).expect("it opens");
        Opened { found, book }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

type Reply = oneshot::Receiver<Answer>;

fn waiting() -> (Waiting, Reply) {
    let (reply, answer) = oneshot::channel();
    (Waiting::new(Message { order: Order::Undo, by: By::default(), reply }), answer)
}

fn record(line: &str) -> Record {
    Record::parse(line).expect("an order")
}

impl Opened {
    fn lines(&self) -> Vec<String> {
        lines(&self.book)
    }

    fn set(&mut self, line: &str) -> Reply {
        let (waiting, reply) = waiting();
        self.found.store.first(record(line), waiting, &self.book);
        reply
    }

    fn off(&mut self, line: &str) -> Reply {
        let (waiting, reply) = waiting();
        self.book.apply(record(line));
        self.found.store.in_force(record(line), waiting, &self.book);
        reply
    }

    /// Takes the news as a gateway does: orders that are durable are applied, and all are answered.
    fn take(&mut self) {
        while let Some(news) = self.found.store.news(&self.book) {
            let (waiting, answer) = match news {
                News::Durable(record, waiting) => {
                    self.book.apply(record);
                    (waiting, Ok(Content::Json(json!("done"))))
                }
                News::Answered(waiting, durable) => {
                    let value = json!({ "durable": durable.is_ok(), "why_not_durable": durable.err() });
                    (waiting, Ok(Content::Json(value)))
                }
                News::Refused(waiting, why) => (waiting, Err(why)),
                News::Trouble(_) => continue,
            };
            let _ = waiting.reply.send(answer);
        }
    }

    /// Waits for an answer, at most ten seconds.
    fn wait(&mut self, reply: &mut Reply) -> Answer {
        for _ in 0..10_000 {
            self.take();
            if let Ok(answer) = reply.try_recv() {
                return answer;
            }
            sleep(Duration::from_millis(1));
        }
        panic!("no answer within ten seconds");
    }

    /// Waits until the orders in force are on disk.
    fn settle(&mut self) {
        for _ in 0..3000 {
            self.take();
            if self.found.store.view()["orders_durable"] == true && !self.found.store.is_waiting() {
                return;
            }
            sleep(Duration::from_millis(1));
        }
    }

    /// Ends in order, with what was learned.
    fn close(mut self) {
        let until = clock::since_boot() + Nanos::from_secs(10);
        self.found.store.finish(&mut self.found.gateway, &self.book, until).expect("it is saved");
        self.settle();
        assert!(self.found.store.is_durable());
    }
}

fn durable(answer: Answer) -> Value {
    match answer {
        Ok(Content::Json(value)) => value["durable"].clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn orders_are_there_again_and_the_file_is_short() {
    let ground = Ground::new("again");
    let mut open = ground.open();
    for line in ["192.0.2.0/24 20", "198.51.100.0/24 off", "192.0.2.0/24 release"] {
        let mut reply = open.set(line);
        open.wait(&mut reply).expect("done");
    }
    let mut reply = open.off("stop");
    assert_eq!(durable(open.wait(&mut reply)), true);
    // Not even a shutdown is needed.
    drop(open);
    let open = ground.open();
    assert!(open.found.complaints.is_empty(), "{:?}", open.found.complaints);
    assert_eq!(open.lines(), ["stop", "198.51.100.0/24 off"]);
    assert_eq!(
        open.found.gateway.settings().overrides,
        [("198.51.100.0/24".parse().expect("one"), Override::Off)]
    );
    let text = ground.disk.read(&ground.path("orders.journal")).expect("a file");
    assert_eq!(String::from_utf8(text).expect("text").lines().count(), 2);
}

#[test]
fn a_full_disk_refuses_an_order_but_not_the_kill_switch_and_heals_by_itself() {
    let ground = Ground::new("full");
    let mut open = ground.open();
    let mut reply = open.set("192.0.2.0/24 20");
    open.wait(&mut reply).expect("done");
    ground.disk.fail(Some(Fault::Full(0)));
    let mut reply = open.set("198.51.100.0/24 20");
    let why = open.wait(&mut reply).expect_err("refused");
    assert!(why.contains("cannot be saved") && why.contains("nothing was changed"), "{why}");
    let mut reply = open.off("stop");
    let Ok(Content::Json(value)) = open.wait(&mut reply) else { panic!("it is in force") };
    assert_eq!(value["durable"], false);
    assert!(value["why_not_durable"].as_str().expect("a reason").contains("cannot be saved"), "{value}");
    assert_eq!(open.lines(), ["stop", "192.0.2.0/24 20"]);
    assert_eq!((&open.found.store.view()["orders_durable"], open.found.store.counts().1), (&json!(false), 2));
    // There is room again: nobody has to give the order again.
    ground.disk.fail(None);
    open.settle();
    drop(open);
    assert_eq!(ground.open().lines(), ["stop", "192.0.2.0/24 20"]);
}

#[test]
fn a_disk_that_hangs_holds_up_no_kill_switch_and_what_it_overtook_stays_out_of_force() {
    let ground = Ground::new("hangs");
    let mut open = ground.open();
    ground.disk.fail(Some(Fault::Asleep(0)));
    let mut slow = open.set("192.0.2.0/24 20");
    let mut behind = open.set("198.51.100.0/24 20");
    open.take();
    assert!(slow.try_recv().is_err() && behind.try_recv().is_err());
    let began = clock::since_boot();
    let mut reply = open.off("stop");
    assert_eq!(durable(open.wait(&mut reply)), false);
    let took = clock::since_boot() - began;
    assert!(took < Nanos::from_secs(1), "{took:?}");
    for overtaken in [&mut slow, &mut behind] {
        let why = overtaken.try_recv().expect("answered").expect_err("refused");
        assert!(why.contains("went before it"), "{why}");
    }
    // The disk takes the first order after all.
    ground.disk.wake();
    open.settle();
    assert_eq!(open.lines(), ["stop"]);
    drop(open);
    assert_eq!(ground.open().lines(), ["stop"]);
}

#[test]
fn an_order_waits_for_a_disk_that_hangs_for_five_seconds() {
    let ground = Ground::new("five");
    let mut open = ground.open();
    ground.disk.fail(Some(Fault::Asleep(0)));
    let (request, _) = waiting();
    let now = clock::since_boot();
    let Opened { found: Found { store, .. }, book } = &mut open;
    store.scribe.first(record("stop"), request, book, now);
    assert!(store.scribe.news(book, now + Nanos::from_millis(4990)).is_none());
    let Some(News::Refused(_, why)) = store.scribe.news(book, now + Nanos::from_secs(5)) else {
        panic!("it is refused")
    };
    assert!(why.contains("has not answered for 5 s; nothing was changed"), "{why}");
    ground.disk.wake();
}

#[test]
fn an_order_that_cannot_be_applied_is_taken_back() {
    let ground = Ground::new("back");
    let mut open = ground.open();
    let _reply = open.set("192.0.2.0/24 20");
    while !matches!(open.found.store.news(&open.book), Some(News::Durable(..))) {}
    open.found.store.take_back(&open.book);
    open.close();
    assert_eq!(ground.open().lines(), [""; 0]);
}

#[test]
fn an_order_keeps_its_origin_and_one_that_cannot_be_read_or_does_not_count_is_kept_and_named() {
    let ground = Ground::new("origin");
    let kept =
        ["192.0.2.0/24 9", "198.51.100.0/24 20 at 7 uid 1000 pid 42 comm curl", "203.0.113.0/24 sideways"];
    let (mut ledger, _) =
        Ledger::open(Arc::new(ground.disk.clone()), &ground.path(files::ORDERS)).expect("none");
    ledger.rewrite(&kept.map(str::to_owned)).expect("written");
    for _ in 0..2 {
        let open = ground.open();
        assert_eq!(
            open.found.complaints,
            [
                "the saved order \"203.0.113.0/24 sideways\" cannot be read; it is kept, and does not count",
                "the saved order 192.0.2.0/24 9 does not count: a first window of 9 segments; expected 10 to 45",
            ]
        );
        assert_eq!(open.lines(), kept);
        let counts = ("198.51.100.0/24".parse().expect("one"), Override::Window(20));
        assert_eq!(open.found.gateway.settings().overrides, [counts]);
        open.close();
    }
}

#[test]
fn damaged_orders_are_kept_and_named_and_no_plan_is_used_until_a_release() {
    let ground = Ground::new("damage");
    let mut open = ground.open();
    for line in ["192.0.2.0/24 20", "198.51.100.0/24 off", "203.0.113.0/24 freeze"] {
        let mut reply = open.set(line);
        open.wait(&mut reply).expect("done");
    }
    drop(open);
    let path = ground.path("orders.journal");
    let mut bytes = ground.disk.read(&path).expect("a file");
    let at = bytes.windows(7).position(|found| found == b"198.51.").expect("the order");
    bytes[at] = b'2';
    ground.disk.put(&path, &bytes);
    let open = ground.open();
    let [complaint] = &open.found.complaints[..] else { panic!("{:?}", open.found.complaints) };
    for words in [
        "line 4 does not have the checksum that it states; kept as ",
        "orders.journal.unreadable-",
        "orders that are saved: 192.0.2.0/24 20, 203.0.113.0/24 freeze; no plan is used until",
    ] {
        assert!(complaint.contains(words), "{words:?} is not in {complaint}");
    }
    assert_eq!(open.lines(), ["stop", "192.0.2.0/24 20", "203.0.113.0/24 freeze"]);
    assert_eq!(open.found.store.view()["orders_lost"], json!(complaint));
    let kept = ground.disk.names().into_iter().find(|name| name.contains("unreadable")).expect("it is kept");
    assert_eq!(ground.disk.read(&ground.path(&kept)).expect("a file"), bytes);
    drop(open);
    assert_eq!(ground.open().found.complaints, Vec::<String>::new());
}

#[test]
fn orders_that_are_missing_altogether_are_missed() {
    let ground = Ground::new("missing");
    let mut open = ground.open();
    let mut reply = open.set("192.0.2.0/24 off");
    open.wait(&mut reply).expect("done");
    let old = ground.disk.read(&ground.path("orders.journal")).expect("a file");
    open.close();
    // The operator brings back the file of before.
    for file in [Some(&old[..21]), None] {
        match file {
            Some(cut) => ground.disk.put(&ground.path("orders.journal"), cut),
            None => ground.disk.remove(&ground.path("orders.journal")).expect("removed"),
        }
        let open = ground.open();
        assert!(open.book.is_stopped(), "{:?}", open.found.complaints);
        assert!(
            open.found.complaints[0].contains("the learned state knows of"),
            "{:?}",
            open.found.complaints
        );
        open.close();
    }
}

#[test]
fn a_learned_state_that_is_damaged_costs_no_order_and_the_other_way_round() {
    let ground = Ground::new("apart");
    let mut open = ground.open();
    let mut reply = open.set("192.0.2.0/24 off");
    open.wait(&mut reply).expect("done");
    open.close();
    ground.disk.put(&ground.path("learned.state"), b"FFSTATE1 half a state");
    let open = ground.open();
    assert_eq!(open.lines(), ["192.0.2.0/24 off"]);
    let [complaint] = &open.found.complaints[..] else { panic!("{:?}", open.found.complaints) };
    assert!(
        complaint.contains("learned.state.unreadable-") && complaint.contains("orders are not affected"),
        "{complaint}"
    );
    open.close();
    assert!(ground.open().found.complaints.is_empty());
}

/// Any bytes: nothing reads them.
#[test]
fn a_store_of_an_earlier_version_is_kept_unread_and_no_plan_is_used_until_a_release() {
    let ground = Ground::new("earlier");
    ground.disk.put(&ground.path("state.redb"), b"any bytes");
    let open = ground.open();
    let [complaint] = &open.found.complaints[..] else { panic!("{:?}", open.found.complaints) };
    assert!(complaint.contains("state.redb is of an earlier version"), "{complaint}");
    assert!(open.book.is_stopped());
    let kept = ground.disk.names().into_iter().find(|name| name.contains("state.redb")).expect("it is kept");
    assert!(kept.starts_with("state.redb.unreadable-"), "{kept}");
    assert_eq!(ground.disk.read(&ground.path(&kept)).expect("a file"), b"any bytes");
    drop(open);
    let open = ground.open();
    assert!(open.found.complaints.is_empty() && open.book.is_stopped());
}

/// Without room for new orders the old store stays where it is, so that the next start finds it.
#[test]
fn a_full_disk_at_the_start_costs_nothing() {
    let ground = Ground::new("start");
    ground.disk.put(&ground.path("state.redb"), b"any bytes");
    ground.disk.fail(Some(Fault::Full(0)));
    for _ in 0..2 {
        let open = ground.open();
        assert!(open.book.is_stopped());
        assert!(
            open.found.complaints.iter().any(|line| line.contains("cannot be saved")),
            "{:?}",
            open.found.complaints
        );
        assert_eq!(ground.disk.names(), ["state.redb"]);
    }
}

#[test]
fn a_second_gateway_is_refused_the_folder_by_name() {
    let ground = Ground::new("second");
    let open = ground.open();
    let why = claim(&ground.folder).expect_err("refused").to_string();
    assert_eq!(is_free(&ground.folder).expect_err("refused").to_string(), why);
    let expected = format!(
        "the state folder {}: another gateway, process {}, has this folder; expected a folder of its own (`state` in the \
         configuration, or --state)",
        ground.folder.display(),
        std::process::id()
    );
    assert_eq!(why, expected);
    drop(open);
    is_free(&ground.folder).expect("it is free");
    let missing = ground.path("missing");
    is_free(&missing).expect("it is free");
    assert!(!missing.exists());
}

/// Root opens the lock in a folder of another user, who may have put a link there.
#[test]
fn a_lock_that_is_a_link_is_refused_and_its_target_stays() {
    let ground = Ground::new("link");
    fs::create_dir_all(&ground.folder).expect("a folder");
    let target = ground.path("target");
    fs::write(&target, "kept").expect("written");
    let link = ground.path(files::LOCK);
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    claim(&ground.folder).expect_err("refused");
    fs::remove_file(&link).expect("removed");
    fs::hard_link(&target, &link).expect("a link");
    for refused in [claim(&ground.folder).map(drop), is_free(&ground.folder)] {
        let why = refused.expect_err("refused").to_string();
        assert!(why.contains("expected lock as a regular file with this name only"), "{why}");
    }
    assert_eq!(fs::read_to_string(&target).expect("a file"), "kept");
}

#[test]
fn a_second_gateway_is_refused_the_cgroup_by_name() {
    let ground = Ground::new("cgroup");
    fs::create_dir_all(&ground.folder).expect("a folder");
    let held = claim_cgroup(&ground.folder).expect("it is free");
    let why = claim_cgroup(&ground.folder).expect_err("refused").to_string();
    assert!(
        why.contains("another gateway starts the connections of this cgroup; expected one gateway for each"),
        "{why}"
    );
    drop(held);
    claim_cgroup(&ground.folder).expect("it is free");
}
