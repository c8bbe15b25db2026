//! Every event that the kernel's schemes get is answered once more by the simulator's chain: all registers and the end of
//! start-up are equal on every event.

mod cgroup;
mod path;
mod transfer;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use firstflight_contract::{Exit, Nanos, Role};
use firstflight_host::replay::Event as Told;
use firstflight_kernel::{Compared, Event, Memory, Offer, Prefix, Refusal, Replay, every_process};
use firstflight_kernel_face::{LASTS, STARTUPS};
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::Value;

use cgroup::Cgroup;
use path::{Conditions, Path, RECEIVER, Treatment};
use transfer::Load;

/// Every kind of event: losses of both causes, marks, spurious and real timeouts; idle times come from the application.
const PATH: Conditions = Conditions {
    rate: 40_000_000,
    rtt: Duration::from_millis(20),
    queue: 60_000,
    treatments: &[
        (Treatment::Queue, Duration::from_millis(320)),
        (Treatment::Mark(15_000), Duration::from_millis(180)),
        (Treatment::Lose(100), Duration::from_millis(150)),
        // The application pauses before; the timeout of what it sends then comes within the hold, and is spurious.
        (Treatment::Hold, Duration::from_millis(480)),
        (Treatment::Queue, Duration::from_millis(150)),
        (Treatment::Fail, Duration::from_millis(250)),
    ],
};
/// A connection a scheme, which a test of a minute can afford.
const SHORT: Load = Load {
    path: PATH,
    span: Duration::from_millis(1350),
    burst: 1_700_000,
    pause: Duration::from_millis(300),
};
/// Faster, for many events.
const LONG: Load = Load {
    path: Conditions {
        rate: 300_000_000,
        rtt: Duration::from_millis(4),
        queue: 200_000,
        treatments: &[
            (Treatment::Queue, Duration::from_millis(2000)),
            (Treatment::Mark(30_000), Duration::from_millis(1500)),
            (Treatment::Lose(2000), Duration::from_millis(1000)),
            (Treatment::Hold, Duration::from_millis(330)),
            (Treatment::Queue, Duration::from_millis(1000)),
            (Treatment::Fail, Duration::from_millis(250)),
        ],
    },
    span: Duration::from_secs(15),
    burst: 60_000_000,
    pause: Duration::from_millis(300),
};

/// A chain of the object, and of the simulator.
struct Chain {
    name: String,
    offer: Offer,
    phases: Vec<AnyPhase>,
}

impl Chain {
    fn of(labels: &[&str]) -> Self {
        let offer = Offer::new(labels).expect("a chain of the object");
        let phases = AnyPhase::chain(labels).expect("a chain of the registry");
        Self { name: labels.join("+"), offer, phases }
    }

    /// CUBIC by the kernel's rules.
    fn linux_cubic() -> Self {
        let chain = Self::of(&["slow-start", "cubic"]);
        let mut phases = chain.phases;
        phases[1].set("rules", Value::Choice(1)).expect("the second word is linux");
        Self { name: chain.name + ", rules = linux", offer: chain.offer.as_in_linux(), phases }
    }
}

/// The chains: every start-up scheme with reno, every last scheme with slow-start.
fn chains() -> Vec<Chain> {
    let starts = STARTUPS.iter().map(|member| Chain::of(&[member.declaration.label, "reno"]));
    let lasts = LASTS.iter().filter(|member| member.declaration.label != "reno").map(|member| {
        match (member.name, member.declaration.role) {
            ("cubic_linux", _) => Chain::linux_cubic(),
            (_, Role::Standalone) => Chain::of(&[member.declaration.label]),
            _ => Chain::of(&["slow-start", member.declaration.label]),
        }
    });
    starts.chain(lasts).collect()
}

/// Runs connections of one chain, `span` each, until there were `least` events, replayed as connections of `phases`.
fn compare(
    path: &Path,
    offer: Offer,
    phases: Vec<AnyPhase>,
    (load, least): (Load, u64),
) -> Result<Compared, Refusal> {
    let offered = offer.traced().load()?;
    offered.remember(prefix(24), MEMORY)?;
    let mut replay = Replay::new(phases);
    let mut seed = 0;
    while replay.compared().events < least.max(1) && seed < 1000 {
        seed += 1;
        thread::scope(|scope| {
            let work = scope.spawn(|| transfer::send(path, offered.name(), load, seed));
            let watched = offered.watch(|| work.is_finished(), |record| replay.take(&record));
            let arrived = work.join().expect("a transfer").expect("a transfer");
            assert!(arrived > 0);
            watched
        })?;
    }
    let totals = offered.totals()?;
    assert_eq!(totals.unrecorded, 0, "the ring buffer overflowed");
    Ok(replay.compared().clone())
}

/// The remembered path that planned starts use.
const MEMORY: Memory =
    Memory { cwnd: 60_000, ssthresh: 90_000, rtt: Nanos::ZERO, measured: Nanos::ZERO, samples: 3 };

fn prefix(bits: u8) -> Prefix {
    Prefix::new(RECEIVER.into(), bits).expect("a prefix")
}

/// One test at a time: congestion controls have the same names in every test.
static TURN: Mutex<()> = Mutex::new(());

/// The path and the turn, or why this machine cannot run the test.
fn path() -> Option<(Path, MutexGuard<'static, ()>)> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let why = match (Path::new(), Offer::new(&["slow-start", "reno"]).and_then(|offer| offer.load())) {
        (Ok(path), Ok(_) | Err(Refusal::Taken(_))) => return Some((path, turn)),
        (Err(need), _) => need.to_string(),
        (_, Err(refusal)) => refusal.to_string(),
    };
    firstflight_skip::skip(why);
    None
}

/// On `paths` paths at the same time, because a connection waits most of its time. Chains differ in their names.
fn compare_every_chain(load: Load, least: u64, paths: usize) {
    let Some((first, _turn)) = path() else { return };
    let mut all_paths = vec![first];
    all_paths.resize_with(paths, || Path::new().expect("as many paths as are asked for"));
    println!(
        "| schemes | connections | events | of recoveries | losses | marks | timeouts | undone | idle | exits | different |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let faults = Mutex::new(vec![]);
    let sums = Mutex::new(Compared::default());
    thread::scope(|scope| {
        for (at, path) in all_paths.iter().enumerate() {
            let (faults, sums) = (&faults, &sums);
            scope.spawn(move || {
                for Chain { name, offer, phases } in chains().into_iter().skip(at).step_by(paths) {
                    match compare(path, offer, phases, (load, least)) {
                        Err(refusal) => faults.lock().expect("a lock").push(format!("{name}: {refusal}")),
                        Ok(c) => {
                            println!(
                                "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                                c.connections,
                                c.events,
                                c.recovering,
                                c.losses,
                                c.marks,
                                c.timeouts,
                                c.undone,
                                c.idle,
                                c.exits,
                                c.different
                            );
                            if c.different > 0 || c.panics > 0 || c.acks == 0 {
                                faults.lock().expect("a lock").push(format!(
                                    "{name}: {} panics, {} different: {:?}",
                                    c.panics, c.different, c.first
                                ));
                            }
                            let mut all = sums.lock().expect("a lock");
                            all.losses += c.losses;
                            all.marks += c.marks;
                            all.timeouts += c.timeouts;
                            all.undone += c.undone;
                            all.idle += c.idle;
                            all.recovering += c.recovering;
                        }
                    }
                }
            });
        }
    });
    let (faults, all) = (faults.into_inner().expect("faults"), sums.into_inner().expect("sums"));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for (kind, count) in [
        ("losses", all.losses),
        ("marks", all.marks),
        ("timeouts", all.timeouts),
        ("undone reductions", all.undone),
        ("idle times", all.idle),
        ("ACKs of recoveries", all.recovering),
    ] {
        assert!(count > 0, "the paths gave no {kind}");
    }
}

#[test]
fn the_kernel_and_the_simulator_s_chain_agree_on_every_event() {
    compare_every_chain(SHORT, 1, 2);
}

/// `cargo test --release -p firstflight-kernel --test replay -- --ignored --nocapture` prints the table of docs/kernel.md.
#[test]
#[ignore = "takes about half an hour"]
fn the_kernel_and_the_simulator_s_chain_agree_on_a_hundred_thousand_events_a_scheme() {
    compare_every_chain(LONG, 100_000, 1);
}

#[test]
fn a_scheme_that_differs_is_found() {
    let Some((path, _turn)) = path() else { return };
    let Chain { offer, phases: mut mutated, .. } = Chain::of(&["hystart++", "reno"]);
    mutated[0].set("l", Value::Packets(1)).expect("a parameter");
    let compared = compare(&path, offer, mutated, (SHORT, 1)).expect("the kernel runs hystart++");
    assert!(compared.different > 0, "{compared:?}");
    // The RFC's rules are not the kernel's.
    let (offer, phases) = (Chain::linux_cubic().offer, Chain::of(&["slow-start", "cubic"]).phases);
    let compared = compare(&path, offer, phases, (SHORT, 1)).expect("the kernel runs cubic");
    assert!(compared.different > 0, "{compared:?}");
}

#[test]
fn a_planned_start_takes_its_plan_from_the_longest_prefix_of_the_destination() {
    let Some((path, _turn)) = path() else { return };
    let offered = Offer::new(&["js", "reno"]).and_then(|offer| offer.traced().load()).expect("js");
    let other = Prefix::new("192.0.2.0".parse().expect("an address"), 24).expect("a prefix");
    offered.remember(other, Memory { cwnd: 1, ..MEMORY }).expect("room");
    let mut windows = vec![];
    let mut begin = || {
        let load = Load { span: Duration::from_millis(50), ..SHORT };
        let mut start = None;
        thread::scope(|scope| {
            let work = scope.spawn(|| transfer::send(&path, offered.name(), load, 1));
            let watched = offered.watch(
                || work.is_finished(),
                |record| {
                    if let Event::Told(Told::Start { entry, .. }) = record.event {
                        start = Some((
                            entry.plan.samples,
                            record.answer.control.cwnd,
                            record.answer.control.ssthresh,
                        ));
                    }
                },
            );
            watched.expect("records");
            work.join().expect("a transfer").expect("a transfer");
        });
        windows.push(start.expect("a connection"));
    };
    begin();
    offered.remember(prefix(8), Memory { cwnd: 30_000, ssthresh: 40_000, ..MEMORY }).expect("room");
    begin();
    offered.remember(prefix(24), MEMORY).expect("room");
    begin();
    offered.forget(prefix(24)).expect("a memory");
    begin();
    // Without a plan it is slow start from ten segments of 1448 bytes.
    assert_eq!(
        windows,
        [(0, 14_480, u64::MAX), (3, 30_000, 40_000), (3, 60_000, 90_000), (3, 30_000, 40_000)]
    );
}

#[test]
fn a_threshold_of_the_offer_ends_slow_start() {
    let Some((path, _turn)) = path() else { return };
    let Chain { offer, phases, .. } = Chain::of(&["slow-start", "reno"]);
    let offered = offer.initial_ssthresh(40 * 1448).traced().load().expect("reno");
    let load = Load { path: Conditions { treatments: CALM, ..PATH }, ..SHORT };
    let mut replay = Replay::new(phases);
    let mut exit = None;
    thread::scope(|scope| {
        let work = scope.spawn(|| transfer::send(&path, offered.name(), load, 1));
        let watched = offered.watch(
            || work.is_finished(),
            |record| {
                replay.take(&record);
                exit = exit.or(record.answer.exit);
            },
        );
        watched.expect("records");
        work.join().expect("a transfer").expect("a transfer");
    });
    let exit = exit.expect("the end of slow start");
    assert_eq!((exit.cwnd, exit.reason), (40 * 1448, Exit::Threshold));
    assert_eq!(replay.compared().different, 0, "{:?}", replay.compared().first);
}

/// `select_for` rules the connections of one cgroup, from now on and while its answer lives. The cgroup is this test's own.
#[test]
fn the_connections_of_a_cgroup_use_the_scheme_that_is_selected_for_it() {
    let Some((_path, _turn)) = path() else { return };
    let Some(root) = every_process() else { return firstflight_skip::skip("no cgroup2 is mounted") };
    let cgroup = match Cgroup::new(&root) {
        Ok(cgroup) => cgroup,
        Err(error) => {
            return firstflight_skip::skip(format_args!("{} takes no cgroup: {error}", root.display()));
        }
    };
    let mut offered = Chain::of(&["hystart++", "reno"]).offer.load().expect("hystart++");
    let used = || transfer::congestion_control_of_a_connection().expect("a connection over loopback");
    let before = used();
    let selected = offered.select_for(cgroup.folder()).expect("a cgroup");
    assert_eq!(used(), before, "a process outside keeps its own");
    cgroup.enter().expect("a process may change its cgroup");
    let within = used();
    drop(selected);
    let after = used();
    cgroup.leave().expect("a process may go back");
    assert_eq!((within.as_str(), after), ("ff_hystartpp", before));
    assert_eq!(offered.totals().expect("totals").unselected, 0);
    let why = offered.select_for("/proc".as_ref()).expect_err("no cgroup").to_string();
    assert!(why.starts_with("/proc is no cgroup whose sockets can be selected"), "{why}");
}

#[test]
fn a_panic_of_a_scheme_leaves_a_working_connection() {
    let Some((path, _turn)) = path() else { return };
    let offered = Offer::that_panics().and_then(|offer| offer.traced().load()).expect("the schemes");
    let (mut acks, mut panics) = (0, 0);
    let load = Load { path: Conditions { treatments: CALM, ..PATH }, ..SHORT };
    let arrived = thread::scope(|scope| {
        let work = scope.spawn(|| transfer::send(&path, offered.name(), load, 1));
        let watched = offered.watch(
            || work.is_finished(),
            |record| match record.event {
                Event::Told(Told::Ack(_)) => acks += 1,
                Event::Panic => panics += 1,
                _ => {}
            },
        );
        watched.expect("records");
        work.join().expect("a transfer").expect("a transfer")
    });
    let totals = offered.totals().expect("totals");
    // Nineteen ACKs carry less than a tenth of this.
    assert!(arrived > 1_000_000, "{arrived} bytes");
    assert_eq!((acks, panics, totals.panics), (19, 1, 1));
}

/// Nothing but queueing.
const CALM: &[(Treatment, Duration)] = &[(Treatment::Queue, Duration::from_secs(1))];
