//! `firstflight capture`: the command that captures a server's traffic, printed or run.

mod live;

use clap::Args;
use firstflight::shell_word;
use firstflight_document::quantity::{parse_time, show_time};
use firstflight_document::quoted;

use crate::arguments::whole;
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::output;
use live::Live;

/// Print the tcpdump command that captures TCP connections at their sender, or run it
///
/// The command is to be run on the host that sends the data, such as the web server, because only there all times are
/// those of the sender. It keeps the headers of both directions and no data, in a ring of files of 100 MB each, the oldest of
/// which is overwritten. It needs the privileges of root (sudo) or the capability CAP_NET_RAW; nothing else changes on the
/// host. `firstflight compare` reads the files of the ring as one capture.
///
/// With --run the command is run at once, and the capture goes to standard output, for a pipe into `firstflight compare -`. It ends after
/// the time of --for, at the length of --files, or by Ctrl-C. Without --run nothing is run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight capture
  firstflight capture --port 443 --for 60s
  sudo firstflight capture --run --for 60s | firstflight compare -
  sudo firstflight capture --run --for 10min --port 80 > before.pcap
  firstflight capture --interface eth0 --port 80 --port 443 --files 100 --write /var/tmp/day.pcap

Its output for a server of HTTPS, to be run there for a minute:
  sudo timeout 60 tcpdump -i any -s 128 -B 16384 -C 100 -W 20 -Z \"$USER\" -w server.pcap 'tcp port 443'
  firstflight compare server.pcap")]
pub(crate) struct Options {
    /// Network interface of the connections; any captures on all of them
    #[arg(long, value_name = "NAME", default_value = "any")]
    interface: String,
    /// Port of the server; several are captured together [default: 443]
    #[arg(long = "port", value_name = "N", allow_hyphen_values = true, value_parser = whole::<u16>(1..=65_535))]
    ports: Vec<u16>,
    /// Time after which the capture ends, such as 60s; without it, Ctrl-C ends it
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    time: Option<String>,
    /// Run tcpdump here, and write the capture to standard output
    #[arg(long, requires = "time", conflicts_with = "write")]
    run: bool,
    /// Files of the ring, of 100 MB each; with --run, the length of the capture in steps of 100 MB
    #[arg(long, value_name = "N", allow_hyphen_values = true, default_value_t = 20, value_parser = whole::<u32>(1..=100_000))]
    files: u32,
    /// Name of the files, to which tcpdump appends a number
    #[arg(long, value_name = "FILE", default_value = "server.pcap")]
    write: String,
}

/// Bytes kept of each packet: link header, IPv6 and TCP with all its options.
const KEPT: u32 = 128;
/// Buffer of the kernel, KiB: enough for a burst of a 10 Gbit/s link.
const BUFFER: u32 = 16_384;
/// Length of a file, millions of bytes.
const FILE: u32 = 100;
const HTTPS: u16 = 443;

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    let seconds = options.time.as_deref().map(seconds).transpose()?;
    match seconds {
        Some(seconds) if options.run => {
            let words = options.live(seconds);
            let shown: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
            let privileged = format!("sudo {} | firstflight compare -", shown.join(" "));
            let most = u64::from(options.files) * u64::from(FILE) * 1_000_000;
            Live { words: &words, privileged: &privileged, most }.run()
        }
        _ => output::show(&text(options, seconds)),
    }
}

impl Options {
    /// The filter of tcpdump.
    fn filter(&self) -> String {
        let ports = if self.ports.is_empty() { &[HTTPS][..] } else { &self.ports };
        ports.iter().map(|port| format!("tcp port {port}")).collect::<Vec<_>>().join(" or ")
    }

    /// The command that captures to standard output for so many seconds. `timeout` stays in the process group, so that a Ctrl-C reaches
    /// tcpdump, and ends a tcpdump that does not end by itself.
    fn live(&self, seconds: u64) -> Vec<String> {
        let [seconds, kept, buffer] = [seconds, KEPT.into(), BUFFER.into()].map(|number| number.to_string());
        let words = ["timeout", "--foreground", "-k", "5", &seconds, "tcpdump", "-i", &self.interface];
        let words = words.into_iter().chain(["-s", &kept, "-B", &buffer, "-U", "-w", "-"]);
        words.map(str::to_owned).chain([self.filter()]).collect()
    }
}

fn text(options: &Options, seconds: Option<u64>) -> String {
    let timeout = seconds.map(|seconds| format!("timeout {seconds} ")).unwrap_or_default();
    let file = shell_word(&options.write);
    format!(
        "sudo {timeout}tcpdump -i {} -s {KEPT} -B {BUFFER} -C {FILE} -W {} -Z \"$USER\" -w {file} '{}'\n\
         firstflight compare {file}\n",
        shell_word(&options.interface),
        options.files,
        options.filter(),
    )
}

/// Whole seconds of a time.
fn seconds(text: &str) -> Result<u64, Failure> {
    let place = || option("for", Some(&quoted(text)));
    let time = parse_time(text).map_err(|error| {
        wrong_at(place(), &error.problem).expecting("a time such as 60s").near(error.nearest.as_deref())
    })?;
    if time.0 == 0 {
        return Err(wrong_at(place(), "zero").expecting("a time such as 60s").into());
    }
    if !time.0.is_multiple_of(1_000_000_000) {
        let why = format!("{} is not a whole number of seconds", show_time(time));
        return Err(wrong_at(place(), why).expecting("a time such as 60s").into());
    }
    Ok(time.0 / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        options: Options,
    }

    fn printed(words: &[&str]) -> String {
        let words = Words::parse_from([&["capture"], words].concat());
        let seconds = words.options.time.as_deref().map(|text| seconds(text).expect("a time"));
        text(&words.options, seconds)
    }

    #[test]
    fn the_command_captures_the_headers_of_both_directions_in_a_ring() {
        assert_eq!(
            printed(&["--port", "443", "--for", "60s"]),
            "sudo timeout 60 tcpdump -i any -s 128 -B 16384 -C 100 -W 20 -Z \"$USER\" -w server.pcap 'tcp port 443'\n\
             firstflight compare server.pcap\n"
        );
        assert_eq!(
            printed(&[
                "--interface",
                "eth0",
                "--port",
                "80",
                "--port",
                "443",
                "--files",
                "5",
                "--write",
                "my day.pcap"
            ]),
            "sudo tcpdump -i eth0 -s 128 -B 16384 -C 100 -W 5 -Z \"$USER\" -w 'my day.pcap' 'tcp port 80 or tcp port 443'\n\
             firstflight compare 'my day.pcap'\n"
        );
    }

    #[test]
    fn times_are_whole_seconds() {
        assert_eq!(seconds("2 min").ok(), Some(120));
        for (text, message) in
            [("60", "the unit is missing"), ("0s", "zero"), ("1.5 s", "not a whole number of seconds")]
        {
            let Err(Failure::Because(why)) = seconds(text) else { panic!("{text}") };
            assert!(why.starts_with("--for \"") && why.contains(message), "{why}");
        }
    }
}
