use super::*;

const MSS: u64 = 1448;

/// RFC 3649 appendix B: the windows from which on a(w) is 1, 2, 3, ..., and b(w) there in hundredths.
const TABLE: [(u64, u64); 73] = [
    (38, 50),
    (118, 44),
    (221, 41),
    (347, 38),
    (495, 37),
    (663, 35),
    (851, 34),
    (1058, 33),
    (1284, 32),
    (1529, 31),
    (1793, 30),
    (2076, 29),
    (2378, 28),
    (2699, 28),
    (3039, 27),
    (3399, 27),
    (3778, 26),
    (4177, 26),
    (4596, 25),
    (5036, 25),
    (5497, 24),
    (5979, 24),
    (6483, 23),
    (7009, 23),
    (7558, 22),
    (8130, 22),
    (8726, 22),
    (9346, 21),
    (9991, 21),
    (10661, 21),
    (11358, 20),
    (12082, 20),
    (12834, 20),
    (13614, 19),
    (14424, 19),
    (15265, 19),
    (16137, 19),
    (17042, 18),
    (17981, 18),
    (18955, 18),
    (19965, 17),
    (21013, 17),
    (22101, 17),
    (23230, 17),
    (24402, 16),
    (25618, 16),
    (26881, 16),
    (28193, 16),
    (29557, 15),
    (30975, 15),
    (32450, 15),
    (33986, 15),
    (35586, 14),
    (37253, 14),
    (38992, 14),
    (40808, 14),
    (42707, 13),
    (44694, 13),
    (46776, 13),
    (48961, 13),
    (51258, 13),
    (53677, 12),
    (56230, 12),
    (58932, 12),
    (61799, 12),
    (64851, 11),
    (68113, 11),
    (71617, 11),
    (75401, 10),
    (79517, 10),
    (84035, 10),
    (89053, 10),
    (94717, 9),
];

fn highspeed(segments: u64) -> (Highspeed, Control) {
    let mut phase = Highspeed::default();
    let mut control = Control { cwnd: segments * MSS, ..Control::default() };
    phase.enter(&Entry { mss: MSS as u32, ..Entry::default() }, &mut control);
    (phase, control)
}

fn ack(bytes: u64) -> Ack {
    Ack { acked: bytes, growth: bytes, mss: MSS as u32, ..Ack::default() }
}

/// a(w) and b(w) in floating point, from the RFC's text: p(w) = 0.078/w^1.2.
fn formula(w: f64) -> (f64, f64) {
    if w <= 38.0 {
        return (1.0, 0.5);
    }
    let b = (0.1 - 0.5) * (w / 38.0).ln() / (83_000.0_f64 / 38.0).ln() + 0.5;
    let p = 0.078 / w.powf(1.2);
    ((w * w * p * 2.0 * b / (2.0 - b)).max(1.0), b)
}

#[test]
fn the_increase_passes_each_whole_number_at_the_row_of_the_rfcs_table_and_the_decrease_is_the_rows() {
    for (i, (w, hundredths)) in TABLE.into_iter().enumerate() {
        let (phase, _) = highspeed(w);
        let log = |w: u64| phase.log_segments(w * MSS, MSS);
        let a = |w: u64| Highspeed::increase(log(w)) as f64 / 65_536.0;
        let (before, here, row) = (a(w - 1), a(w), (i + 1) as f64);
        // The exponents and 0.078 are rounded in the RFC's text: 0.2 % beyond the step from one window to the next.
        assert!(before * 0.998 <= row && row <= here * 1.002, "a({w}) is {before} to {here}, expected {row}");
        let b = Highspeed::decrease(log(w)) as f64 / 4_294_967_296.0;
        assert!((b * 100.0 - hundredths as f64).abs() <= 0.51, "b({w}) is {b}, expected 0.{hundredths}");
    }
}

#[test]
fn increase_and_decrease_follow_the_formula_between_the_rows_too() {
    let (phase, _) = highspeed(1);
    let mut w = 2;
    while w < 150_000 {
        let log = phase.log_segments(w * MSS, MSS);
        let (a, b) = formula(w as f64);
        let (a_is, b_is) =
            (Highspeed::increase(log) as f64 / 65_536.0, Highspeed::decrease(log) as f64 / 4_294_967_296.0);
        assert!((a_is / a - 1.0).abs() < 0.0002, "a({w}) is {a_is}, expected {a}");
        assert!((b_is / b - 1.0).abs() < 0.0002, "b({w}) is {b_is}, expected {b}");
        w += 1 + w / 50;
    }
}

#[test]
fn the_window_follows_the_recurrence_within_a_thousandth_whatever_an_ack_covers() {
    for (segments, acks) in [(10, 20_000), (38, 50_000), (1000, 200_000), (50_000, 1_000_000)] {
        for per_ack in [1, 2] {
            let (mut phase, mut control) = highspeed(segments);
            let mut w = segments as f64;
            for _ in 0..acks {
                let _ = phase.on_ack(&ack(per_ack * MSS), &mut control);
                w += formula(w).0 / w * per_ack as f64;
            }
            let is = control.cwnd as f64 / MSS as f64;
            assert!((is / w - 1.0).abs() < 0.001, "from {segments}, {per_ack} an ACK: {is}, expected {w}");
            // The test requires that the recurrence has moved.
            assert!(w > segments as f64 * 1.02, "{w}");
        }
    }
}

#[test]
fn a_loss_takes_half_of_a_small_window_and_a_tenth_of_a_large_one() {
    // b(83 000) = 0.1 and b(38) = 0.5 by definition; b halfway between them in logarithm, at
    // sqrt(38 * 83 000) = 1775.95 segments, is 0.3.
    for (base, kept) in [(83_000, 74_700.0), (1776, 1243.2), (38, 19.0), (10, 5.0), (3, 2.0), (1, 2.0)] {
        let (mut phase, mut control) = highspeed(base);
        let event = Congestion { base: base * MSS, mss: MSS as u32, ..Congestion::default() };
        assert_eq!(phase.on_congestion(&event, &mut control), Step::Stay);
        let is = control.cwnd as f64 / MSS as f64;
        assert!((is / kept - 1.0).abs() < 0.0001, "of {base} segments {is} stay, expected {kept}");
        assert_eq!(control.ssthresh, control.cwnd);
    }
}

#[test]
fn beyond_the_table_a_larger_window_never_grows_more_slowly_and_never_overflows() {
    let (phase, _) = highspeed(1);
    let (mut window, mut last) = (1, 0);
    while window < 1 << 62 {
        let increase = Highspeed::increase(phase.log_segments(window, MSS));
        assert!(increase >= last, "at {window} bytes {increase} after {last}");
        last = increase;
        window += 1 + window / 100;
    }
    let (mut phase, mut control) = highspeed(1);
    control.cwnd = 1 << 46;
    let _ = phase.on_ack(&ack(1 << 46), &mut control);
    assert!(control.cwnd > 1 << 46 && control.cwnd < 1 << 47);
}

#[test]
fn the_window_does_not_grow_during_recovery() {
    let (mut phase, mut control) = highspeed(100);
    for _ in 0..1000 {
        let _ = phase.on_ack(&Ack { flags: Ack::RECOVERY, ..ack(MSS) }, &mut control);
    }
    assert_eq!(control.cwnd, 100 * MSS);
}
