//! Plays a script to a socket of the kernel.
//!
//! The socket lives in a network namespace of its own and listens; this process is the peer, at the other end of a TUN
//! device. It opens the connection, takes as long over the handshake as the script asks for, and then plays each event
//! at its time. One thread does all of this: the kernel has processed a packet when the write to the device returns, so the
//! packets that are read next are its answers.

use core::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use firstflight_script::{Ack, Answer, Echo, Event, Opening, Sent};

use crate::need::Need;
use crate::netns::Netns;
use crate::realtime::be_on_time;
use crate::recording::registers;
use crate::script::{Line, Script};
use crate::segment::{Flags, Segment};
use crate::socket::{set_congestion_control, set_large_send_buffer, set_reset_on_close};
use crate::tcp_info::TcpInfo;
use crate::tun::{MTU, Tun};

const KERNEL: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 85, 0, 1), 5001);
const PEER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 85, 0, 2), 40_000);
/// The peer's initial sequence number.
const PEER_ISN: u32 = 1_000_000;
/// The peer's timestamp clock counts milliseconds from here.
const PEER_CLOCK: u32 = 5_000_000;
/// Bytes of the timestamp option in a segment: 10, padded to 12.
const TIMESTAMPS: u32 = 12;
const PRIORITY: i32 = 20;
/// Longest wait for the kernel's part of a handshake, which takes far less.
const PATIENCE: Duration = Duration::from_secs(1);

/// A script that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// The answer to each line, the first being that to `established`.
    pub answers: Vec<Answer>,
    /// Largest delay of a line beyond its due time.
    pub lateness: Duration,
}

/// Reason why a script could not be played.
#[derive(Debug)]
pub enum Failure {
    /// The kernel did not grant something.
    Need(Need),
    /// The device or the socket failed.
    Io(io::Error),
    /// An event of the script is impossible, or the kernel behaved unexpectedly.
    Script(String),
}

impl From<Need> for Failure {
    fn from(need: Need) -> Self {
        Self::Need(need)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Need(need) => write!(f, "this machine does not grant {need}"),
            Self::Io(error) => write!(f, "{error}"),
            Self::Script(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for Failure {}

/// Plays `script` in a namespace made for it.
///
/// # Errors
/// If the kernel grants no namespace, device, real-time priority or congestion control, or the script cannot be played.
pub fn play(script: &Script) -> Result<Played, Failure> {
    let netns = Netns::new()?;
    for (key, value) in [
        ("tcp_no_metrics_save", "1"),
        ("tcp_autocorking", "0"),
        ("tcp_slow_start_after_idle", if script.setup.idle_restart { "1" } else { "0" }),
    ] {
        netns.set_ipv4(key, value)?;
    }
    let tun = Tun::open(&netns, *KERNEL.ip())?;
    netns.run(|| {
        be_on_time(PRIORITY)?;
        Player::open(script, &tun)?.play(script)
    })?
}

/// The peer of an open connection.
struct Player<'a> {
    tun: &'a Tun,
    socket: TcpStream,
    /// The handshake was done.
    zero: Instant,
    timestamps: bool,
    scale: u8,
    /// The kernel's initial sequence number.
    isn: u32,
    /// The last ACK, the window it gave and the timestamp it echoed.
    ack: u64,
    window: u64,
    echo: u32,
    /// Data segments since the line before.
    sent: Vec<Sent>,
    /// First byte, one past the last, and timestamp of every transmission.
    transmissions: Vec<(u64, u64, u32)>,
    lateness: Duration,
}

impl<'a> Player<'a> {
    fn open(script: &Script, tun: &'a Tun) -> Result<Self, Failure> {
        let Opening { mss, window, sack, timestamps, rtt_us } = script.opening;
        let timestamps = timestamps.unwrap_or(true);
        let size = mss.and_then(|mss| u16::try_from(mss + if timestamps { TIMESTAMPS } else { 0 }).ok());
        let size = size.ok_or_else(|| Failure::Script("mss: more than a header can say".into()))?;
        let scale = script.window_scale();
        let listener = TcpListener::bind(KERNEL)?;
        set_congestion_control(&listener, &script.setup.congestion_control)?;
        set_large_send_buffer(&listener)?;
        let syn = Segment {
            seq: PEER_ISN,
            flags: Flags { syn: true, ..Flags::default() },
            // RFC 7323 section 2.2: the window of a SYN is not scaled.
            window: window.min(u16::MAX.into()) as u16,
            mss: Some(size),
            scale: Some(scale),
            sack_permitted: sack,
            timestamps: timestamps.then_some((PEER_CLOCK, 0)),
            ..Segment::default()
        };
        tun.send(&syn.packet(PEER, KERNEL))?;
        let began = now();
        let answer = syn_ack(tun)?;
        let done = began + Duration::from_micros(rtt_us);
        while let Some(left) = done.checked_duration_since(now()).filter(|left| !left.is_zero()) {
            std::thread::sleep(left);
        }
        let ack = Segment {
            seq: PEER_ISN + 1,
            ack: answer.seq.wrapping_add(1),
            flags: Flags { ack: true, ..Flags::default() },
            window: scaled(window, scale)?,
            timestamps: answer.timestamps.map(|(value, _)| (PEER_CLOCK + (rtt_us / 1000) as u32, value)),
            ..Segment::default()
        };
        let zero = now();
        tun.send(&ack.packet(PEER, KERNEL))?;
        let (socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        set_reset_on_close(&socket)?;
        Ok(Self {
            tun,
            socket,
            zero,
            timestamps: answer.timestamps.is_some(),
            scale,
            isn: answer.seq,
            ack: 1,
            window,
            echo: answer.timestamps.map_or(0, |(value, _)| value),
            sent: vec![],
            transmissions: vec![],
            lateness: zero.saturating_duration_since(done),
        })
    }

    fn play(mut self, script: &Script) -> Result<Played, Failure> {
        let mut answers = vec![self.answer()?];
        for line in &script.lines {
            self.wait_until(line.at_us)?;
            self.play_event(line).map_err(|failure| match failure {
                Failure::Script(why) => Failure::Script(format!("at_us = {}: {why}", line.at_us)),
                other => other,
            })?;
            answers.push(self.answer()?);
        }
        Ok(Played { answers, lateness: self.lateness })
    }

    /// Reads the segments that the kernel sends until `at_us`.
    fn wait_until(&mut self, at_us: u64) -> Result<(), Failure> {
        let due = self.zero + Duration::from_micros(at_us);
        loop {
            self.receive()?;
            match due.checked_duration_since(now()).filter(|left| !left.is_zero()) {
                Some(left) => self.tun.wait(left)?,
                None => break,
            }
        }
        self.lateness = self.lateness.max(now().saturating_duration_since(due));
        Ok(())
    }

    fn play_event(&mut self, line: &Line) -> Result<(), Failure> {
        match &line.event {
            Event::Established(_) => Err(Failure::Script("the connection is open already".into())),
            Event::Write(bytes) => {
                let written = io::Write::write(&mut self.socket, &vec![0; *bytes as usize])?;
                if written as u64 == *bytes {
                    Ok(())
                } else {
                    Err(Failure::Script(format!("only {written} of {bytes} bytes fit in the socket")))
                }
            }
            Event::Ack(ack) => self.acknowledge(ack),
            Event::Close => Ok(self.socket.shutdown(std::net::Shutdown::Write)?),
            Event::Advance => Ok(()),
        }
    }

    fn acknowledge(&mut self, line: &Ack) -> Result<(), Failure> {
        let Ack { ack, window, blocks: ref sack, echo, ece: _ } = *line;
        let end = self.transmissions.iter().map(|&(_, to, _)| to).max().unwrap_or(1);
        if let Some(beyond) = sack.iter().map(|&(_, to)| to).chain([ack]).find(|&byte| byte > end) {
            return Err(Failure::Script(format!("acknowledges up to {beyond} where {end} comes next")));
        }
        self.window = window.unwrap_or(self.window);
        if ack > self.ack {
            // RFC 7323 section 4.3: the timestamp of the segment that held the first byte beyond the last ACK.
            let edge = self.ack;
            let mut of_edge = self.transmissions.iter().filter(|(from, to, _)| (*from..*to).contains(&edge));
            let caused = match echo {
                Echo::First => of_edge.next(),
                Echo::Last => of_edge.next_back(),
            };
            let (.., value) =
                caused.ok_or_else(|| Failure::Script(format!("byte {edge} has not been sent")))?;
            self.echo = *value;
            self.ack = ack;
        }
        let segment = Segment {
            seq: PEER_ISN + 1,
            ack: self.absolute(ack),
            flags: Flags { ack: true, ..Flags::default() },
            window: scaled(self.window, self.scale)?,
            timestamps: self.timestamps.then(|| (self.clock(), self.echo)),
            sack: sack.iter().map(|&(from, to)| (self.absolute(from), self.absolute(to))).collect(),
            ..Segment::default()
        };
        Ok(self.tun.send(&segment.packet(PEER, KERNEL))?)
    }

    /// Reads everything that the kernel has sent.
    fn receive(&mut self) -> Result<(), Failure> {
        let mut buffer = [0; MTU];
        while let Some(packet) = self.tun.receive(&mut buffer)? {
            let at_us = self.since_zero().as_micros() as u64;
            let Some(segment) = Segment::parse(packet, KERNEL, PEER) else { continue };
            if segment.length == 0 {
                continue;
            }
            let (seq, len) = (u64::from(segment.seq.wrapping_sub(self.isn)), segment.length as u64);
            let retransmit = self.transmissions.iter().any(|&(_, to, _)| seq < to);
            self.sent.push(Sent { at_us, seq, len, retransmit });
            self.transmissions.push((seq, seq + len, segment.timestamps.map_or(0, |(value, _)| value)));
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<Answer, Failure> {
        self.receive()?;
        let info = TcpInfo::of(&self.socket)?;
        Ok(Answer { sent: core::mem::take(&mut self.sent), info: registers(&info) })
    }

    /// A relative sequence number on the wire; no script sends 4 GB.
    fn absolute(&self, relative: u64) -> u32 {
        self.isn.wrapping_add(relative as u32)
    }

    /// The peer's timestamp clock; the handshake was before zero.
    fn clock(&self) -> u32 {
        PEER_CLOCK + 10_000 + self.since_zero().as_millis() as u32
    }

    /// Time since the handshake was done, which is before every line.
    fn since_zero(&self) -> Duration {
        now().saturating_duration_since(self.zero)
    }
}

/// The kernel's answer to a SYN.
fn syn_ack(tun: &Tun) -> Result<Segment, Failure> {
    let mut buffer = [0; MTU];
    let until = now() + PATIENCE;
    while now() < until {
        match tun.receive(&mut buffer)?.map(|packet| Segment::parse(packet, KERNEL, PEER)) {
            Some(Some(segment)) if segment.flags.syn && segment.flags.ack => return Ok(segment),
            Some(_) => {}
            None => tun.wait(PATIENCE)?,
        }
    }
    Err(Failure::Script("the kernel does not answer a SYN".into()))
}

/// `window` as the header has it.
fn scaled(window: u64, scale: u8) -> Result<u16, Failure> {
    u16::try_from(window >> scale)
        .ok()
        .filter(|&scaled| u64::from(scaled) << scale == window)
        .ok_or_else(|| Failure::Script(format!("window: {window} is no multiple of {}", 1_u64 << scale)))
}

#[expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]
fn now() -> Instant {
    Instant::now()
}
