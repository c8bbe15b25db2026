//! Table 3 of the Adaptive Start paper: the window at which Vegas leaves slow start as a share of the
//! bandwidth-delay product, at an RTT of 100 ms. In packets of 1000 bytes the five ratios are 48, 48, 96, 96
//! and about 190.

use crate::grid::Cell;
use firstflight_host::chain::Chain;
use firstflight_schemes::registry::AnyPhase;
use firstflight_schemes::scheme::Value;
use firstflight_sim::outcome::simulate;

/// Bottleneck rate, Mbit/s, and the paper's ratio.
const TABLE: [(u64, f64); 5] = [(10, 0.384), (20, 0.192), (40, 0.192), (80, 0.096), (150, 0.101)];

/// Window at the end of start-up, packets, for one flow and a buffer of one bandwidth-delay product.
fn exit_window(mbit_s: u64, gamma: u64, cut: f64) -> f64 {
    let grid = format!(
        "id|kind|receiver|queue|rate|rtt|buffer|flows|spread|stagger|duration|ssthresh|iw|redmin|redmax|access|jitter|runs\n\
         table-3|vegas|every|drop-tail|{mbit_s}|100|{}|1|0|0|5|0|1|5|15|10|0|1\n",
        mbit_s * 100 / 8
    );
    let mut network = Cell::all(&grid)[0].network(1);
    let mut phases = AnyPhase::chain(&["vegas", "vegas"]).expect("registered");
    phases[0].set("gamma", Value::Packets(gamma)).expect("a parameter");
    phases[0].set("cut", Value::Number(cut)).expect("a parameter");
    network.flows[0].chain = Chain::new(phases).expect("a chain").into();
    let exit = simulate(&network).flows[0].startup_exit.expect("it leaves slow start");
    assert_eq!(exit.reason.label(), "delay");
    exit.cwnd as f64 / 960.0
}

#[test]
fn gamma_two_or_three_with_a_cut_of_a_quarter_gives_table_3_of_the_adaptive_start_paper() {
    println!(
        "| Mbit/s | paper, ratio | paper, packets | gamma 1, cut 1/8 | gamma 2, cut 1/4 | gamma 3, cut 1/4 | ratio |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut stock = 0;
    for (mbit_s, ratio) in TABLE {
        let bdp = (mbit_s * 100 / 8) as f64;
        let [ns2, two, three] =
            [(1, 0.125), (2, 0.25), (3, 0.25)].map(|(gamma, cut)| exit_window(mbit_s, gamma, cut));
        println!(
            "| {mbit_s} | {ratio} | {:.1} | {ns2} | {two} | {three} | {:.3} |",
            ratio * bdp,
            three / bdp
        );
        // The three digits of a ratio allow up to 1 packet of 1875.
        for window in [two, three] {
            assert!((window / bdp - ratio).abs() < 0.0015, "{mbit_s} Mbit/s: {window} of {bdp}");
        }
        stock += usize::from((ns2 / bdp - ratio).abs() < 0.0015);
    }
    assert_eq!(stock, 0, "ns-2's own parameters match no cell");
}
