//! True values: the paths in `truth.csv`, the transfer times of the kernel on them, and the captures of these.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use firstflight_compare::Input;
use firstflight_quantile::type_7;
use firstflight_scenario::parse;

use crate::kinds::is_plain;

/// A path that is known exactly, or nominally where its rate varies.
#[derive(Clone, Debug)]
pub(crate) struct TruePath {
    /// Name, as in the names of its files.
    pub(crate) name: String,
    /// Bottleneck rate, Mbit/s; `None` if there is no one rate.
    pub(crate) rate_mbit_s: Option<f64>,
    /// Two-way propagation delay, ms.
    pub(crate) rtt_ms: f64,
    /// Number of packets that can wait; `None` if there is no queue.
    pub(crate) buffer_packets: Option<u64>,
    /// Transfers measured on it, by congestion control and size.
    pub(crate) transfers: Vec<Transfer>,
}

/// Measurements of one congestion control at one size.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    /// Kernel's name of the control: `cubic`.
    pub(crate) control: String,
    /// Application bytes.
    pub(crate) bytes: u64,
    /// Time of each repeat, milliseconds, ascending.
    pub(crate) repeats_ms: Vec<f64>,
    /// Time of the first repeat, milliseconds.
    pub(crate) first_ms: f64,
    /// Captures of repeats, in the order of the repeats.
    pub(crate) captures: Vec<PathBuf>,
}

const COLUMNS: &str =
    "path,rate_mbit_s,rtt_ms,buffer_packets,congestion_control,bytes,repeat,connect_ms,transfer_ms";

/// Reads the paths of a folder, with their transfers and captures, from the folder or its parent.
pub(crate) fn read(folder: &Path) -> Result<Vec<TruePath>, String> {
    let beside = folder.join("truth.csv");
    let file = if beside.exists() { beside } else { folder.join("../truth.csv") };
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut paths = paths(&text).map_err(|(line, why)| format!("{}:{line}: {why}", file.display()))?;
    for path in &mut paths {
        for transfer in &mut path.transfers {
            let stem = format!("{}-{}-{}KB", path.name, transfer.control, transfer.bytes / 1000);
            transfer.captures = captures(folder, &stem, transfer.repeats_ms.len());
        }
    }
    Ok(paths)
}

/// Files of the captured repeats of a transfer: the first has no number.
fn captures(folder: &Path, stem: &str, repeats: usize) -> Vec<PathBuf> {
    let stems =
        (0..repeats).map(|repeat| if repeat == 0 { stem.to_owned() } else { format!("{stem}-{repeat}") });
    let file = |stem: String| {
        let files = ["pcap", "pcap.gz"].map(|end| folder.join(format!("{stem}.{end}")));
        files.into_iter().find(|file| file.exists())
    };
    stems.filter_map(file).collect()
}

fn paths(text: &str) -> Result<Vec<TruePath>, (usize, String)> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    match lines.next() {
        Some((_, header)) if header.trim() == COLUMNS => {}
        _ => return Err((1, format!("expected the columns {COLUMNS}"))),
    }
    let mut paths: Vec<TruePath> = vec![];
    let mut transfers: BTreeMap<(usize, String, u64), Vec<f64>> = BTreeMap::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let at = |why: String| (number, why);
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [name, rate, rtt, buffer, control, bytes, _, _, transfer] = fields[..] else {
            return Err(at(format!("expected nine fields, found {}", fields.len())));
        };
        let parsed =
            |field: &str| field.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let number = |field: &str, what: &str| {
            let value = parsed(field).filter(|value| *value > 0.0);
            value.ok_or_else(|| at(format!("{what} \"{field}\": expected a number above zero")))
        };
        let or_none = |field: &str, what: &str| {
            let value = parsed(field);
            let value =
                value.ok_or_else(|| at(format!("{what} \"{field}\": expected a number, or 0 for none")))?;
            Ok((value > 0.0).then_some(value))
        };
        let (rate_mbit_s, rtt_ms) = (or_none(rate, "rate_mbit_s")?, number(rtt, "rtt_ms")?);
        let buffer_packets = or_none(buffer, "buffer_packets")?.map(|packets| packets as u64);
        let index = paths.iter().position(|path| path.name == name).unwrap_or_else(|| {
            let transfers = vec![];
            paths.push(TruePath { name: name.into(), rate_mbit_s, rtt_ms, buffer_packets, transfers });
            paths.len() - 1
        });
        let first = &paths[index];
        if (first.rate_mbit_s, first.rtt_ms, first.buffer_packets) != (rate_mbit_s, rtt_ms, buffer_packets) {
            return Err(at(format!("the path {name} has other values on an earlier line")));
        }
        let key = (index, control.to_owned(), number(bytes, "bytes")? as u64);
        transfers.entry(key).or_default().push(number(transfer, "transfer_ms")?);
    }
    for ((index, control, bytes), mut repeats_ms) in transfers {
        let first_ms = repeats_ms[0];
        repeats_ms.sort_by(f64::total_cmp);
        paths[index].transfers.push(Transfer { control, bytes, repeats_ms, first_ms, captures: vec![] });
    }
    Ok(paths)
}

impl TruePath {
    /// The path as a scenario; `None` unless it is a constant rate with a drop-tail queue. The emulator has only the
    /// bottleneck link, so the ends take no time. The receivers have buffers of 32 MiB, of which they offer half at first
    /// and 20 MiB at most.
    pub(crate) fn input(&self) -> Option<Input> {
        let (rate, buffer) = self.rate_mbit_s.zip(self.buffer_packets).filter(|_| is_plain(&self.name))?;
        let text = format!(
            "[path]\nrate = \"{rate} Mbit/s\"\nrtt = \"{} ms\"\nbuffer = \"{buffer} packets\"\naccess_rate = \"100 Gbit/s\"\n\
             [[flow]]\nname = \"transfer\"\nprofile = \"linux\"\nsize = \"1 KB\"\n\
             initial_receive_window = \"16 MiB\"\nreceive_window = \"20 MiB\"\n",
            self.rtt_ms
        );
        Some(Input::Scenario(Box::new(parse(&text, &self.name).expect("truth.csv was read with its units"))))
    }

    /// Measured sizes, ascending.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.transfers.iter().map(|transfer| transfer.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

impl Transfer {
    /// Quantile `p` of the repeats, milliseconds.
    pub(crate) fn quantile_ms(&self, p: f64) -> f64 {
        type_7(&self.repeats_ms, p)
    }

    /// Median of the repeats, milliseconds.
    pub(crate) fn truth_ms(&self) -> f64 {
        self.quantile_ms(0.5)
    }

    /// Widest range of a sharp forecast, milliseconds: 1.5 times the kernel's own from 5 to 95 %, and 5 % of its median.
    pub(crate) fn allowed_ms(&self) -> f64 {
        1.5 * (self.quantile_ms(0.95) - self.quantile_ms(0.05)) + 0.05 * self.truth_ms()
    }
}
