//! Rings: files that one command wrote one after another, under names that it made from the name it was given.
//!
//! | command | files of `-w day.pcap` |
//! |---|---|
//! | `tcpdump -C N` | `day.pcap`, `day.pcap1`, `day.pcap2` |
//! | `tcpdump -C N -W M` | `day.pcap00`, `day.pcap01` |
//! | `tcpdump -G N`, with `day-%H%M.pcap` | `day-1200.pcap`, `day-1300.pcap`; with `-C` also `day-1200.pcap1` |
//! | `dumpcap -b`, `editcap -c`, `editcap -i` | `day_00001_20261127190000.pcap`, or number and time in the other order |
//!
//! Each may be compressed, as by `tcpdump -z gzip`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use firstflight_capture::first_packet_time;
use firstflight_contract::Nanos;
use firstflight_document::file;

/// Endings of compressed captures.
const PACKED: [&str; 2] = [".gz", ".zst"];

/// Endings of captures.
pub(super) const CAPTURES: [&str; 3] = [".pcap", ".pcapng", ".cap"];

/// Files that a name stands for; none if it stands for itself.
#[derive(Debug, Default)]
pub(super) struct Ring {
    pub(super) files: Vec<PathBuf>,
    /// Files that look like others of the ring and are not read, one sentence each.
    pub(super) warnings: Vec<String>,
}

/// The ring that `path` stands for: the files that were made from its name. A file of this name is the first of
/// `tcpdump -C` without `-W` if others follow it by their numbers and their times.
pub(super) fn ring(path: &Path) -> Ring {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ring::default() };
    if is_numbered(path, unpacked(name)) {
        return Ring::default();
    }
    let base = if path.exists() { unpacked(name) } else { name };
    let names = names_beside(path);
    // of a file and its compressed copy the file is read
    let mut numbered = BTreeMap::<&str, &str>::new();
    for other in &names {
        if let Some(number) = unpacked(other).strip_prefix(base).filter(|rest| is_number(rest)) {
            let first = numbered.entry(number).or_insert(other);
            *first = if first.len() <= other.len() { first } else { other };
        }
    }
    let found = |name: &str| path.with_file_name(name);
    let head = match path.exists() {
        true => Some(path.to_path_buf()),
        false => {
            names.iter().find(|other| other.len() > base.len() && unpacked(other) == base).map(|it| found(it))
        }
    };
    match head {
        Some(head) => follow(head, &numbered, &found),
        None if !numbered.is_empty() => {
            Ring { files: numbered.into_values().map(found).collect(), warnings: vec![] }
        }
        None => {
            let fits = |other: &&String| is_dated(base, unpacked(other)) || fits(base, unpacked(other));
            Ring { files: names.iter().filter(fits).map(|it| found(it)).collect(), warnings: vec![] }
        }
    }
}

/// Whether this is the name of a file of a ring, which stands for itself: `x.pcap11` does not follow `x.pcap1`. A name without the
/// ending of a capture is one if a file has it without some of its last digits.
fn is_numbered(path: &Path, name: &str) -> bool {
    let base = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let mut shorter = (base.len()..name.len()).filter(|len| *len > 0);
    shorter.any(|len| path.with_file_name(&name[..len]).is_file())
        || base.len() < name.len() && CAPTURES.iter().any(|end| base.ends_with(end))
}

/// The name that stands for the whole ring of which `path` is one file, by its own name.
pub(super) fn whole(path: &Path) -> Option<PathBuf> {
    let name = unpacked(path.file_name()?.to_str()?);
    let base = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    if base.len() < name.len() && CAPTURES.iter().any(|end| base.ends_with(end)) {
        return Some(path.with_file_name(base));
    }
    let (stem, end) = name.rsplit_once('.')?;
    let (rest, last) = stem.rsplit_once('_')?;
    let (base, first) = rest.rsplit_once('_')?;
    is_number_and_date(first, last).then(|| path.with_file_name(format!("{base}.{end}")))
}

/// The files that follow `head` by the numbers 1, 2, 3 and so on, as long as their first packets follow those of the files
/// before.
fn follow(head: PathBuf, numbered: &BTreeMap<&str, &str>, found: &impl Fn(&str) -> PathBuf) -> Ring {
    let mut ring = Ring::default();
    let mut latest = first_time(&head);
    let shown = head.display().to_string();
    let mut files = vec![head];
    for number in 1_u64.. {
        let Some(name) = numbered.get(&*number.to_string()) else { break };
        let (next, time) = (found(name), first_time(&found(name)));
        let why = match (time, latest) {
            (Err(()), _) => "is no capture",
            (Ok(Some(time)), Ok(Some(before))) if time < before => "begins before it",
            _ => {
                latest = if matches!(time, Ok(Some(_))) { time } else { latest };
                files.push(next);
                continue;
            }
        };
        ring.warnings.push(format!(
            "{}: the file has the name of the next file of {shown} and {why}; it is not read",
            next.display()
        ));
        break;
    }
    let passed = numbered.keys().filter(|number| number.starts_with('0')).count();
    if passed > 0 {
        let (which, are) = match passed {
            1 => ("one file beside it has".into(), "it is"),
            _ => (format!("{passed} files beside it have"), "they are"),
        };
        ring.warnings.push(format!(
            "{shown}: {which} its name and a number, as in another ring (tcpdump -W); {are} not read"
        ));
    }
    ring.files = files;
    ring
}

/// Time of the first packet; the error stands for a file that is no capture.
fn first_time(path: &Path) -> Result<Option<Nanos>, ()> {
    let file = file::open(path).map_err(drop)?;
    first_packet_time(file, path).map_err(drop)
}

/// Names of the files in the folder of `path`, sorted.
fn names_beside(path: &Path) -> Vec<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| !entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// A name without the ending of a compression.
fn unpacked(name: &str) -> &str {
    PACKED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the two are a number of five digits or more and a time to the second, in either order.
fn is_number_and_date(one: &str, other: &str) -> bool {
    let date = |text: &str| is_number(text) && text.len() == 14;
    let number = |text: &str| is_number(text) && (5..=10).contains(&text.len());
    number(one) && date(other) || date(one) && number(other)
}

/// Whether `name` is `base` with a number and a time before its ending.
fn is_dated(base: &str, name: &str) -> bool {
    let (stem, end) = base.rsplit_once('.').unwrap_or((base, ""));
    let middle = || {
        name.strip_prefix(stem)?.strip_suffix(end)?.strip_prefix('_')?.trim_end_matches('.').split_once('_')
    };
    middle().is_some_and(|(one, other)| is_number_and_date(one, other))
}

/// Whether `name` is one of those of a pattern of `strftime`, or one with a number behind it.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((literal, rest)) = pattern.split_once('%') else {
        return pattern == name || name.strip_prefix(pattern).is_some_and(is_number);
    };
    let Some(name) = name.strip_prefix(literal) else { return false };
    let mut letters = rest.chars();
    let Some(letter) = letters.next() else { return false };
    let rest = letters.as_str();
    let digits = |count: usize| {
        let (field, behind) = name.split_at_checked(count)?;
        is_number(field).then(|| fits(rest, behind))
    };
    match letter {
        '%' => name.strip_prefix('%').is_some_and(|name| fits(rest, name)),
        'Y' => digits(4).unwrap_or(false),
        'C' | 'd' | 'H' | 'I' | 'm' | 'M' | 'S' | 'U' | 'V' | 'W' | 'y' => digits(2).unwrap_or(false),
        'j' => digits(3).unwrap_or(false),
        'F' => fits(&format!("%Y-%m-%d{rest}"), name),
        'T' => fits(&format!("%H:%M:%S{rest}"), name),
        'R' => fits(&format!("%H:%M{rest}"), name),
        _ => {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "+-: ".contains(c);
            let longest = name.find(|c| !is_part(c)).unwrap_or(name.len());
            (1..=longest).any(|len| fits(rest, &name[len..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_ring_are_those_that_tcpdump_dumpcap_and_editcap_make() {
        for name in ["a_00001_20261127190000.pcapng", "a_20261127190000_00001.pcapng"] {
            assert!(is_dated("a.pcapng", name), "{name}");
            assert_eq!(whole(Path::new(name)), Some(PathBuf::from("a.pcapng")));
        }
        for name in
            ["a.pcapng", "a_1_20261127190000.pcapng", "ab_00001_20261127190000.pcapng", "a_00001_2026.pcapng"]
        {
            assert!(!is_dated("a.pcapng", name), "{name}");
        }
        assert!(is_dated("a", "a_00000_20261127190000"), "editcap keeps a name without an ending");
        for (name, base) in [("x/a.pcap3", "x/a.pcap"), ("a.pcap07.gz", "a.pcap"), ("a.cap12", "a.cap")] {
            assert_eq!(whole(Path::new(name)), Some(PathBuf::from(base)));
        }
        for name in ["a.pcap", "a1.pcap", "a.txt1", "a_b_c.pcap"] {
            assert_eq!(whole(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn patterns_of_strftime_are_matched() {
        for (pattern, name) in [
            ("a-%H%M.pcap", "a-1259.pcap"),
            ("a-%H%M.pcap", "a-1259.pcap12"),
            ("%F_%T.pcap", "2026-11-27_19:00:00.pcap"),
            ("a%s.pcap", "a1795806000.pcap"),
            ("a-%b-%d.pcap", "a-Nov-27.pcap"),
            ("50%%-%Y.pcap", "50%-2026.pcap"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("a-%H%M.pcap", "a-125.pcap"),
            ("a-%H.pcap", "a-12.pcap.toml"),
            ("a-%H.pcap", "b-12.pcap"),
            ("a%", "a"),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
