//! Rules by hand: the rise of the RTT, frequent and single losses, the curve, the pacer, and a window that is resumed.

use super::CubicPicoquic;
use crate::scheme::{Scheme as _, Value};
use firstflight_contract::{Ack, Control, Entry, Exit, Lost, Nanos, Phase, Rate, Step};

const MSS: u64 = 1_440;
const MS: u64 = 1_000;

/// A connection at the time `us` after the clock began, with a smoothed RTT of `rtt`.
struct Connection {
    scheme: CubicPicoquic,
    control: Control,
    now: u64,
    delivered: u64,
}

impl Connection {
    fn begin(now: u64, rtt: u64, seed: u32) -> Self {
        let mut scheme = CubicPicoquic::default();
        scheme.set("seed_window", Value::Number(seed.into()));
        let mut control = Control { cwnd: 15_360, ..Control::default() };
        let entry = Entry {
            now: Nanos::from_micros(now),
            rtt: Nanos::from_micros(rtt),
            mss: MSS as u32,
            ..Entry::default()
        };
        scheme.enter(&entry, &mut control);
        Self { scheme, control, now, delivered: 0 }
    }

    /// An ACK `after` microseconds later; `growth` bytes of it may enlarge the window.
    fn ack(&mut self, after: u64, rtt: u64, growth: u64) -> Step {
        self.now += after;
        let prior_delivered = self.delivered;
        self.delivered += 2 * MSS;
        let ack = Ack {
            now: Nanos::from_micros(self.now),
            rtt: Nanos::from_micros(rtt),
            srtt: Nanos::from_micros(rtt),
            acked: 2 * MSS,
            growth,
            delivered: self.delivered,
            prior_delivered,
            mss: MSS as u32,
            ..Ack::default()
        };
        self.scheme.on_ack(&ack, &mut self.control)
    }

    fn lose(&mut self, number: u64) {
        let lost = Lost {
            now: Nanos::from_micros(self.now),
            bytes: MSS,
            number,
            delivered: self.delivered,
            prior_delivered: self.delivered,
            mss: MSS as u32,
            ..Lost::default()
        };
        self.scheme.on_lost(&lost, &mut self.control);
    }
}

#[test]
fn seven_samples_a_quarter_above_the_smallest_rtt_halve_the_window_and_begin_at_the_plateau() {
    let mut connection = Connection::begin(10_000 * MS, 40 * MS, 0);
    for _ in 0..7 {
        assert_eq!(connection.ack(2 * MS, 40 * MS, 0), Step::Stay);
    }
    connection.control.cwnd = 200_000;
    // The filter holds seven samples, so that its smallest rises with the seventh high one; seven excesses follow from there on.
    for at in 0..13 {
        let step = connection.ack(2 * MS, 51 * MS, 0);
        assert_eq!(step, if at == 12 { Step::Over(Exit::Delay) } else { Step::Stay }, "{at}");
    }
    // The plateau is the half; the curve is there, within the rounding of K.
    assert!(connection.control.cwnd.abs_diff(100_000) <= 1, "{}", connection.control.cwnd);
    assert_eq!(connection.scheme.ssthresh, 87_500);
}

#[test]
fn a_single_loss_reduces_nothing_and_three_in_a_row_do() {
    let mut connection = Connection::begin(10_000 * MS, 40 * MS, 0);
    connection.control.cwnd = 144_000;
    // Rates: 1/16 = 0.0625; 0.117; 0.166, above 0.15.
    for number in [100, 101] {
        connection.lose(number);
        assert_eq!(connection.control.cwnd, 144_000);
    }
    connection.lose(102);
    // The last plateau is infinite at first: the new one is 7/8 of the window, and the curve begins at 7/8 of that.
    assert_eq!(connection.scheme.plateau(), 126_000);
    assert!(connection.control.cwnd.abs_diff(110_250) <= 8, "{}", connection.control.cwnd);
    // K = cubic root (87.5 / 8 / 0.4) = 3.01268 s: half a second before it the curve is 0.4 x 0.125 packets below, and 1 s behind it 0.4 above.
    for (at, window) in [(2_512_680, 125_928), (4_012_680, 126_576)] {
        connection.now = 10_000 * MS;
        connection.scheme.w_reno = MSS << 16;
        let _ = connection.ack(at, 40 * MS, 0);
        assert!(connection.control.cwnd.abs_diff(window) <= 2, "{at}: {}", connection.control.cwnd);
    }
}

#[test]
fn fast_convergence_lowers_the_plateau_of_a_window_below_the_last_one() {
    let mut connection = Connection::begin(10_000 * MS, 40 * MS, 0);
    connection.control.cwnd = 144_000;
    for number in 100..103 {
        connection.lose(number);
    }
    // 126 000 bytes are below 144 000: the plateau is 7/8 of them, and 7/8 of that is left. 150 000 are not.
    let _ = connection.ack(0, 40 * MS, 0);
    connection.control.cwnd = 126_000;
    connection.lose(103);
    assert_eq!(connection.scheme.plateau(), 110_250);
    assert!(connection.control.cwnd.abs_diff(96_469) <= 8, "{}", connection.control.cwnd);
    let _ = connection.ack(0, 40 * MS, 0);
    connection.control.cwnd = 150_000;
    connection.lose(104);
    // W_max is in 2^-16 packets: a byte may be lost.
    assert!(connection.scheme.plateau().abs_diff(150_000) <= 1, "{}", connection.scheme.plateau());
}

#[test]
fn start_up_paces_a_quarter_faster_than_the_window_with_a_quarter_of_it_as_burst() {
    // 15 360 bytes in 40 ms are 384 000 bytes a second; a quarter of them, 3840, is more than two packets.
    let connection = Connection::begin(0, 40 * MS, 0);
    assert_eq!((connection.control.pacing, connection.control.burst), (Rate(480_000 * 8), 3_840));
    // On 80 ms the burst is 32 768 bytes at least.
    let connection = Connection::begin(0, 80 * MS, 0);
    assert_eq!((connection.control.pacing, connection.control.burst), (Rate(240_000 * 8), 32_768));
}

#[test]
fn a_resumed_window_is_sent_at_once_and_is_the_plateau() {
    let connection = Connection::begin(0, 600 * MS, 18_750_000);
    assert_eq!(connection.control.cwnd, 18_750_000);
    // Paced at the window a round trip, 31.25 MB/s, 16 packets at once.
    assert_eq!((connection.control.pacing, connection.control.burst), (Rate(250_000_000), 23_040));
    assert!(!connection.scheme.slow_start);
}
