//! `firstflight sender`: one sender without a network, driven line by line in virtual time.

use std::fmt::Display;
use std::io::{self, BufRead, Read, Write};

use clap::Args;
use firstflight_contract::Nanos;
use firstflight_document::quantity::{Amount, parse_bytes};
use firstflight_document::quoted;
use firstflight_hosts::driven::Driven;
use firstflight_hosts::network::build;
use firstflight_scenario::build::{Flow, Packet, Path};
use firstflight_scenario::{Profile, Recovery, Scenario};
use firstflight_script::{Error, LONGEST, MSS};
use firstflight_sim::config::FlowConfig;

use crate::arguments::one_of;
use crate::failure::{Failure, wrong_at};
use crate::keys::{self, option};
use crate::output::json_line;

/// Run one sender in virtual time, controlled by JSON lines; it reports its segments, its state and its next timer.
///
/// For conformance and differential tests. Each line of standard input is a JSON object. The sender answers each with one
/// line on standard output before it reads the next. Sequence numbers are relative: the first data byte is 1. Times are
/// microseconds of virtual time and never decrease. A line has at most 1 MiB.
#[derive(Debug, Args)]
#[command(after_help = "\
Input lines:
  {\"at_us\":0,\"do\":\"established\",\"mss\":1000,\"window\":65535,\"sack\":true,\"rtt_us\":100000}
  {\"at_us\":0,\"do\":\"write\",\"bytes\":30000}
  {\"at_us\":100000,\"do\":\"ack\",\"ack\":2001,\"window\":65535,\"sack\":[[3001,4001]],\"ece\":false}
  {\"at_us\":900000,\"do\":\"advance\"}
  {\"at_us\":900000,\"do\":\"close\"}

  Optional keys of `established`, with defaults: `sack` (false), `timestamps` (by profile),
  `rtt_us` (unknown) and, with --mss, `mss`. Optional keys of `ack`: `window` (as before), `sack`
  (none), `ece` (false) and `echo` (\"last\"). `echo` states which transmission of the segment at the
  left edge of the window carried the echoed timestamp: the \"first\" or the \"last\". A first block of
  `sack` that is below `ack` or within the second block reports a duplicate (RFC 2883).

Output, one line for each input line:
  {\"sent\":[{\"at_us\":0,\"seq\":1,\"len\":1000,\"retransmit\":false}],
   \"info\":{\"cwnd\":10.0,\"ssthresh\":null,\"state\":\"open\",\"unacked\":1,\"sacked\":0,\"lost\":0,\"retrans\":0,
           \"reordering\":3,\"in_flight\":1,\"srtt_us\":100000,\"rto_us\":300000,\"min_rtt_us\":100000,
           \"pacing_bit_s\":0},
   \"next_timer_us\":300000}

Windows are in segments. `ssthresh` is null if it is infinite, `next_timer_us` if no timer runs.

Examples:
  firstflight sender --profile linux --startup hystart++ --avoidance cubic < script.jsonl
  printf '%s\\n' '{\"at_us\":0,\"do\":\"established\",\"mss\":1000,\"window\":65535}' \\
      '{\"at_us\":0,\"do\":\"write\",\"bytes\":5000}' | firstflight sender --profile rfc")]
pub(crate) struct Options {
    #[arg(long, help = format!("Stack, which sets the defaults of the other options: {} [default: rfc]", one_of(&profiles())))]
    pub(crate) profile: Option<String>,
    /// Start-up scheme, or several joined by +
    #[arg(long, value_name = "LABEL")]
    pub(crate) startup: Option<String>,
    /// Avoidance scheme
    #[arg(long, value_name = "LABEL")]
    pub(crate) avoidance: Option<String>,
    #[arg(long, help = format!("Loss detection and recovery: {}; without SACK from the peer, sack is newreno", one_of(Recovery::WORDS)))]
    pub(crate) recovery: Option<String>,
    /// Initial window, such as "10 packets" or "14600 B"
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) initial_window: Option<String>,
    /// Initial slow-start threshold, such as "32 packets", or "unlimited"
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) initial_ssthresh: Option<String>,
    /// Payload bytes of a full segment, where `established` does not say: 1000 or "1000 B"
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(crate) mss: Option<String>,
    /// Smallest retransmission timeout, such as "200 ms"
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) min_rto: Option<String>,
    /// Congestion window after an idle time: restart (reduced) or keep
    #[arg(long, value_name = "RULE")]
    pub(crate) idle_restart: Option<String>,
}

/// Words of the profiles that a script can drive: those of TCP.
fn profiles() -> Vec<&'static str> {
    let tcp = Profile::ALL.iter().filter(|profile| !profile.stack().is_quic());
    tcp.map(|profile| profile.word()).collect()
}

impl Options {
    /// Payload bytes of a full segment that `--mss` gives: a number, or a quantity as in a scenario.
    fn mss(&self) -> Result<Option<u32>, Failure> {
        let Some(text) = &self.mss else { return Ok(None) };
        let wrong = |problem: &dyn Display| {
            let expected =
                format!("bytes from {0} to {1}, such as {0} or \"1000 B\"", MSS.start(), MSS.end());
            wrong_at(option("mss", Some(&quoted(text))), problem).expecting(expected)
        };
        let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = if bare {
            text.parse().map_err(|_| wrong(&"more than any segment has"))?
        } else {
            parse_bytes(text).map_err(|error| wrong(&error.problem).near(error.nearest.as_deref()))?
        };
        match u32::try_from(bytes).ok().filter(|mss| MSS.contains(mss)) {
            Some(mss) => Ok(Some(mss)),
            None => Err(wrong(&"no size of a segment").into()),
        }
    }

    /// The flow that the options describe, of segments of `mss` payload bytes.
    fn flow(&self, mss: u32) -> Result<FlowConfig, Failure> {
        let word = self.profile.as_deref();
        if let Some(profile) = word.and_then(Profile::from_word).filter(|profile| profile.stack().is_quic()) {
            let why = "the lines have the sequence numbers of TCP, and this is a stack of QUIC";
            let at = option("profile", Some(&quoted(profile.word())));
            return Err(wrong_at(at, why).expecting(format!("one of: {}", profiles().join(", "))).into());
        }
        let header = word.and_then(Profile::from_word).unwrap_or(Profile::Rfc).stack().header;
        let flow = Flow::new()
            .handshake(true)
            .text("profile", word)
            .text("startup", self.startup.as_deref())
            .text("avoidance", self.avoidance.as_deref())
            .text("recovery", self.recovery.as_deref())
            .text("initial_window", self.initial_window.as_deref())
            .text("initial_ssthresh", self.initial_ssthresh.as_deref())
            .text("min_rto", self.min_rto.as_deref())
            .text("idle_restart", self.idle_restart.as_deref());
        let packet = Packet::new().size(Amount::Bytes((mss + header).into()));
        let path = Path::new("1 Gbit/s", "100 ms", "1 BDP");
        let scenario = Scenario::builder().duration("1 s").path(path).packet(packet).flow(flow);
        let scenario = keys::built(&scenario)?;
        let mut built = build(&scenario, 0, Nanos::from_secs(1)).map_err(|refusal| {
            let key = refusal.key.rsplit('.').next().unwrap_or_default();
            wrong_at(option(key, None), refusal.why)
        })?;
        Ok(built.network.flows.remove(0))
    }
}

/// A line that is refused.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(format!("standard input:{error}"))
    }
}

/// Line `number` of `input`, read into `bytes`; `None` at the end.
fn next_line<'a>(
    input: &mut impl BufRead,
    bytes: &'a mut Vec<u8>,
    number: usize,
) -> Result<Option<&'a str>, Failure> {
    let place = format!("standard input:{number}");
    bytes.clear();
    // One byte more than a line may have shows that the line is too long.
    let read = input.take(LONGEST as u64 + 1).read_until(b'\n', bytes);
    let read = read.map_err(|error| Failure::new(wrong_at(&place, format!("cannot be read: {error}"))))?;
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if line.len() > LONGEST {
        let why = format!("the line is longer than {LONGEST} bytes");
        return Err(wrong_at(place, why).expecting("one event on each line").into());
    }
    let Ok(text) = str::from_utf8(line) else {
        return Err(wrong_at(place, "not UTF-8").expecting("one JSON object on each line").into());
    };
    Ok((read > 0).then_some(text))
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let mss = options.mss()?;
    // Options that make no sender are refused before the first line.
    options.flow(mss.unwrap_or(1460))?;
    let mut sender = Driven::new(|mss| options.flow(mss), mss);
    let mut out = io::stdout().lock();
    let mut input = io::stdin().lock();
    let mut bytes = vec![];
    for number in 1.. {
        let Some(text) = next_line(&mut input, &mut bytes, number)? else { break };
        let Some(answer) = sender.answer(number, text)? else { continue };
        out.write_all(json_line(&answer).as_bytes())
            .and_then(|()| out.flush())
            .map_err(Failure::from_stdout)?;
    }
    Ok(())
}
