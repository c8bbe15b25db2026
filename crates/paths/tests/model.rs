//! A cluster against a model that keeps every connection and every sample.

use crate::common::{self, MSS, RTT, policy};
use firstflight_contract::Nanos;
use firstflight_paths::{Cluster, Destination, Key, Policy, Sample, Settings, Transfer};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// An event, some time after the previous one.
#[derive(Clone, Copy, Debug)]
enum Op {
    Open {
        packets: u64,
        avoiding: bool,
    },
    /// Concerns the n-th live connection, as do the events below.
    Observe {
        n: usize,
        packets: u64,
        avoiding: bool,
    },
    Lost {
        n: usize,
        packets: u64,
    },
    Done {
        n: usize,
    },
    Close {
        n: usize,
    },
}

fn op() -> impl Strategy<Value = (u64, Op)> {
    let n = || 0..12usize;
    let gap = prop_oneof![Just(0), 0..2_000_000_000u64, 0..200_000_000_000u64];
    let op = prop_oneof![
        3 => (0..100u64, any::<bool>()).prop_map(|(packets, avoiding)| Op::Open { packets, avoiding }),
        10 => (n(), 0..100u64, any::<bool>())
            .prop_map(|(n, packets, avoiding)| Op::Observe { n, packets, avoiding }),
        2 => (n(), 0..100u64).prop_map(|(n, packets)| Op::Lost { n, packets }),
        1 => n().prop_map(|n| Op::Done { n }),
        2 => n().prop_map(|n| Op::Close { n }),
    ];
    (gap, op)
}

/// A live connection of the model; these are kept in order of age.
#[derive(Clone, Copy)]
struct Live {
    key: Key,
    packets: u64,
    avoiding: bool,
    lossy: bool,
    last_drop: Option<Nanos>,
}

#[derive(Default)]
struct Model {
    live: Vec<Live>,
    /// Second, number of live connections, and sum of their windows in packets.
    samples: Vec<(u64, u64, u64)>,
    /// Time, and window in packets.
    reports: Vec<(Nanos, u64)>,
}

impl Model {
    /// Takes the samples of every whole second up to and including `now`, one by one.
    fn sample_until(&mut self, now: Nanos) {
        while self.samples.len() as u64 * 1_000_000_000 <= now.0 {
            let second = self.samples.len() as u64;
            self.samples.push((second, self.live.len() as u64, self.live.iter().map(|l| l.packets).sum()));
        }
    }

    /// Mean of the last five whole minutes, and the number of windows in it.
    fn sampled(&mut self, now: Nanos) -> Option<(u64, u64)> {
        self.sample_until(now);
        let minute = now.0 / 60_000_000_000;
        let seconds = minute.saturating_sub(5) * 60..minute * 60;
        let in_window = self.samples.iter().filter(|(second, ..)| seconds.contains(second));
        let (count, sum) = in_window.fold((0, 0), |(count, sum), (_, n, packets)| (count + n, sum + packets));
        (count > 0).then(|| (sum * MSS / count, count))
    }

    /// Mean of the reports of the current and the last nine half minutes, and their number.
    fn reported(&self, now: Nanos) -> Option<(u64, u64)> {
        let half_minute = |t: Nanos| t.0 / 30_000_000_000;
        let counts = |(t, _): &&(Nanos, u64)| half_minute(*t) + 10 > half_minute(now);
        let windows: Vec<_> = self.reports.iter().filter(counts).map(|(_, packets)| packets * MSS).collect();
        let count = windows.len() as u64;
        (count > 0).then(|| (windows.iter().sum::<u64>() / count, count))
    }
}

fn everything() -> Settings {
    let all: Vec<_> = Policy::LABELS.iter().map(|label| policy(label, &[])).collect();
    Policy::settings_for(&all).expect("the defaults agree")
}

/// Applies the operations to both; returns the plans of every policy after each operation.
fn run(ops: &[(u64, Op)]) -> Result<Vec<String>, TestCaseError> {
    let (mut cluster, mut model, mut now) = (Cluster::new(everything()), Model::default(), Nanos::ZERO);
    let mut plans = vec![];
    for &(gap, op) in ops {
        now += Nanos(gap);
        model.sample_until(now);
        let sample = |packets: u64, avoiding| Sample {
            now,
            cwnd: packets * MSS,
            ssthresh: packets * MSS / 2,
            srtt: RTT,
            min_rtt: RTT,
            avoiding,
        };
        let transfer = Transfer {
            now,
            destination: Destination(plans.len() as u128 % 20),
            rtt: RTT,
            bytes: 30 * MSS,
            mss: MSS as u32,
        };
        let live = model.live.len();
        match op {
            Op::Open { packets, avoiding } => {
                let key = cluster.open(&transfer, &sample(packets, avoiding));
                model.live.push(Live { key, packets, avoiding, lossy: false, last_drop: None });
            }
            Op::Observe { n, packets, avoiding } if n < live => {
                cluster.observe(model.live[n].key, &sample(packets, avoiding));
                (model.live[n].packets, model.live[n].avoiding) = (packets, avoiding);
            }
            Op::Lost { n, packets } if n < live => {
                let connection = &mut model.live[n];
                cluster.lost(connection.key, now, packets * MSS);
                if connection.last_drop.is_none_or(|t| now >= t + RTT) {
                    (connection.last_drop, connection.lossy) = (Some(now), true);
                    if connection.avoiding {
                        model.reports.push((now, packets.saturating_sub(1)));
                    }
                }
            }
            Op::Done { n } | Op::Close { n } if n < live => {
                let Live { key, packets, lossy, .. } = model.live[n];
                if !lossy {
                    model.reports.push((now, packets));
                }
                if let Op::Close { .. } = op {
                    cluster.close(key, now);
                    model.live.remove(n);
                    cluster.observe(key, &sample(99, true));
                } else {
                    cluster.done(key, now);
                    model.live[n].lossy = false;
                }
            }
            _ => {}
        }

        let phase = |avoiding| model.live.iter().filter(move |l| l.avoiding == avoiding);
        let cwnd = |avoiding| phase(avoiding).map(|l| l.packets * MSS).sum::<u64>();
        prop_assert_eq!(cluster.avoiding() as usize, phase(true).count());
        prop_assert_eq!(cluster.starting() as usize, phase(false).count());
        prop_assert_eq!((cluster.avoiding_cwnd(), cluster.starting_cwnd()), (cwnd(true), cwnd(false)));
        let oldest = |avoiding| phase(avoiding).next().map(|l| l.packets * MSS);
        prop_assert_eq!(cluster.oldest_avoiding().map(|c| c.cwnd), oldest(true));
        prop_assert_eq!(cluster.oldest_starting().map(|c| c.cwnd), oldest(false));
        // Now, and later without an event in between.
        for later in [now, now + Nanos::from_secs(70), now + Nanos::from_secs(400)] {
            let reported = cluster.reported(later).map(|average| (average.cwnd, average.samples));
            prop_assert_eq!(reported, model.reported(later));
        }
        let later = now + Nanos(gap / 2);
        let sampled = cluster.sampled(later).map(|average| (average.cwnd, average.samples));
        let taken = model.samples.len();
        prop_assert_eq!(sampled, model.sampled(later));
        model.samples.truncate(taken);

        for label in Policy::LABELS {
            let plan = policy(label, &[]).plan(&cluster, &transfer);
            // Careful Resume leaves the threshold to the connection.
            let open = *label == "careful-resume" && plan.ssthresh == 0;
            prop_assert!(open || plan.ssthresh >= plan.cwnd, "{}: {:?}", label, plan);
            prop_assert!(plan.samples > 0 || plan == Default::default(), "{}: {:?}", label, plan);
            plans.push(format!("{label} {plan:?}"));
        }
    }
    Ok(plans)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(4),
        ..ProptestConfig::default()
    })]
    #[test]
    fn a_cluster_agrees_with_a_model_that_keeps_all_history(ops in prop::collection::vec(op(), 1..150)) {
        let plans = run(&ops)?;
        prop_assert!(plans == run(&ops)?, "two runs differ");
    }

    #[test]
    fn the_share_is_below_the_total_and_below_the_oldest_window(
        windows in prop::collection::vec((1..1_000u64, any::<bool>()), 1..20),
    ) {
        let liss = policy("liss", &[]);
        let mut cluster = Cluster::new(liss.settings());
        for &(packets, avoiding) in &windows {
            common::open(&mut cluster, 1.0, packets, avoiding);
        }
        let share = common::plan(&liss, &cluster, 2.0).ssthresh;
        if let Some((w_o, _)) = windows.iter().find(|(_, avoiding)| *avoiding) {
            // s_n = w_o (S + L w_o)/((S + L w_o) + w_o): less than w_o, and less than the total.
            prop_assert!(share < w_o * MSS);
            let together: u64 = windows.iter().map(|(w, avoiding)| if *avoiding { w_o } else { w }).sum();
            prop_assert!(share < together * MSS);
        } else {
            prop_assert_eq!(share, 0);
        }
    }
}
