//! SPAND's first window against an exhaustive search over all first windows, simulated round trip by round
//! trip.

use firstflight_paths::policy::Epoch;

/// Round trips of `f` segments from window `w`: `b` at each window up to `wc`, then half of it.
fn round_trips(wc: u64, b: u64, f: u64, mut w: u64) -> u64 {
    let (mut left, mut n, mut at_this_window) = (f, 0, 0);
    while left > 0 {
        left = left.saturating_sub(w);
        n += 1;
        at_this_window += 1;
        if at_this_window == b {
            at_this_window = 0;
            w = if w == wc { (wc / 2).max(1) } else { w + 1 };
        }
    }
    n
}

/// Segments of an epoch, summed one window at a time.
fn epoch(wc: u64, b: u64) -> u64 {
    ((wc / 2).max(1)..=wc).map(|w| w * b).sum()
}

/// Every `W_c` up to 40 with every size up to an epoch.
fn cases(b: u64) -> impl Iterator<Item = (u64, u64)> {
    (1..=40).flat_map(move |wc| (1..=epoch(wc, b)).map(move |f| (wc, f)))
}

#[test]
fn with_an_ack_per_segment_no_window_is_faster() {
    for (wc, f) in cases(1) {
        let best = (1..=wc).map(|w| round_trips(wc, 1, f, w)).min();
        let optimum = Epoch::new(wc, 1).optimum(f);
        assert_eq!(Some(round_trips(wc, 1, f, optimum)), best, "Wc {wc}, F {f}, W {optimum}");
    }
}

#[test]
fn with_an_ack_per_two_segments_one_window_is_a_round_trip_faster_just_after_a_loss() {
    let (mut all, mut slower) = (0, 0);
    for (wc, f) in cases(2) {
        let best = (1..=wc).map(|w| round_trips(wc, 2, f, w)).min().expect("a window");
        let optimum = Epoch::new(wc, 2).optimum(f);
        let n = round_trips(wc, 2, f, optimum);
        all += 1;
        if n > best {
            slower += 1;
            assert_eq!(n, best + 1, "Wc {wc}, F {f}, W {optimum}");
            // The faster window is one segment larger: it meets the loss and ends with the first round trip
            // after it.
            assert_eq!(round_trips(wc, 2, f, optimum + 1), best, "Wc {wc}, F {f}, W {optimum}");
            let to_the_loss: u64 = (optimum + 1..=wc).map(|w| 2 * w).sum();
            assert!(to_the_loss < f && f <= to_the_loss + (wc / 2).max(1), "Wc {wc}, F {f}, W {optimum}");
        }
    }
    // 9.0 % of these sizes.
    assert_eq!((slower, all), (1630, 18_020));
}

#[test]
fn with_large_windows_that_holds_for_a_twelfth_of_the_sizes() {
    // Let W = x Wc be the theorem's window and d the rest of F after the windows W+1 ... Wc, 0 < d <= 2W. The
    // ramp takes 2(Wc - W) + 2 round trips, or one less if the last is not needed, d <= 2W - Wc. Starting at
    // W + 1 and ending after the loss takes one less if d <= Wc/2. So 2x - 1 < d/Wc <= 1/2 is slower, for x
    // from 1/2 to 3/4. As a share of the sizes: (integral of 3/2 - 2x from 1/2 to 3/4) / (integral of 2x from
    // 1/2 to 1) = (1/16) / (3/4) = 1/12.
    let wc = 400;
    let slower = (1..=epoch(wc, 2)).filter(|&f| {
        let optimum = Epoch::new(wc, 2).optimum(f);
        round_trips(wc, 2, f, (optimum + 1).min(wc)) < round_trips(wc, 2, f, optimum)
    });
    let share = slower.count() as f64 / epoch(wc, 2) as f64;
    assert!((share - 1.0 / 12.0).abs() < 0.002, "{share}");
}

#[test]
fn the_shift_is_the_smallest_window_with_as_many_round_trips() {
    for b in [1, 2] {
        for (wc, f) in cases(b) {
            let epoch = Epoch::new(wc, b);
            let n = round_trips(wc, b, f, epoch.optimum(f));
            let smallest = (1..=wc).find(|&w| round_trips(wc, b, f, w) <= n);
            assert_eq!(Some(epoch.shifted(f)), smallest, "Wc {wc}, b {b}, F {f}");
        }
    }
}

#[test]
fn within_an_epoch_the_shift_has_a_closed_form() {
    for b in [1, 2] {
        for (wc, f) in cases(b) {
            let epoch = Epoch::new(wc, b);
            let n = round_trips(wc, b, f, epoch.optimum(f));
            // Growth during n round trips, added to n times the first window: the sum of floor(k/b), k < n.
            let grown: u64 = (0..n).map(|k| k / b).sum();
            assert_eq!(epoch.shifted(f), (f - grown.min(f - 1)).div_ceil(n), "Wc {wc}, b {b}, F {f}");
        }
    }
}

#[test]
fn beyond_an_epoch_the_optimum_ends_with_one_and_the_shift_is_the_smallest_equally_fast_window() {
    for (b, wc) in [(1, 10), (1, 13), (2, 10), (2, 11)] {
        let limit = 3 * epoch(wc, b);
        for f in epoch(wc, b)..=limit {
            let epoch = Epoch::new(wc, b);
            let n = round_trips(wc, b, f, epoch.optimum(f));
            if b == 1 {
                assert_eq!(Some(n), (1..=wc).map(|w| round_trips(wc, b, f, w)).min(), "Wc {wc}, F {f}");
            }
            let smallest = (1..=epoch.optimum(f)).find(|&w| round_trips(wc, b, f, w) <= n);
            assert_eq!(Some(epoch.shifted(f)), smallest, "Wc {wc}, b {b}, F {f}");
        }
    }
}

#[test]
fn the_papers_transfers_of_30_and_60_packets_depend_little_on_the_estimate() {
    // Section "Shift optimization": the two figures over Wc, with one ACK per packet.
    let windows = |wc, f| (Epoch::new(wc, 1).optimum(f), Epoch::new(wc, 1).shifted(f));
    for wc in 16..30 {
        // 30 packets in two round trips: W + (W + 1) >= 30.
        assert_eq!(windows(wc, 30), (wc - 1, 15), "Wc {wc}");
    }
    for wc in 30..200 {
        assert_eq!(windows(wc, 30), (wc, 30), "Wc {wc}");
    }
    // 17 + 18 + 19 + 20 = 74 >= 60 > 57; 14 + 15 + 16 + 17 = 62 >= 60 > 58.
    assert_eq!(windows(20, 60), (17, 14));
    // 28 + 29 + 30 = 87 >= 60 > 59; 19 + 20 + 21 = 60.
    assert_eq!(windows(30, 60), (28, 19));
    // 39 + 40 = 79 >= 60 > 40; 30 + 31 = 61 >= 60 > 59.
    assert_eq!(windows(40, 60), (39, 30));
    assert_eq!(windows(60, 60), (60, 60));
}

#[test]
fn extreme_windows_and_sizes_do_not_overflow() {
    for b in [0, 1, 2, u64::MAX] {
        for wc in [0, 1, 2, 1 << 20, u64::MAX] {
            for f in [0, 1, u64::MAX] {
                let epoch = Epoch::new(wc, b);
                assert!(epoch.shifted(f) <= epoch.optimum(f), "Wc {wc}, b {b}, F {f}");
                assert!((1..=wc.max(1)).contains(&epoch.shifted(f)), "Wc {wc}, b {b}, F {f}");
            }
        }
    }
}
