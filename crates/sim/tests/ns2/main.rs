//! Comparison with ns-2: Debian's `ns` runs `tests/ns2/scripts/dumbbell.tcl` on the rows of
//! `tests/ns2/scripts/grid.psv`, this simulator runs the same with its `ns2` profile, and delivered and
//! dropped packets must agree. `docs/validation.md` contains the table that this command prints:
//!
//! ```text
//! cargo test --release -p firstflight-sim --test ns2 -- --nocapture
//! ```

#[path = "../common/mod.rs"]
mod common;
mod grid;
mod idle;
mod partial_acks;
mod reference;
mod vegas;
mod windows;

use firstflight_sim::outcome::simulate;
use grid::{Cell, table};
use reference::Counts;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const GRID: &str = include_str!("scripts/grid.psv");
const CHAOS: &str = include_str!("scripts/chaos.psv");

/// Largest allowed relative difference in delivered packets.
const DELIVERED: f64 = 0.02;
/// Largest allowed relative difference in drops.
const DROPS: f64 = 0.05;
/// Largest allowed relative difference in the mean queue under RED.
const QUEUE: f64 = 0.05;
/// Allowed absolute difference in drops: below twenty drops, a single one is more than 5 %.
const DROPS_FLOOR: f64 = 1.0;

/// A row of the grid and its results in both simulators.
struct Compared {
    cell: Cell,
    ns2: Counts,
    ours: Counts,
}

impl Compared {
    fn delivered(&self) -> f64 {
        self.ours.delivered / self.ns2.delivered - 1.0
    }

    fn drops(&self) -> f64 {
        if self.ns2.drops == self.ours.drops { 0.0 } else { self.ours.drops / self.ns2.drops.max(1.0) - 1.0 }
    }

    fn mean_queue(&self) -> Option<f64> {
        Some(self.ours.mean_queue? / self.ns2.mean_queue? - 1.0)
    }

    fn agrees(&self) -> bool {
        let allowed = (DROPS * self.ns2.drops).max(DROPS_FLOOR);
        self.delivered().abs() <= DELIVERED
            && (self.ours.drops - self.ns2.drops).abs() <= allowed
            && self.mean_queue().is_none_or(|queue| queue.abs() <= QUEUE)
    }

    fn same(&self) -> bool {
        (self.ours.delivered, self.ours.drops) == (self.ns2.delivered, self.ns2.drops)
    }
}

fn ours(cell: &Cell) -> Counts {
    reference::mean(cell.runs(), |seed| {
        let outcome = simulate(&cell.network(seed));
        Counts {
            delivered: outcome.flows.iter().map(|flow| f64::from(flow.delivered)).sum(),
            drops: outcome.links[0].stats.drops as f64,
            mean_queue: Some(outcome.links[0].mean_queue),
        }
    })
}

/// Runs `cells` in both simulators, on all cores.
fn compare(cells: &[Cell]) -> Vec<Compared> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let compared =
                        Compared { cell: cell.clone(), ns2: reference::run(cell), ours: ours(cell) };
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(compared);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|compared| compared.cell.id().to_string());
    done
}

/// Group of a row in the printed summary.
fn kind(cell: &Cell) -> &str {
    let is = |key: &str, value: &str| cell.text(key) == value;
    match () {
        () if is("kind", "vegas") || is("kind", "hoe") => cell.text("kind"),
        () if is("queue", "red") => "RED, 20 runs each",
        () if is("queue", "red-ecn") => "RED with marks, 20 runs each",
        () if cell.runs() > 1 => "random starts, 20 runs each",
        () if !is("flows", "1") => "several flows",
        () if cell.id().starts_with("slow-start") => "slow start alone",
        () if !is("ssthresh", "0") => "initial ssthresh 32",
        () if is("receiver", "delayed") => "delayed ACKs",
        () => cell.text("kind"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Median and maximum absolute deviation.
fn median_and_worst(deviations: impl Iterator<Item = f64>) -> [String; 2] {
    let mut sizes: Vec<f64> = deviations.map(f64::abs).collect();
    sizes.sort_by(f64::total_cmp);
    [sizes[sizes.len() / 2], sizes[sizes.len() - 1]].map(percent)
}

fn print_summary(compared: &[Compared]) {
    let mut kinds: BTreeMap<&str, Vec<&Compared>> = BTreeMap::new();
    for one in compared {
        kinds.entry(kind(&one.cell)).or_default().push(one);
        kinds.entry("~ all").or_default().push(one);
    }
    println!("| kind | runs | the same to the packet | delivered, median | worst | drops, median | worst |");
    println!("|---|---|---|---|---|---|---|");
    for (kind, rows) in kinds {
        let same = rows.iter().filter(|row| row.same()).count();
        let [delivered, delivered_worst] = median_and_worst(rows.iter().map(|row| row.delivered()));
        let [drops, drops_worst] = median_and_worst(rows.iter().map(|row| row.drops()));
        let kind = kind.trim_start_matches("~ ");
        let rows = rows.len();
        println!("| {kind} | {rows} | {same} | {delivered} | {delivered_worst} | {drops} | {drops_worst} |");
    }
}

#[test]
fn delivered_and_dropped_packets_agree_with_ns_2_where_ns_2_is_stable() {
    if !reference::installed() {
        return;
    }
    let stable: BTreeMap<String, bool> =
        table(CHAOS).into_iter().map(|row| (row["id"].clone(), row["use"] == "compare")).collect();
    let cells = Cell::all(GRID);
    assert_eq!(cells.len(), stable.len(), "chaos.psv belongs to another grid");
    let cells: Vec<Cell> = cells.into_iter().filter(|cell| stable[cell.id()]).collect();
    let compared = compare(&cells);
    print_summary(&compared);
    let queues = compared.iter().filter_map(Compared::mean_queue);
    let [queue, queue_worst] = median_and_worst(queues);
    println!("Mean queue under RED: median {queue}, worst {queue_worst}");
    let wrong: Vec<String> = compared
        .iter()
        .filter(|row| !row.agrees())
        .map(|row| format!("{}: ns-2 {:?}, here {:?}", row.cell.id(), row.ns2, row.ours))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tables 1 and 2 of the Adaptive Start paper, column NewReno: utilisation in the first 20 s, percent.
const PAPER: [(&str, f64); 10] = [
    ("as1-20ms", 95.6),
    ("as1-50ms", 71.8),
    ("as1-100ms", 23.2),
    ("as1-150ms", 11.9),
    ("as1-200ms", 7.2),
    ("as2-10M", 77.1),
    ("as2-20M", 45.9),
    ("as2-40M", 23.2),
    ("as2-100M", 9.3),
    ("as2-200M", 4.7),
];

#[test]
fn all_ten_newreno_cells_of_the_adaptive_start_paper_agree_within_five_percent() {
    let cells = Cell::all(GRID);
    let with_ns2 = reference::installed();
    println!("| cell | paper | ns-2 today | here | here against the paper |");
    println!("|---|---|---|---|---|");
    for (id, paper) in PAPER {
        let cell = cells.iter().find(|cell| cell.id() == id).expect("in the grid");
        // The paper's packets have 1000 bytes, 40 of them headers; its figures match the payload rate.
        let capacity = cell.number("rate") * 1e6 * cell.number("duration");
        let utilisation = |counts: Counts| 100.0 * counts.delivered * 960.0 * 8.0 / capacity;
        let here = utilisation(ours(cell));
        let ns2 = if with_ns2 { format!("{:.2}", utilisation(reference::run(cell))) } else { "-".into() };
        let off = here / paper - 1.0;
        println!("| {id} | {paper} | {ns2} | {here:.2} | {:+.1} % |", 100.0 * off);
        assert!(off.abs() <= 0.05, "{id}: {here:.2} %, in the paper {paper} %");
    }
}
