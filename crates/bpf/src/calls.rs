//! Functions that a program may call: helpers by number, functions of the kernel by name.

use crate::view::Sender;

/// A call that the machine answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    SlowStart,
    CongAvoidAi,
    RenoSsthresh,
    RenoCongAvoid,
    RenoUndoCwnd,
    KtimeNs,
    Jiffies64,
    ProbeRead,
    StorageGet,
    StorageDelete,
    Print,
    /// Offered to programs that contain the call in a branch that is not taken here.
    Fault(&'static str),
    /// An instruction of a field that does not exist, behind a test for the field.
    Missing,
}

/// Functions of the kernel (kfuncs).
const FUNCTIONS: [(&str, Call); 5] = [
    ("tcp_slow_start", Call::SlowStart),
    ("tcp_cong_avoid_ai", Call::CongAvoidAi),
    ("tcp_reno_ssthresh", Call::RenoSsthresh),
    ("tcp_reno_cong_avoid", Call::RenoCongAvoid),
    ("tcp_reno_undo_cwnd", Call::RenoUndoCwnd),
];

/// Helpers, by their numbers in `include/uapi/linux/bpf.h`.
const HELPERS: [(i32, &str, Call); 11] = [
    (5, "bpf_ktime_get_ns", Call::KtimeNs),
    (6, "bpf_trace_printk", Call::Print),
    (49, "bpf_setsockopt", Call::Fault("bpf_setsockopt")),
    (57, "bpf_getsockopt", Call::Fault("bpf_getsockopt")),
    (107, "bpf_sk_storage_get", Call::StorageGet),
    (108, "bpf_sk_storage_delete", Call::StorageDelete),
    (113, "bpf_probe_read_kernel", Call::ProbeRead),
    (116, "bpf_tcp_send_ack", Call::Fault("bpf_tcp_send_ack")),
    (118, "bpf_jiffies64", Call::Jiffies64),
    (125, "bpf_ktime_get_boot_ns", Call::KtimeNs),
    (177, "bpf_trace_vprintk", Call::Print),
];

/// The function of the kernel with this name.
pub(crate) fn function(name: &str) -> Option<Call> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, call)| *call)
}

/// The helper with this number.
pub(crate) fn helper(number: i32) -> Option<Call> {
    HELPERS.iter().find(|(known, _, _)| *known == number).map(|(_, _, call)| *call)
}

/// Names of the functions that may be called.
pub(crate) fn functions() -> Vec<&'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name).collect()
}

/// Names of the helpers that may be called.
pub(crate) fn helpers() -> Vec<&'static str> {
    HELPERS.iter().map(|(_, name, _)| *name).collect()
}

/// The kernel's infinite threshold (`TCP_INFINITE_SSTHRESH`), segments.
pub(crate) const INFINITE: u32 = 0x7fff_ffff;

/// The functions of `net/ipv4/tcp_cong.c`, over the sender's view.
impl Sender {
    /// `tcp_slow_start`: grows to the threshold; returns the segments that are left.
    pub(crate) fn slow_start(&mut self, acked: u32) -> u32 {
        use crate::view::Field::{SndCwnd, SndCwndClamp, SndSsthresh};
        let before = self.get(SndCwnd);
        let grown = before.wrapping_add(acked).min(self.get(SndSsthresh));
        self.put(SndCwnd, grown.min(self.get(SndCwndClamp)));
        acked.wrapping_sub(grown.wrapping_sub(before))
    }

    /// `tcp_cong_avoid_ai`: a segment for each `each` acknowledged.
    pub(crate) fn cong_avoid_ai(&mut self, each: u32, acked: u32) {
        use crate::view::Field::{SndCwnd, SndCwndClamp, SndCwndCnt};
        let mut window = self.get(SndCwnd);
        let mut credit = self.get(SndCwndCnt);
        // The credit was counted under a larger window: one segment for all of it.
        if credit >= each {
            credit = 0;
            window = window.wrapping_add(1);
        }
        credit = credit.wrapping_add(acked);
        if credit >= each {
            // The kernel divides by zero here; eBPF's own division by zero gives zero.
            let segments = credit.checked_div(each).unwrap_or(0);
            credit -= segments * each;
            window = window.wrapping_add(segments);
        }
        self.put(SndCwndCnt, credit);
        self.put(SndCwnd, window.min(self.get(SndCwndClamp)));
    }

    /// `tcp_is_cwnd_limited`.
    fn is_cwnd_limited(&self) -> bool {
        use crate::view::Field::{IsCwndLimited, MaxPacketsOut, SndCwnd, SndSsthresh};
        let window = self.get(SndCwnd);
        if window < self.get(SndSsthresh) {
            return window < self.get(MaxPacketsOut).wrapping_mul(2);
        }
        self.get(IsCwndLimited) & 1 == 1
    }

    /// `tcp_reno_cong_avoid`.
    pub(crate) fn reno_cong_avoid(&mut self, acked: u32) {
        use crate::view::Field::{SndCwnd, SndSsthresh};
        if !self.is_cwnd_limited() {
            return;
        }
        let mut rest = acked;
        if self.get(SndCwnd) < self.get(SndSsthresh) {
            rest = self.slow_start(acked);
            if rest == 0 {
                return;
            }
        }
        self.cong_avoid_ai(self.get(SndCwnd), rest);
    }

    /// `tcp_reno_ssthresh`.
    pub(crate) fn reno_ssthresh(&self) -> u32 {
        (self.get(crate::view::Field::SndCwnd) >> 1).max(2)
    }

    /// `tcp_reno_undo_cwnd`.
    pub(crate) fn reno_undo_cwnd(&self) -> u32 {
        use crate::view::Field::{PriorCwnd, SndCwnd};
        self.get(SndCwnd).max(self.get(PriorCwnd))
    }
}
