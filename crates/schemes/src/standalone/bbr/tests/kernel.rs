//! Register for register what the kernel's own code does, through every mode.

use super::super::{Bbr, Mode};
use firstflight_contract::{Ack, Congestion, Control, Entry, Nanos, Phase, Rate, Trigger, Why};

const TRACE: &str = include_str!("kernel.txt");

struct Replay {
    bbr: Bbr,
    control: Control,
    mss: u64,
    delivered: u64,
    lost: u64,
}

impl Replay {
    fn begin(rtt: u64, mss: u64) -> Self {
        let (mut bbr, mut control) = (Bbr::default(), Control { cwnd: 10 * mss, ..Control::default() });
        let entry = Entry { rtt: Nanos::from_micros(rtt), mss: mss as u32, ..Entry::default() };
        bbr.enter(&entry, &mut control);
        Self { bbr, control, mss, delivered: 0, lost: 0 }
    }

    fn ack(&mut self, fields: [u64; 10]) {
        let [now, acked, lost, prior, rate, rtt, srtt, in_flight, pipe, flags] = fields;
        self.delivered += acked;
        self.lost += lost;
        let mss = self.mss;
        let ack = Ack {
            now: Nanos::from_micros(now),
            rtt: Nanos::from_micros(rtt),
            srtt: Nanos::from_micros(srtt),
            acked: acked * mss,
            delivered: self.delivered * mss,
            lost: self.lost * mss,
            in_flight: in_flight * mss,
            pipe: pipe * mss,
            rate: Rate(rate),
            prior_delivered: prior * mss,
            flags: flags as u32,
            mss: mss as u32,
            ..Ack::default()
        };
        let _ = self.bbr.on_ack(&ack, &mut self.control);
    }

    fn congestion(&mut self, now: u64, trigger: Trigger) {
        let event = Congestion {
            now: Nanos::from_micros(now),
            trigger,
            mss: self.mss as u32,
            ..Congestion::default()
        };
        let _ = self.bbr.on_congestion(&event, &mut self.control);
    }

    fn perform(&mut self, event: &str, fields: &[u64]) {
        match (event, fields) {
            ("A", fields) => self.ack(fields.try_into().expect("ten fields")),
            ("L", [now]) => self.congestion(*now, Trigger::Loss),
            ("M", [now]) => self.congestion(*now, Trigger::Mark),
            ("T", [now, lost]) => {
                self.lost += lost;
                self.congestion(*now, Trigger::Timeout);
            }
            ("U", [_]) => self.bbr.on_spurious(),
            ("X", [now]) => {
                let entry = Entry { now: Nanos::from_micros(*now), why: Why::Idle, ..Entry::default() };
                self.bbr.enter(&entry, &mut self.control);
            }
            _ => panic!("no event: {event} {fields:?}"),
        }
    }

    fn registers(&self) -> String {
        let Control { cwnd, ssthresh, pacing, .. } = self.control;
        let ssthresh = if ssthresh == u64::MAX { "-".into() } else { (ssthresh / self.mss).to_string() };
        format!("{} {} {ssthresh}", cwnd / self.mss, pacing.0 / 8)
    }
}

#[test]
fn every_register_is_the_kernel_s_after_every_event() {
    let mut replay = Replay::begin(0, 1);
    let mut seen = [0; 4];
    for line in TRACE.lines().filter(|line| !line.starts_with('#')) {
        let (event, expected) = line.split_once(" = ").expect("registers");
        let (kind, fields) = event.split_once(' ').expect("an event");
        let fields: Vec<u64> = fields.split(' ').map(|field| field.parse().expect("a number")).collect();
        if let ("I", [rtt, mss]) = (kind, &fields[..]) {
            replay = Replay::begin(*rtt, *mss);
        } else {
            replay.perform(kind, &fields);
        }
        assert_eq!(replay.registers(), expected, "{event}");
        seen[replay.bbr.mode as usize] += 1;
    }
    // The trace is worth something only if it goes everywhere.
    for mode in [Mode::Startup, Mode::Drain, Mode::ProbeBandwidth, Mode::ProbeRtt] {
        assert!(seen[mode as usize] >= 5, "{mode:?} {seen:?}");
    }
}
