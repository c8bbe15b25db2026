//! `firstflight lab probe`: how a server sends, measured across an emulated path.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use firstflight_document::nearest;
use firstflight_hosts::host::{Host as _, Observe};
use firstflight_lab::probe::{Probed, Protocol, STACKS, Server, probe};
use firstflight_lab::{Kernel, LONGEST};
use firstflight_probe::{End, PathTerms, Reason, Repair, Row, ThirdLost};
use firstflight_results::Validity;
use firstflight_scenario::Scenario;
use firstflight_scenario::build::{self, Flow};
use serde_json::json;

use super::run::on_time;
use crate::failure::{Failure, wrong_at};
use crate::keys::{built, option};
use crate::output::{print_json, show};
use crate::run::short;
use crate::table::{Align, table};

/// Start a server, fetch from it across an emulated path, and report how it sends
///
/// SERVER is the name of a stack, or a program with its arguments, in which {address}, {port}, {certificate}, {key}, {files} and {work} are
/// replaced. {files} is a folder of files whose names are their sizes in bytes: /12000 has 12,000 bytes. The server runs in a network of its own and
/// sees its files under /media. The client asks over HTTP/3 or by requests of one line (ALPN hq-interop), with --protocol tcp over HTTP/1.1. Nothing
/// outside is changed, and nothing remains when the command ends, however it ends. Needs Linux, root and util-linux.
#[derive(Debug, Args)]
#[command(after_help = "\
Stacks: quinn and linux (the kernel's TCP) are parts of this program. nginx, nginx-sid, haproxy,
haproxy-3.4, ngtcp2, quic-go, aioquic, quiche, quiche-pmtud, msquic and s2n-quic must be on the PATH
or in --stacks.

Responses of 9.5 KB to 10 MB leave on connections of their own; rounds, windows and the end of
start-up are those of 10 MB. Of one more response of 30 KB the third datagram is lost. Then 300 KB
follow 1 MB after silences of 0.2, 1 and 3 s.

Examples:
  firstflight lab probe quinn
  firstflight lab probe nginx --rate \"20 Mbit/s\" --rtt \"60 ms\" --buffer \"1 BDP\" --json
  firstflight lab probe -- gtlsserver -q -d {files} {address} {port} {key} {certificate}
  firstflight lab probe --protocol tcp -- python3 -m http.server -p HTTP/1.1 -d {files} {port}")]
pub(super) struct Options {
    /// A stack, or a program and its arguments; -- before a program that has options
    #[arg(required = true, value_name = "SERVER")]
    server: Vec<String>,
    /// Bottleneck rate
    #[arg(long, value_name = "RATE", default_value = "20 Mbit/s", allow_hyphen_values = true)]
    rate: String,
    /// Round-trip time without queueing
    #[arg(long, value_name = "TIME", default_value = "100 ms", allow_hyphen_values = true)]
    rtt: String,
    /// Bottleneck buffer, such as "500 packets", "250 KB" or "1 BDP" (one bandwidth-delay product)
    #[arg(long, value_name = "SIZE", default_value = "4 BDP", allow_hyphen_values = true)]
    buffer: String,
    /// Protocol of a program, whose default is quic; a stack has its own
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    protocol: Option<ProtocolChoice>,
    /// Folder of installed stacks, their programs in its folder bin
    #[arg(long, value_name = "DIR", default_value = "target/stacks")]
    stacks: PathBuf,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolChoice {
    /// HTTP/3, or requests of one line, over QUIC.
    Quic,
    /// HTTP/1.1 over TCP.
    Tcp,
}

pub(super) fn execute(options: &Options) -> Result<(), Failure> {
    let Options { rate, rtt, buffer, .. } = options;
    let path =
        build::Path::empty().text("rate", Some(rate)).text("rtt", Some(rtt)).text("buffer", Some(buffer));
    let flow = Flow::new().text("profile", Some("linux"));
    let duration = format!("{} s", LONGEST.0 / 1_000_000_000);
    let scenario = built(&Scenario::builder().duration(duration.as_str()).path(path).flow(flow))?;
    // The range of the emulator is that of the kernel's runs.
    Kernel::default().check(&scenario, &Observe::default()).map_err(|refusal| {
        let key = refusal.key.rsplit('.').next().unwrap_or_default();
        wrong_at(if key.is_empty() { "path".into() } else { option(key, None) }, refusal.why)
    })?;
    let terms = PathTerms { rate: rate.clone(), rtt: rtt.clone(), buffer: buffer.clone() };
    let server = server(options)?;
    let probed = probe(&scenario, &terms, &server).map_err(|broken| Failure::new(broken.to_string()))?;
    match options.json {
        true => {
            let mut object = json!(probed.row);
            object["validity"] = json!(probed.validity);
            print_json(&object)
        }
        false => show(&text(&probed)),
    }
}

/// The server that the words name.
fn server(options: &Options) -> Result<Server, Failure> {
    let [word, more @ ..] = &options.server[..] else { return Err(Failure::new("no server is given")) };
    if more.is_empty()
        && let Some(stack) = Server::named(word, &options.stacks)
    {
        if options.protocol.is_some() {
            let wrong = wrong_at(option("protocol", None), format!("the stack {word} has its own protocol"));
            return Err(wrong.expecting("--protocol beside a program alone").into());
        }
        return stack.map_err(|missing| Failure::new(missing.to_string()));
    }
    if !is_program(word) {
        let names = || STACKS.iter().map(|stack| stack.name);
        let wrong =
            wrong_at(format!("SERVER \"{}\"", word.escape_debug()), "no such stack, and no such program");
        let expected = format!("a program, or one of: {}", names().collect::<Vec<_>>().join(", "));
        return Err(wrong.expecting(expected).near(nearest(word, names())).into());
    }
    let protocol = match options.protocol {
        None | Some(ProtocolChoice::Quic) => Protocol::Quic,
        Some(ProtocolChoice::Tcp) => Protocol::Tcp,
    };
    Ok(Server::command(&options.server, protocol))
}

/// Whether a word names a program, by its path or on the `PATH`.
fn is_program(word: &str) -> bool {
    if word.contains('/') {
        return Path::new(word).is_file();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(word).is_file())
}

fn text(probed: &Probed) -> String {
    let Probed { row, validity } = probed;
    let Row { identity, first_flight, .. } = row;
    let PathTerms { rate, rtt, buffer } = &identity.path;
    let version = match &identity.version[..] {
        "" => String::new(),
        version => format!(" ({version})"),
    };
    let mut out = format!(
        "{}{version}, {} over {rate}, {rtt}, buffer {buffer}\n\n",
        identity.stack,
        identity.protocol.to_uppercase()
    );
    out += &rounds(row);
    let bursts: Vec<_> = first_flight.bursts.iter().map(|burst| burst.datagrams.to_string()).collect();
    let spacing = first_flight
        .spacing_ms
        .map_or("at once".into(), |spacing| format!("a burst each {} ms in the median", short(spacing)));
    out += &format!("\nFirst flight: {} datagrams, {spacing}.\n", in_short(&bursts));
    out += &format!("Sizes: {}.\n", sizes(&first_flight.packets));
    out += &match row.startup_end {
        None => "Start-up did not end.\n".into(),
        Some(End { reason, round, at_ms, window }) => {
            let reason = match reason {
                Reason::Loss => "a loss",
                Reason::NoGrowth => "no growth",
            };
            format!(
                "Start-up ended by {reason} in round {round}, {} ms after the request, {window} bytes in flight.\n",
                short(at_ms)
            )
        }
    };
    let windows: Vec<_> = row.windows.iter().map(ToString::to_string).collect();
    out += &format!("Bytes of all rounds: {}.\n", in_short(&windows));
    out += &format!("Most bytes in flight: {}. Lost datagrams: {}.\n\n", row.most_in_flight, row.lost);
    out += &silences(row);
    out += "\n";
    out += &transfers(row);
    out += &row.third_lost.map_or(String::new(), |lost| third_lost(&lost));
    out + "\n" + &lateness(validity)
}

fn lateness(validity: &Validity) -> String {
    on_time(validity) + "\n"
}

fn rounds(row: &Row) -> String {
    use Align::Right;
    let columns = [("round", Right), ("begins", Right), ("datagrams", Right), ("bytes", Right)];
    let rows: Vec<_> = (1..)
        .zip(&row.rounds)
        .map(|(number, round)| {
            [
                u64::to_string(&number),
                format!("{} ms", short(round.at_ms)),
                round.datagrams.to_string(),
                round.bytes.to_string(),
            ]
        })
        .collect();
    table(columns, &rows)
}

fn silences(row: &Row) -> String {
    use Align::Right;
    let columns =
        [("silence", Right), ("datagrams of round 1", Right), ("bytes", Right), ("first burst", Right)];
    let rows: Vec<_> = row
        .after_idle
        .iter()
        .map(|after| {
            [
                format!("{} s", short(after.idle_s)),
                after.datagrams.to_string(),
                after.bytes.to_string(),
                after.burst.to_string(),
            ]
        })
        .collect();
    table(columns, &rows)
}

fn transfers(row: &Row) -> String {
    use Align::Right;
    let rows: Vec<_> = row
        .transfers
        .iter()
        .map(|transfer| [transfer.bytes.to_string(), format!("{} s", short(transfer.seconds))])
        .collect();
    table([("response, bytes", Right), ("time", Right)], &rows)
}

fn third_lost(lost: &ThirdLost) -> String {
    let &ThirdLost { bytes, seconds, datagrams, again, repair } = lost;
    let repaired =
        repair.map_or("the lost datagram had no byte of the body".into(), |Repair { by, after_ms }| {
            format!("repaired by {}, {} ms after the lost one", by.words(), short(after_ms))
        });
    format!(
        "\nThird datagram lost: {bytes} bytes in {} s, {datagrams} datagrams, {again} more than without the loss; {repaired}.\n",
        short(seconds)
    )
}

/// Numbers with equal neighbours together: `10, 22 x 1`.
fn in_short(numbers: &[String]) -> String {
    let runs = numbers.chunk_by(|one, next| one == next).map(|run| match run.len() {
        1 => run[0].clone(),
        times => format!("{times} x {}", run[0]),
    });
    runs.collect::<Vec<_>>().join(", ")
}

fn sizes(packets: &[(f64, u32)]) -> String {
    let sizes: Vec<_> = packets.iter().map(|(_, bytes)| format!("{bytes} bytes")).collect();
    in_short(&sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_counted() {
        let words = |all: &[&str]| in_short(&all.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(words(&["10", "1", "1", "1", "7"]), "10, 3 x 1, 7");
        assert_eq!(words(&[]), "");
    }
}
