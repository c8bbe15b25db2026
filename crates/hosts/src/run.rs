//! Runs of one scenario under one seed or several: the object of `firstflight run`.

use std::collections::BTreeMap;

use firstflight_contract::Nanos;
use firstflight_document::Error;
use firstflight_scenario::{Loaded, Scenario};
use firstflight_sim::timings::Timings;

use crate::cost::Stopwatch;
use crate::host::{FlowChoice, FlowOverTime, Host, Observe, Refusal, Run};
use crate::memory;
use crate::parallel::{self, try_map, with_threads};
use crate::progress::{Halt, Progress, Silent};
use crate::stats::mean_ci95;
use crate::trace::record::Recording;
use firstflight_results::{
    EngineResult, FlowMeans, FlowResult, LinkMeans, LinkResult, Mean, RunMeans, RunResult, SampleRow,
};

/// Options of [`run`].
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Number of runs, each under its own seed; at least one.
    pub runs: u32,
    /// Seed of the first run; `None` is the scenario's seed. Each further run has the next number.
    pub seed: Option<u64>,
    /// Interval at which delivery is recorded since each flow's start; above zero.
    pub grid: Nanos,
    /// Limit of the memory of all runs and their results, bytes. It changes no result.
    pub memory: u64,
    /// Whether every packet and register of the first run is recorded.
    pub packets: bool,
    /// Whether the flows of the first run are recorded over time.
    pub samples: bool,
    /// Whether the threads of a single run are timed.
    pub timings: bool,
    /// Most threads, for several runs or within one; it changes no result. More than the machine has cores are that many.
    pub threads: usize,
}

impl Default for RunOptions {
    /// One run under the scenario's seed, deliveries at each second, within [`memory::DEFAULT`], on all cores.
    fn default() -> Self {
        Self {
            runs: 1,
            seed: None,
            grid: Nanos::from_secs(1),
            memory: memory::DEFAULT,
            packets: false,
            samples: false,
            timings: false,
            threads: usize::MAX,
        }
    }
}

impl RunOptions {
    fn observe(&self) -> Observe {
        Observe { grid: self.grid, memory: self.memory, ..Observe::default() }
    }
}

/// Runs of a scenario, and what the options ask for of the first one.
#[derive(Clone, Debug)]
pub struct Made {
    /// Results of all runs.
    pub result: RunResult,
    /// Rows of table `sample`; empty unless [`RunOptions::samples`] is set.
    pub samples: Vec<SampleRow>,
    /// Present if [`RunOptions::packets`] is set.
    pub recording: Option<Recording>,
    /// Present if [`RunOptions::timings`] is set, the run is the only one, and nothing is recorded.
    pub timings: Option<Timings>,
}

/// Runs a scenario file on a host.
///
/// # Errors
/// If the scenario asks for more than the host has, or the runs take more memory than the limit: the key, and why.
pub fn run(
    host: &dyn Host,
    loaded: &Loaded,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Made, Error> {
    let refused = |refusal: Refusal| loaded.places.refuse(&refusal.key, refusal.why);
    Ok(run_scenario(host, &loaded.scenario, options, progress).map_err(|halt| halt.map(refused))?)
}

/// Checks that the memory for all runs of `options` is within its limit. Nothing is run.
///
/// # Errors
/// As [`run`].
pub fn admit(host: &dyn Host, loaded: &Loaded, options: &RunOptions) -> Result<(), Error> {
    let RunOptions { packets, samples, .. } = *options;
    let estimate = host.check(&loaded.scenario, &Observe { packets, samples, ..options.observe() });
    let admitted = estimate.and_then(|estimate| estimate.admit(options.runs.max(1).into(), options.memory));
    admitted.map_err(|refusal| loaded.places.refuse(&refusal.key, refusal.why))
}

/// Every packet and register of the first run of `options`.
///
/// # Errors
/// As [`run`].
pub fn trace(host: &dyn Host, loaded: &Loaded, options: &RunOptions) -> Result<Recording, Error> {
    let options = RunOptions { runs: 1, packets: true, samples: false, ..*options };
    Ok(run(host, loaded, &options, &Silent)?.recording.expect("packets were asked for"))
}

/// The first flow of a scenario over time, run once under the scenario's own seed.
///
/// # Errors
/// As [`run`], and if the scenario has no flow.
pub fn over_time(host: &dyn Host, loaded: &Loaded) -> Result<FlowOverTime, Error> {
    let Loaded { scenario, places } = loaded;
    let observe = Observe { flow: Some(FlowChoice::First), ..Observe::default() };
    let run = host.run(scenario, scenario.seed, &observe);
    let refused = |refusal: Refusal| places.refuse(&refusal.key, refusal.why);
    let run = run.map_err(|halt| Error::from(halt.map(refused)))?;
    Ok(run.flow.expect("a flow was asked for"))
}

/// Runs a scenario on a host, under as many seeds as `options` ask for.
///
/// # Errors
/// [`Refusal`] if the scenario asks for more than the host has, or the runs take more memory than the limit. [`Halt::Stopped`] if the
/// user ended the runs.
pub fn run_scenario(
    host: &dyn Host,
    scenario: &Scenario,
    options: &RunOptions,
    progress: &dyn Progress,
) -> Result<Made, Halt<Refusal>> {
    let first = options.seed.unwrap_or(scenario.seed);
    let runs = u64::from(options.runs.max(1));
    let seeds: Vec<u64> = (0..runs).map(|i| first.wrapping_add(i)).collect();
    let Room { each, threads } = Room::of(host, scenario, options)?;
    let threads = threads.min(options.threads);
    // Several runs have a thread each.
    let within = if runs == 1 { threads.min(parallel::idle()) } else { 1 };
    let observe = Observe { memory: each, threads: within, timings: options.timings, ..options.observe() };
    let (packets, samples) = (options.packets, options.samples);
    progress.begin("runs", seeds.len() as u64);
    let watch = Stopwatch::start();
    let one = |seed: u64, observe: &Observe| {
        let run = host.run(scenario, seed, observe)?;
        progress.advance(1);
        Ok::<_, Halt<Refusal>>(run)
    };
    let totals = |run: Run| (run.result, run.timings);
    let made = with_threads(threads, || {
        // A run that is recorded takes more memory, and is made alone.
        let alone = match packets || samples {
            true => Some(one(first, &Observe { packets, samples, ..options.observe() })?),
            false => None,
        };
        let others = &seeds[usize::from(alone.is_some())..];
        let others = try_map(others, |&seed| Ok::<_, Halt<Refusal>>(totals(one(seed, &observe)?)))?;
        // The cost is that of threads that live.
        Ok::<_, Halt<Refusal>>((alone, others, watch.stop()))
    });
    progress.finish();
    let (alone, others, (cpu_s, wall_s)) = made?;
    let (own, samples, recording) = match alone {
        Some(Run { result, samples, recording, .. }) => (Some(result), samples, recording),
        None => (None, vec![], None),
    };
    let (others, timings): (Vec<_>, Vec<_>) = others.into_iter().unzip();
    let timings = timings.into_iter().next().flatten().filter(|_| runs == 1);
    let mut results: Vec<RunResult> = own.into_iter().chain(others).collect();
    let packet_hops = results.iter().map(|r| r.engine.packet_hops).sum();
    let engine = EngineResult { packet_hops, cpu_s: Some(cpu_s), wall_s: Some(wall_s) };
    if results.len() == 1 {
        let result = RunResult { engine, ..results.swap_remove(0) };
        return Ok(Made { result, samples, recording, timings });
    }
    let means = Some(means(&seeds, &results));
    let first = results[0].clone();
    Ok(Made { result: RunResult { engine, means, runs: results, ..first }, samples, recording, timings })
}

/// Division of the memory among runs.
struct Room {
    /// Limit of each run, bytes.
    each: u64,
    /// Runs that may be made at the same time.
    threads: usize,
}

impl Room {
    /// The limit divided among the runs of `options`.
    fn of(host: &dyn Host, scenario: &Scenario, options: &RunOptions) -> Result<Self, Refusal> {
        let runs = u64::from(options.runs.max(1));
        if runs == 1 {
            // The run checks the same limit itself. A check before it would build the network twice.
            return Ok(Self { each: options.memory, threads: usize::MAX });
        }
        let estimate = host.check(scenario, &options.observe())?;
        estimate.admit(runs, options.memory)?;
        let each = estimate.share(runs, options.memory);
        Ok(Self { each, threads: estimate.threads(runs, options.memory) })
    }
}

fn means(seeds: &[u64], results: &[RunResult]) -> RunMeans {
    let over = |value: &dyn Fn(&RunResult) -> f64| mean(results.iter().map(value));
    // If the number of flows is random, means are over the flows that every run has.
    let named: Vec<BTreeMap<&str, &FlowResult>> =
        results.iter().map(|r| r.flows.iter().map(|flow| (&flow.name[..], flow)).collect()).collect();
    let flows = results[0].flows.iter().filter_map(|first| {
        let all: Vec<&FlowResult> =
            named.iter().map(|run| run.get(&first.name[..]).copied()).collect::<Option<_>>()?;
        let of = |value: &dyn Fn(&FlowResult) -> f64| mean(all.iter().map(|flow| value(flow)));
        let completions: Vec<f64> = all.iter().filter_map(|flow| flow.completion_s).collect();
        let finite = all.iter().filter(|flow| flow.size_bytes.is_some()).count();
        Some(FlowMeans {
            name: first.name.clone(),
            unfinished: (finite - completions.len()) as u32,
            completion_s: (!completions.is_empty()).then(|| mean(completions.iter().copied())),
            delivered_packets: of(&|f| f.delivered_packets as f64),
            goodput_bit_s: of(&|f| f.goodput_bit_s),
            retransmits: of(&|f| f.retransmits as f64),
            timeouts: of(&|f| f.timeouts as f64),
            lost_packets: of(&|f| f.lost_packets as f64),
        })
    });
    let links = (0..results[0].links.len()).map(|i| {
        let of = |value: &dyn Fn(&LinkResult) -> f64| mean(results.iter().map(|r| value(&r.links[i])));
        LinkMeans {
            name: results[0].links[i].name.clone(),
            utilization: of(&|l| l.utilization),
            drops: of(&|l| l.drops as f64),
            marks: of(&|l| l.marks as f64),
            mean_queue_packets: of(&|l| l.mean_queue_packets),
        }
    });
    RunMeans {
        count: results.len() as u32,
        seeds: seeds.to_vec(),
        flows: flows.collect(),
        links: links.collect(),
        fairness_jain: over(&|r| r.fairness_jain),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Mean {
    let values: Vec<f64> = values.collect();
    let (mean, ci95) = mean_ci95(&values);
    Mean { mean, ci95 }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::memory::Estimate;
    use crate::simulator::Simulator;
    use firstflight_scenario::parse;

    fn run_text(text: &str, runs: u32) -> RunResult {
        let loaded = parse(text, "test.toml").expect("a valid scenario");
        let options = RunOptions { runs, ..RunOptions::default() };
        run(&Simulator, &loaded, &options, &Silent).expect("the simulator can run it").result
    }

    const ONE: &str = r#"
        duration = "20 s"
        [path]
        rate = "40 Mbit/s"
        rtt = "100 ms"
        buffer = "500 packets"
        [packet]
        size = "1000 B"
        [[flow]]
        name = "bulk"
        profile = "ns2"
        initial_ssthresh = "32 packets"
        recovery = "newreno"
    "#;

    fn refusal(made: Result<Made, Halt<Refusal>>) -> Option<Refusal> {
        match made {
            Err(Halt::Failed(refusal)) => Some(refusal),
            _ => None,
        }
    }

    /// The simulator, with the number of scenarios that were only checked.
    #[derive(Default)]
    struct Counting(AtomicU32);

    impl Host for Counting {
        fn name(&self) -> &'static str {
            Simulator.name()
        }

        fn offers(&self) -> firstflight_contract::Signals {
            Simulator.offers()
        }

        fn check(&self, scenario: &Scenario, observe: &Observe) -> Result<Estimate, Refusal> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Simulator.check(scenario, observe)
        }

        fn draws(&self, scenario: &Scenario) -> bool {
            Simulator.draws(scenario)
        }

        fn run(&self, scenario: &Scenario, seed: u64, observe: &Observe) -> Result<Run, Halt<Refusal>> {
            Simulator.run(scenario, seed, observe)
        }
    }

    #[test]
    fn a_single_run_builds_its_network_once_and_is_refused_like_many() {
        let scenario = parse(ONE, "test.toml").expect("a valid scenario").scenario;
        let checks = |runs, memory| {
            let (host, options) = (Counting::default(), RunOptions { runs, memory, ..RunOptions::default() });
            let refusal = refusal(run_scenario(&host, &scenario, &options, &Silent));
            (host.0.into_inner(), refusal)
        };
        assert_eq!(checks(1, memory::DEFAULT), (0, None));
        assert_eq!(checks(2, memory::DEFAULT), (1, None));
        let ((_, one), (_, two)) = (checks(1, 1), checks(2, 1));
        let (one, two) = (one.expect("one byte is too little"), two.expect("one byte is too little"));
        assert_eq!(one.key, two.key);
    }

    #[test]
    fn adaptive_starts_base_case_uses_a_quarter_of_the_link() {
        // AS Table 1: 23.2 % of 40 Mbit/s at 100 ms, payload counted 960 of 1000 bytes; within 5 %.
        let result = run_text(ONE, 1);
        let utilization = result.flows[0].delivered_bytes as f64 * 8.0 / (20.0 * 40e6);
        assert!((utilization / 0.232 - 1.0).abs() < 0.05, "{utilization}");
        let exit = result.flows[0].startup_exit.expect("slow start ended");
        assert_eq!((exit.cwnd_packets, exit.reason.label()), (32.0, "threshold"));
        assert_eq!(exit.bdp_packets, 500.0);
    }

    #[test]
    fn a_finite_flow_ends_the_run_and_delivers_every_byte() {
        let text = r#"
            [path]
            rate = "10 Mbit/s"
            rtt = "50 ms"
            buffer = "100 packets"
            [[flow]]
            size = "30 KB"
            profile = "rfc"
            receiver = "ack-every-packet"
        "#;
        let result = run_text(text, 1);
        let flow = &result.flows[0];
        assert_eq!((flow.delivered_bytes, flow.retransmits), (30_000, 0));
        // 21 segments of 1460 bytes: ten in the first round, the rest in the second. Two round trips, plus the
        // second round's eleven packets at 1.2 ms each behind each other, within one packet time and the ACK's.
        let expected = 0.1 + 11.0 * 1500.0 * 8.0 / 10e6;
        let completion = flow.completion_s.expect("finished");
        assert!((completion - expected).abs() < 0.003, "{completion} {expected}");
        assert_eq!(flow.first_flight_packets, 10);
    }

    #[test]
    fn a_connection_that_idles_starts_again_from_its_initial_window_unless_it_keeps_it() {
        let text = |idle_restart: &str| {
            format!(
                r#"
                [path]
                rate = "10 Mbit/s"
                rtt = "100 ms"
                buffer = "200 packets"
                [packet]
                size = "1000 B"
                [[flow]]
                profile = "ns2"
                size = "31 packets"
                rounds = {{ count = 3, idle = "5 s" }}
                idle_restart = "{idle_restart}"
                "#
            )
        };
        // 31 packets from a window of 1: rounds of 1, 2, 4, 8 and 16, five round trips. A window that was kept is
        // 32 by then: one round trip, and 31 packets of 0.8 ms each behind each other.
        let rounds = |idle_restart| run_text(&text(idle_restart), 1).flows[0].rounds_s.clone();
        let restarted = rounds("restart");
        assert_eq!(restarted.len(), 3);
        assert!(restarted.iter().all(|t| (0.5..0.53).contains(t)), "{restarted:?}");
        let kept = rounds("keep");
        assert!((0.5..0.53).contains(&kept[0]), "{kept:?}");
        assert!(kept[1..].iter().all(|t| (0.124..0.13).contains(t)), "{kept:?}");
        // Paced: 24 of the 32 over a round trip, the other seven with the first four ACKs, 12.5 ms later, and a round
        // trip until they are acknowledged: 214 ms. The 31 ACKs make the window 55 (ns-2 grows what does not limit), of
        // which 41 may be paced: 31 packets, 2.44 ms apart, and a round trip: 174 ms.
        let paced = rounds("pace");
        assert!((0.212..0.217).contains(&paced[1]) && (0.172..0.177).contains(&paced[2]), "{paced:?}");
        // Five seconds are many timeouts: validation leaves one packet, and the same five rounds.
        let validated = rounds("validate");
        assert!(validated.iter().all(|t| (0.5..0.53).contains(t)), "{validated:?}");
    }

    #[test]
    fn data_with_the_handshake_saves_a_round_trip_and_completion_shows_it() {
        // 20 packets of 960 bytes in an initial window of 10, in 0.8 ms each: ten in the first round trip, and ten in the
        // second, acknowledged 100 ms and their 8 ms later.
        let flow = |word: &str| {
            let text = format!(
                r#"
                [path]
                rate = "10 Mbit/s"
                rtt = "100 ms"
                buffer = "200 packets"
                [packet]
                size = "1000 B"
                [[flow]]
                size = "20 packets"
                receiver = "ack-every-packet"
                data_in_syn = "{word}"
                "#
            );
            run_text(&text, 1).flows.remove(0)
        };
        let [never, tfo, ttcp] = ["never", "tfo", "t/tcp"].map(flow);
        let completion = |flow: &FlowResult| flow.completion_s.expect("finished");
        assert!((0.207..0.211).contains(&completion(&never)), "{never:?}");
        // The whole flight of the first round trip leaves before the clock begins: only the second is left, with the
        // 8 ms that the answer to a flight takes longer than that to a bare SYN.
        assert!((0.107..0.112).contains(&completion(&ttcp)), "{ttcp:?}");
        // One packet leaves before: 10 and then 9, the last of them 0.8 ms sooner.
        let saved = completion(&never) - completion(&tfo);
        assert!((0.0..0.002).contains(&saved), "{tfo:?}");
        assert_eq!(
            (never.first_flight_packets, tfo.first_flight_packets, ttcp.first_flight_packets),
            (10, 1, 10)
        );
    }

    #[test]
    fn a_pace_after_idle_times_is_refused_by_its_own_key() {
        let refused = |flow: &str| {
            let text = format!(
                "[path]\nrate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"50 packets\"\n[[flow]]\nsize = \"20 packets\"\n{flow}"
            );
            let scenario = parse(&text, "test.toml").expect("a valid scenario").scenario;
            refusal(run_scenario(&Simulator, &scenario, &RunOptions::default(), &Silent))
                .expect("refused")
                .key
        };
        assert_eq!(refused("profile = \"quinn\"\nidle_restart = \"pace\"\n"), "flow[0].idle_restart");
        assert_eq!(refused("profile = \"quinn\"\nstartup = \"jump-start\"\n"), "flow[0].startup");
    }

    #[test]
    fn start_up_that_ends_before_the_handshake_ends_with_it() {
        // A threshold of ten packets ends slow start as the first data leaves, with the SYN, a round trip before the start.
        let text = r#"
            [path]
            rate = "10 Mbit/s"
            rtt = "100 ms"
            buffer = "50 packets"
            [[flow]]
            size = "20 packets"
            initial_window = "10 packets"
            initial_ssthresh = "10 packets"
            data_in_syn = "t/tcp"
        "#;
        let flow = run_text(text, 1).flows.remove(0);
        let exit = flow.startup_exit.expect("slow start ended");
        assert_eq!((exit.time_s, exit.cwnd_packets), (0.0, 10.0));
    }

    #[test]
    fn a_flow_whose_time_has_not_come_has_no_share_of_the_fairness() {
        let fairness = |more: &str| {
            let text = format!("{ONE}\n[[flow]]\nname = \"two\"\nprofile = \"ns2\"\nstart = \"1 s\"\n{more}");
            run_text(&text, 1).fairness_jain
        };
        let late = "[[flow]]\nname = \"late\"\nprofile = \"ns2\"\nstart = \"20 s\"\n";
        assert_eq!(fairness(late), fairness(""));
        assert!(fairness("") < 1.0);
    }

    /// Debug builds assert that no packet comes before the time to which a stage has run ahead.
    #[test]
    fn a_queue_that_decides_at_dequeue_runs_ahead_by_whole_nanoseconds_only() {
        // At 694 bit/s a packet of 1500 bytes takes 17291066282.42 ns.
        let text = r#"
            duration = "5809 s"
            [path]
            rate = "694 bit/s"
            rtt = "185 ms"
            buffer = "1000 packets"
            queue = { kind = "choke", min = "34 packets", max = "52 packets" }
            [[flow]]
            profile = "linux"
            [[udp]]
            size = "1423 B"
            rate = "293 bit/s"
        "#;
        // 694 bit/s for 5809 s are 335.96 packets of 1500 bytes.
        let run = run_text(text, 1);
        assert!((0.9..=1.0).contains(&run.links[0].utilization), "{:?}", run.links[0]);
    }

    #[test]
    fn a_sender_of_linux_learns_from_others_without_a_window_in_common() {
        let text = r#"
            [path]
            rate = "10 Mbit/s"
            rtt = "20 ms"
            buffer = "50 packets"
            [[flow]]
            profile = "linux"
            startup = "spand"
            avoidance = "reno"
            size = "30 KB"
            rounds = { count = 2, idle = "1 s" }
        "#;
        let flow = run_text(text, 1).flows.remove(0);
        assert_eq!((flow.rounds_s.len(), flow.delivered_bytes), (2, 60_000));
    }

    #[test]
    fn two_rules_for_the_window_after_an_idle_time_are_refused() {
        for (scheme, word) in [
            ("startup = \"rate-based-pacing\"", "keep"),
            ("startup = \"rate-based-pacing\"", "validate"),
            ("profile = \"linux\"\nstartup = \"bbr\"", "pace"),
        ] {
            let text = format!(
                "duration = \"1 s\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n\
                 [[flow]]\n{scheme}\nidle_restart = \"{word}\"\n"
            );
            let loaded = parse(&text, "test.toml").expect("valid as a scenario");
            let options = RunOptions::default();
            let message = run(&Simulator, &loaded, &options, &Silent).expect_err("refused").to_string();
            assert!(message.contains("idle_restart") && message.contains(word), "{message}");
        }
    }

    #[test]
    fn several_runs_of_a_random_path_give_means_with_students_intervals() {
        let text = ONE.replace("buffer =", "loss = 0.001\nbuffer =");
        let result = run_text(&text, 4);
        let means = result.means.expect("means");
        assert_eq!((means.count, means.seeds.len()), (4, 4));
        let of: Vec<f64> = result.runs.iter().map(|run| run.flows[0].goodput_bit_s).collect();
        // The squares of the differences of all pairs add up to n times the sum of squares about the mean.
        let apart: f64 = of.iter().flat_map(|a| of.iter().map(move |b| (a - b) * (a - b))).sum::<f64>() / 2.0;
        // Table of Student's t: 3.182446 at 97.5 % with three degrees of freedom. Standard error: (apart / 4 / 3 / 4)^0.5.
        let (mean, half) = (of.iter().sum::<f64>() / 4.0, 3.182446 * (apart / 48.0).sqrt());
        assert!(half > 0.0, "the path is random: {of:?}");
        let goodput = means.flows[0].goodput_bit_s;
        let [low, high] = goodput.ci95.expect("an interval");
        for (is, expected) in [(goodput.mean, mean), (low, mean - half), (high, mean + half)] {
            assert!((is - expected).abs() < 1e-6 * half, "{is}, expected {expected}");
        }
    }

    #[test]
    fn several_runs_list_every_run_as_it_is_under_its_own_seed() {
        let text = ONE.replace("buffer =", "loss = 0.001\nbuffer =");
        let result = run_text(&text, 3);
        assert_eq!(result.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [1, 2, 3]);
        let last = run_text(&text.replacen("duration", "seed = 3\nduration", 1), 1);
        assert_eq!((&result.flows, &result.runs[2].flows), (&result.runs[0].flows, &last.flows));
        assert_eq!(result.runs[2].links, last.links);
        let delivered = |run: &RunResult| run.flows[0].delivered_packets as f64;
        let mean = result.runs.iter().map(delivered).sum::<f64>() / 3.0;
        let means = result.means.expect("means");
        assert!((means.flows[0].delivered_packets.mean - mean).abs() < 1e-9, "{mean}");
        let hops: u64 = result.runs.iter().map(|run| run.engine.packet_hops).sum();
        assert_eq!((result.engine.packet_hops, result.runs[0].engine.cpu_s), (hops, None));
    }

    #[test]
    fn samples_are_the_first_run_over_time() {
        let loaded =
            parse(&ONE.replace("[[flow]]", "[[flow]]\ncount = 2"), "test.toml").expect("a valid scenario");
        let options = RunOptions { samples: true, ..RunOptions::default() };
        let made = run(&Simulator, &loaded, &options, &Silent).expect("the simulator can run it");
        let Made { result, samples: rows, .. } = made;
        for flow in &result.flows {
            let of: Vec<_> = rows.iter().filter(|row| row.flow == flow.name).collect();
            assert!(
                of.len() > 100 && of.is_sorted_by(|a, b| a.time_s <= b.time_s),
                "{} {}",
                flow.name,
                of.len()
            );
            let widest = of.iter().filter_map(|row| row.cwnd_packets).fold(0.0, f64::max);
            assert!(widest <= flow.max_cwnd_packets && widest > 0.9 * flow.max_cwnd_packets, "{widest}");
        }
        assert!(rows.iter().all(|row| row.run == 0));
    }

    #[test]
    fn what_the_simulator_lacks_is_refused_with_its_place() {
        let text = ONE.replace("recovery = \"newreno\"", "startup = \"jump-start\"");
        let loaded = parse(&text, "test.toml").expect("valid as a scenario");
        let options = RunOptions::default();
        let message = run(&Simulator, &loaded, &options, &Silent).expect_err("no handshake").to_string();
        assert!(message.contains("test.toml:13") && message.contains("handshake"), "{message}");
    }

    #[test]
    fn rules_that_a_stack_does_not_have_are_refused_with_their_place() {
        let on = |profile: &str, key: &str| {
            let text = ONE.replace("\"ns2\"", &format!("\"{profile}\"")).replace("1000 B", "1500 B");
            let text = text.replace("recovery = \"newreno\"", key);
            let loaded = parse(&text, "test.toml").expect("valid as a scenario");
            run(&Simulator, &loaded, &RunOptions::default(), &Silent)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        for (key, place, rule) in [
            ("byte_counting = true", "flow[0].byte_counting = true", "count every byte acknowledged"),
            ("byte_counting = false", "flow[0].byte_counting = false", "expected no byte_counting"),
            ("limited_transmit = false", "flow[0].limited_transmit = false", "always have limited transmit"),
        ] {
            for profile in ["linux", "quinn"] {
                let message = on(profile, key).expect_err(key);
                assert!(message.contains(place) && message.contains(rule), "{message}");
            }
            for profile in ["rfc", "ns2"] {
                assert_eq!(on(profile, key), Ok(()));
            }
        }
        assert_eq!(on("linux", "limited_transmit = true"), Ok(()));
    }
}
