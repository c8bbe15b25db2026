//! Every event that the kernel's schemes get is answered once more by the simulator's chain: all registers and the end of
//! start-up are equal on every event.

mod path;
mod transfer;

use std::thread;
use std::time::Duration;

use firstflight_contract::Role;
use firstflight_kernel::{Compared, Memory, Offer, Prefix, Refusal, Replay};
use firstflight_kernel_face::{LASTS, STARTUPS};
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::Value;

use path::{Conditions, Path, RECEIVER, Treatment};

/// Every kind of event: losses of both causes, marks, spurious and real timeouts; idle times come from the application.
const PATH: Conditions = Conditions {
    rate: 40_000_000,
    rtt: Duration::from_millis(20),
    queue: 60_000,
    treatments: &[
        (Treatment::Queue, Duration::from_millis(320)),
        (Treatment::Mark(15_000), Duration::from_millis(180)),
        (Treatment::Lose(100), Duration::from_millis(150)),
        (Treatment::Hold, Duration::from_millis(330)),
        (Treatment::Queue, Duration::from_millis(150)),
        (Treatment::Fail, Duration::from_millis(250)),
    ],
};
/// Bytes that the application sends at once, and its pause.
const BURST: usize = 1_700_000;
const PAUSE: Duration = Duration::from_millis(300);

/// The chains: every start-up scheme with reno, every last scheme with slow-start.
fn chains() -> Vec<Vec<&'static str>> {
    let starts = STARTUPS.iter().map(|member| vec![member.declaration.label, "reno"]);
    let lasts = LASTS.iter().filter(|member| member.declaration.label != "reno").map(|member| {
        match member.declaration.role {
            Role::Standalone => vec![member.declaration.label],
            _ => vec!["slow-start", member.declaration.label],
        }
    });
    starts.chain(lasts).collect()
}

/// Runs connections of one chain, `span` each, until there were `least` events, replayed as connections of `phases`.
fn compare(
    path: &Path,
    labels: &[&str],
    phases: Vec<AnyPhase>,
    (span, least): (Duration, u64),
) -> Result<Compared, Refusal> {
    let offered = Offer::new(labels)?.traced().load()?;
    let prefix = Prefix::new(RECEIVER.into(), 24).expect("a prefix");
    let memory = Memory { cwnd: 60_000, ssthresh: 90_000, samples: 3, ..Memory::default() };
    offered.remember(prefix, memory)?;
    let mut replay = Replay::new(phases);
    let mut seed = 0;
    while replay.compared().events < least.max(1) && seed < 1000 {
        seed += 1;
        thread::scope(|scope| {
            let work = scope.spawn(|| transfer::send(path, offered.name(), PATH, (span, BURST, PAUSE), seed));
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

/// The path, or why this machine cannot run the test.
fn path() -> Option<Path> {
    let why = match (Path::new(), Offer::new(&["slow-start", "reno"]).and_then(|offer| offer.load())) {
        (Ok(path), Ok(_)) => return Some(path),
        (Err(need), _) => need.to_string(),
        (_, Err(refusal)) => refusal.to_string(),
    };
    eprintln!("not run here: {why}");
    None
}

fn phases(labels: &[&str]) -> Vec<AnyPhase> {
    AnyPhase::chain(labels).expect("a chain of the registry")
}

fn compare_every_chain(span: Duration, least: u64) {
    let Some(path) = path() else { return };
    println!(
        "| schemes | connections | events | of recoveries | losses | marks | timeouts | undone | idle | exits | different |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut faults = vec![];
    let mut all = Compared::default();
    for labels in chains() {
        let name = labels.join("+");
        match compare(&path, &labels, phases(&labels), (span, least)) {
            Err(refusal) => faults.push(format!("{name}: {refusal}")),
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
                    faults.push(format!(
                        "{name}: {} panics, {} different: {:?}",
                        c.panics, c.different, c.first
                    ));
                }
                all.losses += c.losses;
                all.marks += c.marks;
                all.timeouts += c.timeouts;
                all.undone += c.undone;
                all.idle += c.idle;
                all.recovering += c.recovering;
            }
        }
    }
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
    compare_every_chain(Duration::from_millis(1200), 1);
}

/// `cargo test --release -p firstflight-kernel --test replay -- --ignored --nocapture` prints the table of docs/kernel.md.
#[test]
#[ignore = "takes about half an hour"]
fn the_kernel_and_the_simulator_s_chain_agree_on_a_hundred_thousand_events_a_scheme() {
    compare_every_chain(Duration::from_secs(20), 100_000);
}

#[test]
fn a_scheme_that_differs_is_found() {
    let Some(path) = path() else { return };
    let labels = ["hystart++", "reno"];
    let mut mutated = phases(&labels);
    mutated[0].set("l", Value::Packets(1)).expect("a parameter");
    let compared =
        compare(&path, &labels, mutated, (Duration::from_millis(300), 1)).expect("the kernel runs hystart++");
    assert!(compared.different > 0, "{compared:?}");
}
