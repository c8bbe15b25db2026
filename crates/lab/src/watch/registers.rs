//! The registers of a sender in the kernel, read after each ACK, and the end of its start-up.

use std::fs::File;
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use firstflight_contract::Exit as Reason;

use crate::congestion_control::ExitSign;
use crate::need::Need;
use crate::netns::Netns;
use crate::tcp_info::{BbrInfo, TcpInfo};

/// `ca_state` of the kernel (enum tcp_ca_state).
pub(super) const OPEN: u8 = 0;
pub(super) const DISORDER: u8 = 1;
pub(super) const CWR: u8 = 2;
pub(super) const RECOVERY: u8 = 3;
pub(super) const LOSS: u8 = 4;

/// The end of a start-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// Time of the ACK after which the registers showed the end, nanoseconds.
    pub(crate) at: u64,
    /// Window before any reduction, segments.
    pub(crate) cwnd: u32,
    pub(crate) reason: Reason,
    /// One past the last byte sent by then.
    pub(crate) sent_to: u64,
}

/// Registers of one sender. Windows are segments.
pub(crate) struct Registers {
    sign: ExitSign,
    hystart: Option<Arc<Hystart>>,
    cwnd: u32,
    max_cwnd: u32,
    timeouts: u64,
    exit: Option<Exit>,
}

impl Registers {
    pub(crate) fn new(sign: ExitSign, hystart: Arc<Hystart>) -> Self {
        Self { sign, hystart: Some(hystart), cwnd: 0, max_cwnd: 0, timeouts: 0, exit: None }
    }

    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { sign: ExitSign::Threshold, hystart: None, cwnd: 0, max_cwnd: 0, timeouts: 0, exit: None }
    }

    pub(crate) fn cwnd(&self) -> u32 {
        self.cwnd
    }

    pub(crate) fn max_cwnd(&self) -> u32 {
        self.max_cwnd
    }

    /// Expiries of the retransmission timer.
    pub(crate) fn timeouts(&self) -> u64 {
        self.timeouts
    }

    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Reads the registers of `sender` after an event at `at`, when it had sent up to `sent_to`; returns all that was read.
    ///
    /// # Errors
    /// If the kernel does not report them.
    pub(crate) fn read(&mut self, sender: &TcpStream, at: u64, sent_to: u64) -> Result<TcpInfo, Need> {
        let info = TcpInfo::of(sender)?;
        if self.exit.is_none() {
            let ended = match &self.sign {
                ExitSign::Record(exits) => exits.of(sender.as_fd()).map(|exit| {
                    let segments = (exit.cwnd / u64::from(info.mss.max(1))) as u32;
                    (segments, exit.reason)
                }),
                sign => {
                    let gain = match sign {
                        ExitSign::PacingGain => Some(BbrInfo::of(sender)?.pacing_gain),
                        ExitSign::Threshold | ExitSign::Record(_) => None,
                    };
                    let hystart = || self.hystart.as_ref().and_then(|hystart| hystart.next());
                    self.ended(&info, gain, hystart)
                }
            };
            self.exit = ended.map(|(cwnd, reason)| Exit { at, cwnd, reason, sent_to });
        }
        self.cwnd = info.cwnd;
        self.max_cwnd = self.max_cwnd.max(info.cwnd);
        self.timeouts = info.timeouts.into();
        Ok(info)
    }

    /// Window and reason if start-up has ended with these registers; `gain` is BBR's pacing gain.
    fn ended(
        &self,
        info: &TcpInfo,
        gain: Option<u32>,
        hystart: impl FnOnce() -> Option<Reason>,
    ) -> Option<(u32, Reason)> {
        if let Some(gain) = gain {
            return (gain < BbrInfo::STARTUP_GAIN).then_some((info.cwnd, Reason::Delivery));
        }
        let ssthresh = info.ssthresh?;
        let before = self.cwnd.max(1);
        Some(match info.ca_state {
            LOSS => (before, Reason::Timeout),
            RECOVERY => (before, Reason::Loss),
            CWR => (before, Reason::Mark),
            // HyStart sets the threshold to the window. A tail loss probe that recovered a loss leaves it lower.
            _ => match hystart() {
                Some(reason) => (ssthresh, reason),
                None => (before, Reason::Loss),
            },
        })
    }
}

/// The counters of HyStart of a namespace, and the exits that were attributed to them.
#[derive(Debug)]
pub(crate) struct Hystart {
    counters: File,
    /// Exits by train and by delay that have an owner.
    owned: std::sync::Mutex<[u64; 2]>,
}

impl Hystart {
    /// The counters of `netns`.
    ///
    /// # Errors
    /// If the kernel does not show them.
    pub(crate) fn of(netns: &Netns) -> Result<Self, Need> {
        let opened = netns.run(|| File::open("/proc/thread-self/net/netstat"))?;
        let counters = opened.map_err(|error| Need::of("/proc/net/netstat", error))?;
        Ok(Self { counters, owned: std::sync::Mutex::default() })
    }

    /// Reason of an exit that has happened and has no owner; from now on it has one.
    fn next(&self) -> Option<Reason> {
        let mut text = vec![0; 16_384];
        let length = self.counters.read_at(&mut text, 0).ok()?;
        let counted = counters(&String::from_utf8_lossy(&text[..length]))?;
        let mut owned = self.owned.lock().ok()?;
        let which = (0..2).find(|&which| counted[which] > owned[which])?;
        owned[which] += 1;
        Some([Reason::AckTrain, Reason::Delay][which])
    }
}

/// Exits by train and by delay in the text of `/proc/net/netstat`.
fn counters(text: &str) -> Option<[u64; 2]> {
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let of = |name: &str| {
        let place = names.split(' ').position(|word| word == name)?;
        values.split(' ').nth(place)?.parse().ok()
    };
    Some([of("TCPHystartTrainDetect")?, of("TCPHystartDelayDetect")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(cwnd: u32, ssthresh: Option<u32>, ca_state: u8) -> TcpInfo {
        TcpInfo { cwnd, ssthresh, ca_state, ..TcpInfo::default() }
    }

    #[test]
    fn the_state_with_which_the_threshold_comes_is_the_reason() {
        let before = Registers { cwnd: 80, ..Registers::none() };
        let ended = |info, hystart| before.ended(&info, None, || hystart);
        assert_eq!(ended(info(81, None, 0), None), None);
        assert_eq!(ended(info(79, Some(40), RECOVERY), None), Some((80, Reason::Loss)));
        assert_eq!(ended(info(1, Some(40), LOSS), None), Some((80, Reason::Timeout)));
        assert_eq!(ended(info(79, Some(40), CWR), None), Some((80, Reason::Mark)));
        let train = Some(Reason::AckTrain);
        assert_eq!(ended(info(81, Some(81), 0), train), Some((81, Reason::AckTrain)));
        assert_eq!(ended(info(40, Some(40), 0), None), Some((80, Reason::Loss)));
    }

    #[test]
    fn bbr_leaves_start_up_when_its_gain_falls() {
        let registers = Registers { sign: ExitSign::PacingGain, cwnd: 80, ..Registers::none() };
        // 2885/1000 + 1/256 and its inverse, in units of 1/256, as tcp_bbr has them.
        assert_eq!(registers.ended(&info(90, None, 0), Some(739), || None), None);
        assert_eq!(registers.ended(&info(90, None, 0), Some(88), || None), Some((90, Reason::Delivery)));
    }

    #[test]
    fn counters_are_found_by_their_names() {
        let text = "TcpExt: SyncookiesSent TCPHystartTrainDetect TCPHystartTrainCwnd TCPHystartDelayDetect\n\
                    TcpExt: 0 3 250 2\nIpExt: InNoRoutes\nIpExt: 0\n";
        assert_eq!(counters(text), Some([3, 2]));
        assert_eq!(counters("IpExt: InNoRoutes\nIpExt: 0\n"), None);
    }
}
