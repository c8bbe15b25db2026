//! Columns of a trace: their names and units.

/// The choice of the columns of a trace. What is not chosen is recognised by the names in the file's first line, or is the
/// first column in seconds and the second in Mbit/s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Name of the column with the rate.
    pub column: Option<String>,
    /// Unit of the rate.
    pub unit: Option<RateUnit>,
    /// Name of the column with the time.
    pub time: Option<String>,
    /// Unit of the time.
    pub time_unit: Option<TimeUnit>,
    /// Lines of a trace that stands in the scenario itself.
    pub text: Option<Box<str>>,
}

impl Columns {
    /// Whether nothing is chosen.
    pub(crate) fn are_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// A unit of rates: its name, and its bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateUnit {
    /// Name in scenarios.
    pub name: &'static str,
    /// Bits per second.
    pub bits: u64,
}

/// A unit of times: its name, and its nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnit {
    /// Name in scenarios.
    pub name: &'static str,
    /// Decimal digits of its nanoseconds: 9 for a second.
    pub digits: u32,
}

/// Names of the units of rates in scenarios.
pub(crate) const RATE_UNITS: &[&str] =
    &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "B/s", "kB/s", "MB/s", "GB/s"];
/// Names of the units of times in scenarios.
pub(crate) const TIME_UNITS: &[&str] = &["s", "ms", "us", "ns"];

pub(super) const MEGABITS: RateUnit = RateUnit { name: "Mbit/s", bits: 1_000_000 };
pub(super) const SECONDS: TimeUnit = TimeUnit { name: "s", digits: 9 };

impl RateUnit {
    /// The unit of this name, in any of the ways in which files write it: `Mbps`, `mbit/s`, `bytes/sec`. A `B` is a byte and a `b`
    /// a bit; a name in capitals only, such as `MBPS`, could be either and is none.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        let (stem, per) = match text.split_once(['/', '_', ' ']) {
            Some((stem, second)) => (stem, ["s", "sec", "second"].contains(&second)),
            None => (text.strip_suffix("ps")?, true),
        };
        let power = match stem.bytes().next()? {
            b'k' | b'K' => 1,
            b'm' | b'M' => 2,
            b'g' | b'G' => 3,
            _ => 0,
        };
        let bits = match &stem[usize::from(power > 0)..] {
            "B" | "byte" | "bytes" | "Byte" | "Bytes" => 8,
            "b" | "bit" | "bits" | "Bit" | "Bits" => 1,
            _ => return None,
        };
        let name = RATE_UNITS[power + if bits == 8 { 4 } else { 0 }];
        per.then(|| Self { name, bits: bits * 1000_u64.pow(power as u32) })
    }
}

impl TimeUnit {
    /// The unit of this name, in any of the ways in which files write it.
    pub fn of(text: &str) -> Option<Self> {
        let digits = match &*text.trim().to_lowercase() {
            "s" | "sec" | "secs" | "second" | "seconds" => 9,
            "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => 6,
            "us" | "usec" | "\u{b5}s" | "\u{3bc}s" | "micros" | "microsecond" | "microseconds" => 3,
            "ns" | "nsec" | "nanos" | "nanosecond" | "nanoseconds" => 0,
            _ => return None,
        };
        Some(Self { name: TIME_UNITS[3 - digits as usize / 3], digits })
    }

    /// The unit of an absolute time, by its size: seconds since 1970 have ten digits, milliseconds thirteen, and so on. Times since
    /// the beginning of a trace are seconds: the longest has nine digits.
    pub(super) fn of_size(digits: usize) -> Self {
        match digits {
            0..=11 => SECONDS,
            12..=14 => Self { name: "ms", digits: 6 },
            15..=17 => Self { name: "us", digits: 3 },
            _ => Self { name: "ns", digits: 0 },
        }
    }
}

/// The words of a column's name: `DL_bitrate (kbps)` has three.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric() && c != '/').filter(|word| !word.is_empty())
}

/// Columns of collections whose unit their names lack: the 4G and 5G traces of University College Cork (D. Raca and others, "Beyond
/// throughput: a 4G LTE dataset with channel and context metrics", MMSys 2018, and its 5G successor, MMSys 2020; kbit/s), and
/// Puffer's `video_sent` (F. Yan and others, NSDI 2020; TCP's delivery rate in bytes/s, as StanfordSNR/puffer's src/net/socket.hh
/// states). docs/traces.md lists how each was verified.
const KNOWN: [(&str, &str); 3] =
    [("DL_bitrate", "kbit/s"), ("UL_bitrate", "kbit/s"), ("delivery_rate", "B/s")];

/// The unit of the rates of a column, as its name states it.
pub(super) fn rate_unit(name: &str) -> Option<RateUnit> {
    let words: Vec<_> = words(name).collect();
    let single = || words.iter().find_map(|word| RateUnit::of(word));
    let pair = || words.windows(2).find_map(|pair| RateUnit::of(&pair.join("_")));
    let per = || {
        words
            .windows(3)
            .find_map(|three| RateUnit::of(&[three[0], three[2]].join("_")).filter(|_| three[1] == "per"))
    };
    let known = || KNOWN.iter().find(|(known, _)| *known == name).and_then(|(_, unit)| RateUnit::of(unit));
    single().or_else(pair).or_else(per).or_else(known)
}

/// Whether a column has rates, by its name.
pub(super) fn is_rate(name: &str) -> bool {
    const WORDS: [&str; 9] =
        ["rate", "bitrate", "datarate", "bandwidth", "bw", "throughput", "goodput", "capacity", "tput"];
    let has_word = || words(name).any(|word| WORDS.contains(&&*word.to_lowercase()));
    rate_unit(name).is_some() || has_word() && !is_of_another_kind(name)
}

/// Whether a name has a word of rates that are no bit rates, such as `loss_rate`, or of their units, such as `bandwidth (MHz)`.
fn is_of_another_kind(name: &str) -> bool {
    const KINDS: [&str; 13] = [
        "loss",
        "lost",
        "error",
        "drop",
        "retransmission",
        "frame",
        "fps",
        "sample",
        "sampling",
        "code",
        "coding",
        "success",
        "hit",
    ];
    const UNITS: [&str; 13] = [
        "hz", "khz", "mhz", "ghz", "pps", "kpps", "mpps", "pkt", "pkts", "packet", "packets", "percent",
        "pct",
    ];
    let is = |word: &str| KINDS.contains(&word) || UNITS.contains(&word);
    name.contains('%') || words(name).any(|word| word.to_lowercase().split('/').any(is))
}

/// Whether the name of a column has something like a unit that does not say which: of bits or of bytes, without a time, or of other
/// things than bits.
pub(super) fn is_unclear(name: &str) -> bool {
    let is_like = |word: &str| {
        let word = word.to_lowercase();
        let stem = word.trim_end_matches("/s").trim_end_matches("ps").trim_end_matches('s');
        let (prefix, rest) = stem.split_at_checked(1).unwrap_or_default();
        let of = |rest: &str| ["b", "bit", "byte", "ib", "ibit", "ibyte"].contains(&rest);
        ["k", "m", "g"].contains(&prefix) && of(rest)
            || ["byte", "bp"].contains(&stem)
            || word == "bits"
            || word == "bps"
    };
    rate_unit(name).is_none() && (words(name).any(is_like) || is_of_another_kind(name))
}

/// The unit of the times of a column, as its name states it.
pub(super) fn time_unit(name: &str) -> Option<TimeUnit> {
    words(name).filter(|word| *word != "t").find_map(TimeUnit::of)
}

/// Whether the name of a column has a unit of times that is not read.
pub(super) fn is_other_time(name: &str) -> bool {
    time_unit(name).is_none() && words(name).any(is_long)
}

/// Whether a word is a unit of times above a second.
fn is_long(word: &str) -> bool {
    const UNITS: [&str; 9] = ["min", "mins", "minute", "minutes", "h", "hr", "hrs", "hour", "hours"];
    UNITS.contains(&&*word.to_lowercase())
}

/// Certainty that a column has times, by its name: 2 if the name is a word for time, with or without a unit. It is 1 if the
/// name contains such a word, else 0.
pub(super) fn is_time(name: &str) -> u8 {
    const WORDS: [&str; 8] = ["time", "timestamp", "t", "ts", "dtime", "datetime", "date", "elapsed"];
    if is_rate(name) {
        return 0;
    }
    let plain = |word: &&str| TimeUnit::of(word).is_none() && !["GMT", "UTC"].contains(word);
    let names: Vec<_> = words(name).filter(plain).map(str::to_lowercase).collect();
    let is_word = |word: &String| WORDS.contains(&&**word);
    match &names[..] {
        [] if time_unit(name).is_some() => 2,
        [only] if is_word(only) => 2,
        // Not `min`, which can be a minimum, or `hour`, which stands beside a date.
        [only] => u8::from(["minutes", "hours"].contains(&&**only)),
        names => u8::from(names.iter().any(is_word)),
    }
}
