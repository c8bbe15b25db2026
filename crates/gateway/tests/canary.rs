//! Canaries, in a time of the tests' own.

use crate::common::*;
use firstflight_contract::Nanos;
use firstflight_gateway::canary::{Change, Phase, Span, Step};
use firstflight_gateway::{Arm, Canary, Connection, Rules, Stage};
use firstflight_paths::Prefix;

const MINUTE: u64 = 60;
/// Wall time of the beginning, nanoseconds since 1970.
const WALL: u64 = 1_764_000_000_000_000_000;

fn rules() -> Rules {
    Rules {
        ports: vec![],
        cgroups: vec![],
        ramp: Rules::ramp("1 % 60 min, 5 % 240 min, 25 % 1440 min, 100 %").expect("a ramp"),
        retransmissions: 1.0,
        p95: 10.0,
        evidence: 200,
    }
}

/// A canary with its clocks, and connections of 100 segments.
struct Play {
    canary: Canary,
    now: u64,
    wall: u64,
    seed: u64,
}

impl Play {
    fn new(rules: Rules) -> Self {
        Self { canary: Canary::begin(rules, 7, WALL), now: 1000, wall: WALL, seed: 1 }
    }

    /// Lets a minute pass in ticks of a second.
    fn minute(&mut self, in_force: bool) -> Option<Change> {
        let ticks = (0..MINUTE).map(|_| {
            self.now += 1;
            self.wall += 1_000_000_000;
            self.canary.tick(Nanos::from_secs(self.now), self.wall, in_force)
        });
        ticks.flatten().last()
    }

    /// A number from 0 to 99, by a linear congruence.
    fn draw(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % 100
    }

    fn ends(&mut self, arm: Arm, busy: Nanos, retransmits: u32) {
        let connection = Connection { arm, stage: Stage::Ended, busy, ..exact(0.0, host(1), 20) };
        let connection =
            Connection { bytes: 100 * u64::from(MSS), sent: 100 + retransmits, retransmits, ..connection };
        self.canary.report(&connection);
    }

    /// Twenty connections, of which one is held out. Times are from 100 to 200 ms, by `slower` per cent more for planned ones, which
    /// retransmit `more` segments more.
    fn twenty(&mut self, slower: u64, more: u32) {
        for number in 0..20 {
            let time = Nanos::from_millis(100 + self.draw());
            let lost = u32::from(self.draw() < 10);
            match number {
                0 => self.ends(Arm::Holdout(30), time, lost),
                _ => self.ends(Arm::Planned(30), Nanos(time.0 * (100 + slower) / 100), lost + more),
            }
        }
    }

    /// Minutes, with 100 connections in each, until something changes.
    fn until_change(&mut self, most: u64, slower: u64, more: u32) -> (u64, Option<Change>) {
        for minute in 1..=most {
            (0..5).for_each(|_| self.twenty(slower, more));
            if let Some(change) = self.minute(true) {
                return (minute, Some(change));
            }
        }
        (most, None)
    }
}

fn network(number: u32) -> Prefix {
    format!("{}.{}.{}.0/24", 1 + number / 65_536, number / 256 % 256, number % 256).parse().expect("a prefix")
}

#[test]
fn a_ramp_without_harm_goes_through_its_steps_and_ends() {
    let mut play = Play::new(rules());
    let mut shares = vec![play.canary.share()];
    for minutes in [60, 240, 1440] {
        // The first tick of all begins the clock, so that the first step ends a tick later.
        let (passed, change) = play.until_change(minutes + 1, 0, 0);
        assert_eq!(change, Some(Change::Next));
        assert!(passed.abs_diff(minutes) <= 1, "{passed} of {minutes}");
        shares.push(play.canary.share());
    }
    assert_eq!(shares, [10, 50, 250, 1000]);
    // The last step has no time.
    assert_eq!(play.until_change(3000, 0, 0), (3000, None));
    assert_eq!(play.canary.phase(), &Phase::Running);
    let mut play =
        Play::new(Rules { ramp: Rules::ramp("50 % 10 min").expect("a ramp"), evidence: 10, ..rules() });
    let (passed, change) = play.until_change(11, 0, 0);
    assert!(matches!((passed, change), (10 | 11, Some(Change::Finished))));
    assert_eq!((play.canary.share(), play.canary.waits_for()), (500, None), "its share stays");
    assert!(
        matches!(play.canary.phase(), Phase::Finished(at) if at.abs_diff(WALL + 600_000_000_000) < 2_000_000_000)
    );
}

#[test]
fn a_step_waits_for_its_evidence_and_for_plans_in_force() {
    let mut play = Play::new(Rules { evidence: 10, ..rules() });
    for _ in 0..120 {
        assert_eq!(play.minute(true), None, "no connection was held out");
    }
    assert_eq!(play.canary.waits_for().as_deref(), Some("10 more held-out connections"));
    for _ in 0..2 {
        (0..5).for_each(|_| play.twenty(0, 0));
    }
    assert_eq!(play.minute(true), Some(Change::Next));
    // While plans are stopped, no time passes.
    (0..10).for_each(|_| play.twenty(0, 0));
    for _ in 0..300 {
        assert_eq!(play.minute(false), None);
    }
    assert_eq!(play.canary.waits_for().map(|text| text.ends_with("s of its time")), Some(true));
    // A pause of the gateway, or a clock that jumps, is a minute at most.
    play.now += 1_000_000;
    assert_eq!(play.minute(true), None);
    let (_, course) = play.canary.steps().last().expect("a step");
    // The step began with the first tick of a minute, and the jump is one tick: 59 + 60 + 59 s.
    assert_eq!(course.ran.0, Nanos::from_secs(178));
}

#[test]
fn planned_connections_that_take_longer_stop_the_ramp() {
    let mut play = Play::new(rules());
    let (minutes, change) = play.until_change(600, 40, 0);
    let Some(Change::Stopped(why)) = change else { panic!("it goes on") };
    // Five connections are held out in a minute: 200 after 40 minutes, 400 after 80.
    assert!([40, 80, 160].iter().any(|look| minutes.abs_diff(*look) <= 1), "{minutes}");
    assert!(why.starts_with("the 95th percentile of connections of 45 to 199 segments is 0.2"), "{why}");
    assert_eq!((play.canary.share(), play.canary.has(&network(5))), (0, false), "no network is in it");
    assert!(matches!(play.canary.phase(), Phase::Stopped(_, kept) if *kept == why));
    // A stopped canary stays stopped, and counts no further.
    let before = play.canary.clone();
    assert_eq!(play.until_change(100, 0, 0), (100, None));
    assert_eq!(play.canary.compare(0), before.compare(0));
}

#[test]
fn planned_connections_that_lose_more_stop_the_ramp() {
    let mut play = Play::new(rules());
    // Three segments of 100 more: 2.9 points, of which one is allowed.
    let (minutes, change) = play.until_change(600, 0, 3);
    let Some(Change::Stopped(why)) = change else { panic!("it goes on") };
    assert!(minutes.abs_diff(40) <= 1, "{minutes}");
    assert!(
        why.starts_with("planned connections retransmit 3.0") && why.contains("held-out ones 0."),
        "{why}"
    );
    let found = play.canary.compare(0).expect("a step").retransmissions.expect("segments");
    // By hand: 3.1 of 103.1 and 0.1 of 100.1 segments. Of 200 held-out connections 20 lose a segment in the mean, with a deviation of 4.2.
    assert!((found.planned - 3.0068).abs() < 0.05 && (found.holdout - 0.0999).abs() < 0.085, "{found:?}");
    assert!(found.interval.0 > 1.0 && found.interval.1 < 4.0, "{found:?}");
}

#[test]
fn harm_within_the_bounds_stops_nothing() {
    // A half per cent of segments more, and times 5 % later: both are allowed.
    let mut play = Play::new(rules());
    let lost = Rules { retransmissions: 2.0, ..rules() };
    assert_eq!(play.until_change(61, 5, 0).1, Some(Change::Next));
    let mut play = Play::new(lost);
    assert_eq!(play.until_change(61, 0, 1).1, Some(Change::Next));
}

#[test]
fn ramps_without_an_effect_are_seldom_stopped() {
    let mut stopped = 0;
    for seed in 0..100 {
        // Bounds of zero: every worse figure counts. The error allows 5 of 100; more than 11 have a probability of 0.4 % (binomial).
        let strict = Rules {
            retransmissions: 0.0,
            p95: 0.0,
            ramp: Rules::ramp("100 % 300 min").expect("a ramp"),
            ..rules()
        };
        let mut play = Play { seed, ..Play::new(strict) };
        let (_, change) = play.until_change(301, 0, 0);
        stopped += usize::from(matches!(change, Some(Change::Stopped(_))));
    }
    assert!(stopped <= 11, "{stopped} of 100");
}

#[test]
fn a_network_stays_in_and_shares_are_as_stated() {
    let of = |share: &str, key| {
        let ramp = Rules::ramp(share).expect("a ramp");
        let canary = Canary::begin(Rules { ramp, ..rules() }, key, WALL);
        (0..20_000).map(|number| canary.has(&network(number))).collect::<Vec<_>>()
    };
    let mut before = vec![false; 20_000];
    for (text, share) in [("1 %", 0.01), ("5 %", 0.05), ("25 %", 0.25), ("100 %", 1.0)] {
        let now = of(text, 7);
        assert!(before.iter().zip(&now).all(|(before, now)| !before || *now), "{text}: a network went out");
        let count = now.iter().filter(|has| **has).count() as f64;
        // Four standard deviations of a binomial distribution.
        assert!(
            (count - 20_000.0 * share).abs() <= 4.0 * f64::sqrt(20_000.0 * share * (1.0 - share)),
            "{text}: {count}"
        );
        before = now;
    }
    let (one, other) = (of("50 %", 7), of("50 %", 8));
    let both = one.iter().zip(&other).filter(|(one, other)| **one && **other).count();
    assert!((4700..=5300).contains(&both), "another key chooses other networks: {both}");
}

#[test]
fn a_saved_canary_goes_on_where_it_was() {
    let mut play = Play::new(rules());
    assert_eq!(play.until_change(61, 0, 0).1, Some(Change::Next));
    for _ in 0..100 {
        (0..5).for_each(|_| play.twenty(0, 0));
        assert_eq!(play.minute(true), None);
    }
    let text = serde_json::to_string(&play.canary).expect("JSON");
    let restored: Canary = serde_json::from_str(&text).expect("the same");
    assert!(restored.is_sound());
    assert_eq!((restored.share(), restored.compare(1)), (50, play.canary.compare(1)));
    // The machine was off for a month, and its clock since boot begins anew: the step has 140 minutes left.
    let mut play = Play { canary: restored, now: 5, wall: WALL, seed: 3 };
    let (minutes, change) = play.until_change(200, 0, 0);
    assert_eq!(change, Some(Change::Next));
    assert!((139..=141).contains(&minutes), "{minutes}");
    // One that was stopped stays stopped.
    play.canary.stop(WALL, "by an order".to_owned());
    let text = serde_json::to_string(&play.canary).expect("JSON");
    let restored: Canary = serde_json::from_str(&text).expect("the same");
    assert_eq!((restored.share(), restored.phase()), (0, &Phase::Stopped(WALL, "by an order".to_owned())));
}

#[test]
fn ramps_are_read_and_bad_ones_refused() {
    let step = |share, minutes: u64| Step {
        share,
        time: (minutes > 0).then(|| Span(Nanos::from_secs(60 * minutes))),
    };
    let read = Rules::ramp("1 % 60 min, 5% 240 min,25 % 1440 min, 100 %").expect("a ramp");
    assert_eq!(read, [step(10, 60), step(50, 240), step(250, 1440), step(1000, 0)]);
    assert_eq!(Rules::ramp("0.5 %").expect("a ramp"), [step(5, 0)]);
    let refused = |text: &str| match Rules::ramp(text) {
        Err((why, _)) => why,
        Ok(ramp) => Rules { ramp, ..rules() }.check().expect_err("refused").why,
    };
    for (text, why) in [
        ("", "\"\" has no share"),
        ("5", "\"5\" has no share"),
        ("x % 1 min", "\"x\" is no share"),
        ("0 %", "0 % is out of range"),
        ("0.25 %", "0.25 % is out of range"),
        ("101 %", "101 % is out of range"),
        ("NaN %", "NaN % is out of range"),
        ("1 % 5 parsecs, 2 %", "\"5 parsecs\" is no time of a step"),
        ("1 % 0 s, 2 %", "\"0 s\" is no time of a step"),
        ("1 %, 2 %", "step 1 has no time"),
        ("2 % 1 min, 2 %", "step 2: its share is no greater than the one before"),
        (
            "1 % 1 s,2 % 1 s,3 % 1 s,4 % 1 s,5 % 1 s,6 % 1 s,7 % 1 s,8 % 1 s,9 % 1 s,10 % 1 s,11 % 1 s,12 % 1 s,13 % 1 s,14 % 1 s,15 % 1 s,16 % 1 s,17 %",
            "it has 17 steps",
        ),
    ] {
        assert_eq!(refused(text), why, "{text}");
    }
}
