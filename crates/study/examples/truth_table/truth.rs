//! True values: the paths in `truth.csv`, and the transfer times of the kernel on them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use firstflight_scenario::parse;
use firstflight_study::compare::Input;

/// A folder of captures with its true values.
pub(crate) struct Folder {
    /// Name, for headings.
    pub(crate) name: String,
    /// Paths, by name.
    pub(crate) paths: Vec<TruePath>,
}

/// An exactly known path.
pub(crate) struct TruePath {
    /// Name, as in the names of its files.
    pub(crate) name: String,
    /// Bottleneck rate, Mbit/s.
    pub(crate) rate_mbit_s: f64,
    /// Two-way propagation delay, ms.
    pub(crate) rtt_ms: f64,
    /// Number of packets that can wait.
    pub(crate) buffer_packets: u64,
    /// Transfers measured on it, by congestion control and size.
    pub(crate) transfers: Vec<Transfer>,
}

/// Measurements of one congestion control at one size.
pub(crate) struct Transfer {
    /// Kernel's name of the control: `cubic`.
    pub(crate) control: String,
    /// Application bytes.
    pub(crate) bytes: u64,
    /// Time of each repeat, milliseconds, ascending.
    pub(crate) repeats_ms: Vec<f64>,
    /// Its capture, if the folder has one.
    pub(crate) capture: Option<PathBuf>,
}

const COLUMNS: &str =
    "path,rate_mbit_s,rtt_ms,buffer_packets,congestion_control,bytes,repeat,connect_ms,transfer_ms";

impl Folder {
    /// Reads the true values of a folder, from the folder or its parent.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let beside = folder.join("truth.csv");
        let file = if beside.exists() { beside } else { folder.join("../truth.csv") };
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut paths = paths(&text).map_err(|(line, why)| format!("{}:{line}: {why}", file.display()))?;
        for path in &mut paths {
            for transfer in &mut path.transfers {
                let stem = format!("{}-{}-{}KB", path.name, transfer.control, transfer.bytes / 1000);
                let capture = folder.join(stem + ".pcap");
                transfer.capture = capture.exists().then_some(capture);
            }
        }
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.into());
        let name = whole.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(Self { name, paths })
    }
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
        let number = |field: &str, what: &str| {
            let value = field.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
            value.ok_or_else(|| at(format!("{what} \"{field}\": expected a number above zero")))
        };
        let (rate_mbit_s, rtt_ms) = (number(rate, "rate_mbit_s")?, number(rtt, "rtt_ms")?);
        let buffer_packets = number(buffer, "buffer_packets")? as u64;
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
        repeats_ms.sort_by(f64::total_cmp);
        paths[index].transfers.push(Transfer { control, bytes, repeats_ms, capture: None });
    }
    Ok(paths)
}

impl TruePath {
    /// The path as a scenario. The emulator has only the bottleneck link, so the ends take no time. The
    /// receivers have buffers of 32 MiB, of which they offer half at first and 20 MiB at most.
    pub(crate) fn input(&self) -> Input {
        let text = format!(
            "[path]\nrate = \"{} Mbit/s\"\nrtt = \"{} ms\"\nbuffer = \"{} packets\"\naccess_rate = \"100 Gbit/s\"\n\
             [[flow]]\nname = \"transfer\"\nprofile = \"linux\"\nsize = \"1 KB\"\n\
             initial_receive_window = \"16 MiB\"\nreceive_window = \"20 MiB\"\n",
            self.rate_mbit_s, self.rtt_ms, self.buffer_packets
        );
        Input::Scenario(Box::new(parse(&text, &self.name).expect("truth.csv was read with its units")))
    }

    /// Transfers with one control and size.
    pub(crate) fn transfer(&self, control: &str, bytes: u64) -> Option<&Transfer> {
        self.transfers.iter().find(|transfer| transfer.control == control && transfer.bytes == bytes)
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
    /// Median of the repeats, milliseconds.
    pub(crate) fn truth_ms(&self) -> f64 {
        firstflight_study::stats::quantile(&self.repeats_ms, 0.5)
    }
}
