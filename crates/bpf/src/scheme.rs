//! A congestion control of an object as a scheme: events of the contract become callbacks, in the order of `tcp_ack` in the
//! kernel's `net/ipv4/tcp_input.c`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use firstflight_contract::{
    Ack, Beginning, Congestion, Control, Declaration, Declared, Entry, Exit, Nanos, Phase, Rate, Role, Sent,
    Signals, Step, Trigger, Why, mul_div,
};
use firstflight_schemes::scheme::{Info, Param, ParamKind, Scheme, Value, nearest};

use crate::calls::INFINITE;
use crate::error::{Fault, ObjectError};
use crate::machine::{ACK, Memory, RATE, SENDER, address, run};
use crate::object_file::{Callback, Operations};
use crate::view::Field;

/// The clock of the kernel began so long before the run, so that no time is zero, which schemes take for "never".
const UPTIME: u64 = 300_000_000_000;
/// The default of Debian and of the kernel's configuration.
const DEFAULT_HZ: u64 = 250;
/// The first sequence number of data.
const FIRST: u64 = 1;
/// `SK_PACING_FQ`.
const PACING_FQ: u32 = 2;

/// Events of `cwnd_event` (`enum tcp_ca_event`).
const TX_START: u64 = 0;
const CWND_RESTART: u64 = 1;
const LOSS: u64 = 3;

/// Flags of `in_ack_event` (`enum tcp_ca_ack_event_flags`).
const SLOWPATH: u64 = 1;
const WIN_UPDATE: u64 = 2;
const ECE: u64 = 4;

/// States of the sender (`enum tcp_ca_state`), without Disorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open = 0,
    Cwr = 2,
    Recovery = 3,
    Loss = 4,
}

static PARAMS: [Param; 1] = [Param {
    name: "hz",
    kind: ParamKind::Number { min: 24.0, max: 1000.0 },
    default: "250",
    doc: "CONFIG_HZ, ticks a second: the unit of jiffies",
}];

/// The reason why a program stopped, with its scheme, its function and the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Label of the scheme.
    pub scheme: &'static str,
    /// Function of the object.
    pub function: String,
    /// Time in the run.
    pub at: Nanos,
    /// Reason.
    pub fault: Fault,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, function, at, fault } = self;
        write!(f, "{scheme} stopped after {} s of the run, in {function}: {fault}", at.0 as f64 / 1e9)
    }
}

/// A congestion control of an object, over the Linux sender's view. Its global variables belong to one connection, unlike
/// the kernel's.
#[derive(Clone)]
pub struct KernelScheme {
    operations: Arc<Operations>,
    info: &'static Info,
    declaration: &'static Declaration,
    hz: u64,
    memory: Memory,
    mss: u64,
    state: State,
    /// The timeout's callbacks were called when the episode was reported.
    announced: bool,
    /// Segments in the network.
    in_network: u32,
    /// Bytes declared lost at the last ACK.
    lost: u64,
    /// The host divided an ACK at the threshold; the first part counted for both.
    divided: Option<Nanos>,
    /// The window after an undo, segments.
    undone: Option<u32>,
    /// Slow start has ended once.
    over: bool,
    stopped: bool,
    /// Shared by all copies.
    report: Arc<Mutex<Option<Stopped>>>,
}

impl fmt::Debug for KernelScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { info, hz, operations, .. } = self;
        // Two objects with one name differ in their code.
        f.debug_struct("KernelScheme")
            .field("label", &info.label)
            .field("hz", hz)
            .field("code", &operations.program.code)
            .finish_non_exhaustive()
    }
}

/// Entry of a scheme in the list of schemes, and its declaration.
struct Listing {
    info: Info,
    declaration: Declaration,
}

/// The listing of the congestion control of this name; `rules` says whether it decides on its window alone. Listings live as long
/// as the program. An object that is read again has the same one, so that only new names take memory.
fn listing(name: &str, rules: bool) -> &'static Listing {
    static LISTINGS: Mutex<BTreeMap<(String, bool), &'static Listing>> = Mutex::new(BTreeMap::new());
    let mut listings = LISTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    listings.entry((name.into(), rules)).or_insert_with(|| {
        let plain = name.to_ascii_lowercase().replace('_', "-");
        let label = if plain.starts_with("bpf-") { plain } else { format!("bpf-{plain}") };
        let label: &'static str = Box::leak(label.into_boxed_str());
        let role = if rules { Role::Standalone } else { Role::Avoidance };
        let needs = Signals::RTT.union(Signals::SENT).union(Signals::RATE);
        let needs = if rules { needs.union(Signals::PACING) } else { needs };
        let declaration = Declaration { needs, beginning: Beginning::Alone, ..Declaration::new(label, role) };
        let summary = format!("the kernel's congestion control {name}, from a BPF object");
        let info = Info {
            label,
            role,
            source: "a BPF object, section .struct_ops",
            summary: Box::leak(summary.into_boxed_str()),
            needs,
            params: &PARAMS,
        };
        Box::leak(Box::new(Listing { info, declaration }))
    })
}

impl KernelScheme {
    pub(crate) fn new(operations: Operations) -> Result<Self, ObjectError> {
        let name = &operations.name;
        let legal = |byte| matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_');
        if name.is_empty() || !name.bytes().all(legal) {
            return Err(ObjectError::Name(name.clone()));
        }
        let Listing { info, declaration } =
            listing(name, operations.callback(Callback::CongControl).is_some());
        let memory = Memory::new(&operations.program);
        Ok(Self {
            operations: Arc::new(operations),
            info,
            declaration,
            hz: DEFAULT_HZ,
            memory,
            mss: 1,
            state: State::Open,
            announced: false,
            in_network: 0,
            lost: 0,
            divided: None,
            undone: None,
            over: false,
            stopped: false,
            report: Arc::default(),
        })
    }

    /// The label: the name in the kernel with `-` for `_`, behind `bpf-`.
    pub fn label(&self) -> &'static str {
        self.info.label
    }

    /// Name of the congestion control in the kernel.
    pub fn name(&self) -> &str {
        &self.operations.name
    }

    /// Instructions of the program.
    pub fn instructions(&self) -> usize {
        self.operations.program.code.len()
    }

    /// First fault of all copies of this scheme, by time in the run: a run with a fault has no result.
    pub fn stopped(&self) -> Option<Stopped> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls a callback; `None` if the object has none, or its program stopped.
    fn call(&mut self, callback: Callback, arguments: [u64; 4]) -> Option<u64> {
        let start = self.operations.callback(callback)?;
        if self.stopped {
            return None;
        }
        match run(&self.operations.program, &mut self.memory, start, arguments) {
            Ok(answer) => Some(answer),
            Err((fault, function)) => {
                self.stop(fault, function);
                None
            }
        }
    }

    #[cold]
    fn stop(&mut self, fault: Fault, function: String) {
        self.stopped = true;
        let at = Nanos(self.memory.now - UPTIME);
        let stopped = Stopped { scheme: self.info.label, function, at, fault };
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if report.as_ref().is_none_or(|known| known.at > at) {
            *report = Some(stopped);
        }
    }

    fn get(&self, field: Field) -> u32 {
        self.memory.sender.get(field)
    }

    fn put(&mut self, field: Field, value: u64) {
        self.memory.sender.put_long(field, value);
    }

    /// Bytes as segments.
    fn segments(&self, bytes: u64) -> u64 {
        bytes / self.mss
    }

    /// Takes the time and the registers into the view.
    fn take(&mut self, now: Nanos, mss: u32, control: &Control) {
        self.memory.now = UPTIME + now.0;
        self.mss = u64::from(mss).max(1);
        self.put(Field::MssCache, self.mss);
        self.put(Field::Mstamp, self.memory.now / 1000);
        self.put(Field::SndCwnd, self.segments(control.cwnd).min(u32::MAX.into()));
        let threshold = self.segments(control.ssthresh).min(INFINITE.into());
        self.put(Field::SndSsthresh, threshold);
        if !self.rules() {
            let paced = control.pacing != Rate::NONE;
            self.put(Field::PacingStatus, if paced { PACING_FQ.into() } else { 0 });
        }
    }

    /// Whether the object has `cong_control`, and so rules the whole connection.
    fn rules(&self) -> bool {
        self.declaration.role == Role::Standalone
    }

    /// Brings what the program has changed into the registers.
    fn give(&self, control: &mut Control) {
        let window = u64::from(self.get(Field::SndCwnd));
        if window != self.segments(control.cwnd) {
            control.cwnd = window * self.mss;
        }
        let threshold = self.get(Field::SndSsthresh);
        if u64::from(threshold) != self.segments(control.ssthresh).min(INFINITE.into()) {
            control.ssthresh = if threshold >= INFINITE { u64::MAX } else { u64::from(threshold) * self.mss };
        }
        if self.rules() && self.get(Field::PacingStatus) != 0 {
            let bytes = self.memory.sender.get_long(Field::PacingRate);
            control.pacing =
                if bytes == u64::MAX { Rate::NONE } else { Rate(bytes.saturating_mul(8).max(1)) };
        }
    }

    /// `tcp_set_ca_state`.
    fn set_state(&mut self, state: State) {
        self.call(Callback::SetState, [address(SENDER), state as u64, 0, 0]);
        self.state = state;
        self.put(Field::CaState, state as u64);
    }

    /// The kernel's pacing rate without `cong_control` (`tcp_update_pacing_rate`).
    fn update_pacing(&mut self) {
        let (window, threshold) = (self.get(Field::SndCwnd), self.get(Field::SndSsthresh));
        let percent = if window < threshold / 2 { 200 } else { 120 };
        // (USEC_PER_SEC / 100) << 3, since srtt_us is in eighths.
        let factor = 80_000 * percent;
        let out = self.mss * u64::from(window.max(self.in_network));
        if let srtt @ 1.. = u64::from(self.get(Field::SrttUs)) {
            self.put(Field::PacingRate, mul_div(out, factor, srtt));
        }
    }

    /// Takes the counters of an ACK into the view.
    fn observe(&mut self, ack: &Ack) {
        let delivered = self.segments(ack.delivered);
        self.put(Field::SrttUs, ack.srtt.0 * 8 / 1000);
        self.put(Field::Delivered, delivered);
        let marked = u64::from(self.get(Field::DeliveredCe)) + self.segments(ack.ce);
        self.put(Field::DeliveredCe, marked);
        self.put(Field::Lost, self.segments(ack.lost));
        self.put(Field::BytesSent, ack.sent);
        self.put(Field::BytesRetrans, ack.retransmitted);
        self.put(Field::BytesAcked, ack.delivered);
        self.put(Field::TotalRetrans, self.segments(ack.retransmitted));
        self.put(Field::DataSegsOut, self.segments(ack.sent));
        let next = FIRST + ack.sent - ack.retransmitted;
        self.put(Field::SndNxt, next);
        // Nothing before it is in the network. `delivered` also counts what arrived twice.
        self.put(Field::SndUna, next - ack.pipe.min(next - FIRST));
        self.in_network = self.segments(ack.pipe) as u32;
        self.put(Field::PacketsOut, self.in_network.into());
        let window = u64::from(self.get(Field::SndCwnd));
        let limited = !ack.is(Ack::APP_LIMITED);
        let most = if limited { window } else { (window / 2).min(self.segments(ack.in_flight)) };
        self.put(Field::MaxPacketsOut, most);
        self.put(Field::IsCwndLimited, limited.into());
        let rate_limited = ack.is(Ack::RATE_LIMITED);
        self.put(Field::AppLimited, if rate_limited { delivered.max(1) } else { 0 });
        if ack.rate != Rate::NONE && ack.rate.0 > 0 {
            let bytes = ack.delivered - ack.prior_delivered;
            self.put(Field::RateDelivered, self.segments(bytes));
            self.put(Field::RateIntervalUs, interval(bytes, ack.rate));
            self.put(Field::RateAppLimited, rate_limited.into());
        }
    }

    /// `pkts_acked`.
    fn report_delivery(&mut self, ack: &Ack) {
        let rtt = if ack.rtt == Nanos::ZERO { -1 } else { (ack.rtt.0 / 1000) as i64 };
        self.memory.put_sample(Field::SamplePktsAcked, self.segments(ack.acked));
        self.memory.put_sample(Field::SampleRttUs, rtt as u64);
        self.memory.put_sample(Field::SampleInFlight, ack.delivered - ack.prior_delivered.min(ack.delivered));
        self.call(Callback::PktsAcked, [address(SENDER), address(ACK), 0, 0]);
    }

    /// `cong_control`.
    fn report_rate(&mut self, ack: &Ack) {
        let known = ack.rate != Rate::NONE && ack.rate.0 > 0;
        let bytes = ack.delivered - ack.prior_delivered.min(ack.delivered);
        let span = interval(bytes, ack.rate);
        let rtt = if ack.rtt == Nanos::ZERO { u64::MAX } else { ack.rtt.0 / 1000 };
        let mut put = |field, value| self.memory.put_sample(field, value);
        let mstamp = (UPTIME + ack.now.0) / 1000;
        put(Field::RatePriorMstamp, if known { mstamp.saturating_sub(span) } else { 0 });
        put(Field::RateInterval, if known { span } else { u64::MAX });
        put(Field::RateRtt, rtt);
        put(Field::RatePriorDelivered, ack.prior_delivered / self.mss);
        put(Field::RateSampleDelivered, if known { bytes / self.mss } else { u64::MAX });
        put(Field::RateLosses, (ack.lost - self.lost.min(ack.lost)) / self.mss);
        put(Field::RateAckedSacked, ack.acked / self.mss);
        put(Field::RatePriorInFlight, ack.in_flight / self.mss);
        put(Field::RateIsAppLimited, ack.is(Ack::RATE_LIMITED).into());
        put(Field::RateIsRetrans, (ack.rtt == Nanos::ZERO).into());
        put(Field::RateIsAckDelayed, ack.is(Ack::MAYBE_DELAYED).into());
        let una = u64::from(self.get(Field::SndUna));
        let arguments = match self.operations.long_control {
            true => [address(SENDER), una, 0, address(RATE)],
            false => [address(SENDER), address(RATE), 0, 0],
        };
        self.call(Callback::CongControl, arguments);
    }

    /// The state after an ACK: everything sent before the episode is delivered, or the host no longer reduces the window.
    fn settle(&mut self, ack: &Ack) {
        let delivered = (self.get(Field::SndUna).wrapping_sub(self.get(Field::HighSeq)) as i32) >= 0;
        let over = match self.state {
            State::Open => false,
            State::Loss if !self.rules() => delivered,
            _ => !ack.is(Ack::RECOVERY),
        };
        if over {
            self.set_state(State::Open);
        }
    }

    /// The answer to an event: whether slow start ended with it, for the first time.
    fn step(&mut self, ended: Option<Exit>) -> Step {
        match ended {
            Some(reason) if !self.over => {
                self.over = true;
                Step::Over(reason)
            }
            _ => Step::Stay,
        }
    }
}

/// Time in which `bytes` were delivered at `rate`, microseconds.
fn interval(bytes: u64, rate: Rate) -> u64 {
    rate.time_for(bytes).0 / 1000
}

impl Declared for KernelScheme {
    fn declaration(&self) -> &'static Declaration {
        self.declaration
    }
}

impl Scheme for KernelScheme {
    fn info(&self) -> &'static Info {
        self.info
    }

    fn set(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("hz", Value::Number(hz)) => self.hz = nearest(hz),
            _ => panic!("{} has no parameter {name} that takes {value:?}", self.info.label),
        }
    }
}

impl Phase for KernelScheme {
    fn enter(&mut self, entry: &Entry, control: &mut Control) {
        if matches!(entry.why, Why::Connect | Why::Migrate | Why::Handover) {
            self.memory = Memory::new(&self.operations.program);
            self.memory.jiffy = 1_000_000_000 / self.hz;
            self.memory.set_hz(self.operations.hz, self.hz);
            (self.state, self.over, self.undone) = (State::Open, false, None);
            (self.in_network, self.lost, self.divided) = (0, 0, None);
            self.put(Field::State, 1);
            self.put(Field::MaxPacingRate, u64::MAX);
            self.put(Field::SndCwndClamp, u32::MAX.into());
            self.put(Field::RcvNxt, FIRST);
            self.put(Field::SndNxt, FIRST);
            self.put(Field::SndUna, FIRST);
            self.put(Field::EcnFlags, self.operations.needs_ecn.into());
        }
        self.take(entry.now, entry.mss, control);
        match entry.why {
            Why::Connect | Why::Migrate | Why::Handover => {
                self.put(Field::SrttUs, entry.rtt.0 * 8 / 1000);
                self.update_pacing();
                self.put(Field::Lsndtime, self.memory.jiffies() as u32 as u64);
                self.call(Callback::Init, [address(SENDER), 0, 0, 0]);
            }
            Why::Timeout if std::mem::take(&mut self.announced) => {}
            Why::Timeout => self.set_state(State::Loss),
            Why::Idle => {
                self.call(Callback::CwndEvent, [address(SENDER), CWND_RESTART, 0, 0]);
            }
        }
        self.give(control);
    }

    fn on_sent(&mut self, sent: &Sent, control: &mut Control) {
        self.take(sent.now, sent.mss, control);
        if self.in_network == 0 {
            self.call(Callback::CwndEvent, [address(SENDER), TX_START, 0, 0]);
            self.give(control);
        }
        self.put(Field::Lsndtime, self.memory.jiffies() as u32 as u64);
        self.in_network += sent.bytes.div_ceil(self.mss) as u32;
        self.put(Field::PacketsOut, self.in_network.into());
        self.put(Field::SndNxt, u64::from(self.get(Field::SndNxt)) + sent.bytes);
    }

    fn on_ack(&mut self, ack: &Ack, control: &mut Control) -> Step {
        // Linux sender: the part of an ACK above the threshold comes in an event of its own, which the kernel does not have.
        if self.divided.take() == Some(ack.now) && ack.acked == 0 && ack.growth > 0 {
            return Step::Stay;
        }
        if ack.growth > 0 && ack.growth < ack.acked {
            self.divided = Some(ack.now);
        }
        if let Some(window) = self.undone.take()
            && !ack.is(Ack::RECOVERY)
        {
            control.cwnd = u64::from(window) * u64::from(ack.mss);
        }
        self.take(ack.now, ack.mss, control);
        self.observe(ack);
        if ack.acked > 0 {
            self.report_delivery(ack);
        }
        let mark = if ack.ce > 0 { SLOWPATH | ECE } else { 0 };
        let path = if self.state == State::Open { WIN_UPDATE } else { SLOWPATH };
        self.call(Callback::InAckEvent, [address(SENDER), path | mark, 0, 0]);
        self.settle(ack);
        if self.rules() {
            self.report_rate(ack);
        } else {
            let progress = ack.growth > 0 || ack.is(Ack::APP_LIMITED);
            if ack.acked > 0 && progress && !ack.is(Ack::RECOVERY) {
                let arguments =
                    [address(SENDER), self.get(Field::SndUna).into(), self.segments(ack.acked), 0];
                self.call(Callback::CongAvoid, arguments);
            }
            self.update_pacing();
        }
        self.lost = ack.lost;
        self.give(control);
        let above = self.get(Field::SndCwnd) >= self.get(Field::SndSsthresh);
        self.step(above.then_some(Exit::Threshold))
    }

    fn on_congestion(&mut self, event: &Congestion, control: &mut Control) -> Step {
        self.undone = None;
        self.take(event.now, event.mss, control);
        let window = self.get(Field::SndCwnd);
        let threshold = self.get(Field::SndSsthresh);
        self.put(Field::PriorCwnd, window.into());
        // tcp_current_ssthresh; an ECN mark is not undone.
        let three_quarters = (window >> 1) + (window >> 2);
        let undo = if event.trigger == Trigger::Mark { 0 } else { threshold.max(three_quarters) };
        self.put(Field::PriorSsthresh, undo.into());
        self.put(Field::HighSeq, self.get(Field::SndNxt).into());
        // tcp_init_cwnd_reduction and tcp_enter_loss.
        self.put(Field::SndCwndCnt, 0);
        if let Some(answer) = self.call(Callback::Ssthresh, [address(SENDER), 0, 0, 0]) {
            self.put(Field::SndSsthresh, (answer as u32).into());
        }
        match event.trigger {
            Trigger::Loss => self.set_state(State::Recovery),
            Trigger::Mark => self.set_state(State::Cwr),
            Trigger::Timeout => {
                self.call(Callback::CwndEvent, [address(SENDER), LOSS, 0, 0]);
                self.set_state(State::Loss);
                self.announced = !self.rules();
            }
        }
        self.give(control);
        if !self.rules() {
            control.cwnd = control.ssthresh;
        }
        self.step(Some(event.trigger.into()))
    }

    fn on_spurious(&mut self) {
        // The host restores the window at once; another answer of the program holds from the next ACK on.
        if let Some(window) = self.call(Callback::UndoCwnd, [address(SENDER), 0, 0, 0]) {
            self.undone = Some(window as u32);
        }
    }
}
