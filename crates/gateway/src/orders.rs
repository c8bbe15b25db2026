//! Orders of the operator by prefix: what was ordered, by whom, and which order counts.
//!
//! Orders come from two places: the `[[override]]` tables of the configuration, and the socket. For one prefix the order of the socket
//! counts until it is released; then that of the file counts again. Of several prefixes that cover an address the longest one counts,
//! wherever its order comes from. An order that the present limits do not allow stays in the book, and does not count.

use core::cmp::Reverse;
use core::fmt;
use core::ops::RangeInclusive;
use std::collections::{BTreeMap, BTreeSet};

use firstflight_contract::Nanos;
use firstflight_document::calendar;
use firstflight_paths::Prefix;

use crate::settings::Override;

/// Most orders of a configuration, and most of the socket.
pub const MOST_ORDERS: usize = 10_000;

/// Orders of the operator; of several that contain a prefix, the one for the longest counts.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    by_prefix: BTreeMap<Prefix, Override>,
    /// Orders of each length, of IPv4 and of IPv6, longest first.
    lengths: [BTreeMap<Reverse<u8>, u32>; 2],
}

impl FromIterator<(Prefix, Override)> for Orders {
    fn from_iter<T: IntoIterator<Item = (Prefix, Override)>>(orders: T) -> Self {
        let mut all = Self::default();
        orders.into_iter().for_each(|(prefix, order)| all.set(prefix, Some(order)));
        all
    }
}

impl Orders {
    /// Sets or ends the order for a prefix.
    pub fn set(&mut self, prefix: Prefix, order: Option<Override>) {
        let before = match order {
            Some(order) => self.by_prefix.insert(prefix, order),
            None => self.by_prefix.remove(&prefix),
        };
        let (was, is) = (before.is_some(), order.is_some());
        let lengths = &mut self.lengths[usize::from(!prefix.is_v4())];
        let count = lengths.entry(Reverse(prefix.length())).or_default();
        *count = *count + u32::from(is) - u32::from(was);
        if *count == 0 {
            lengths.remove(&Reverse(prefix.length()));
        }
    }

    /// The order for the longest prefix that contains this one.
    pub fn of(&self, prefix: &Prefix) -> Option<Override> {
        self.covering(prefix).map(|(_, order)| order)
    }

    /// The longest prefix with an order that contains this one, and that order.
    pub fn covering(&self, prefix: &Prefix) -> Option<(Prefix, Override)> {
        let lengths = &self.lengths[usize::from(!prefix.is_v4())];
        lengths
            .range(Reverse(prefix.length())..)
            .map(|(Reverse(length), _)| Prefix::around(prefix.first(), *length))
            .find_map(|at| self.by_prefix.get(&at).map(|order| (at, *order)))
    }

    /// All of them, by prefix.
    pub fn iter(&self) -> impl Iterator<Item = (Prefix, Override)> + '_ {
        self.by_prefix.iter().map(|(prefix, order)| (*prefix, *order))
    }
}

/// Process that gave an order, and the time. Its text has no space within a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct By {
    /// Time since 1970 by the wall clock.
    pub at: Nanos,
    /// User; [`None`] if it is not known, as that of a signal.
    pub uid: Option<u32>,
    /// Process.
    pub pid: Option<u32>,
    /// Name of the process, as [`By::name`] shows it.
    pub comm: Option<String>,
}

impl By {
    /// Its time as `2024-10-10T13:55:36.250Z`.
    pub fn time(&self) -> String {
        calendar::show(self.at)
    }

    /// The name of a process as a word: at most 32 letters, digits and `-_./+:@`; any other byte becomes `_`.
    pub fn name(comm: &[u8]) -> Option<String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+:@".contains(&byte);
        let word: String =
            comm.iter().take(32).map(|byte| if plain(*byte) { char::from(*byte) } else { '_' }).collect();
        (!word.is_empty()).then_some(word)
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}", self.at.0)?;
        for (word, number) in [("uid", self.uid), ("pid", self.pid)] {
            if let Some(number) = number {
                write!(f, " {word} {number}")?;
            }
        }
        self.comm.as_ref().map_or(Ok(()), |comm| write!(f, " comm {comm}"))
    }
}

/// Effect of an order of the socket on the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Connections to a prefix start by this order until it is released.
    Give(Prefix, Override),
    /// The order of the socket for a prefix ends.
    Release(Prefix),
    /// Every connection starts as the stack starts it.
    Stop,
    /// All orders of the socket end, and the stop.
    ReleaseAll,
    /// All orders of the socket end, and every connection starts as the stack starts it.
    Undo,
}

/// An order of the socket, with its origin. Its text is one line; the lines of all orders since the last [`Book::text`], behind that
/// text, give the same book again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The order.
    pub act: Act,
    /// Its origin; [`None`] in a line of a version that kept none.
    pub by: Option<By>,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.act {
            Act::Give(prefix, order) => write!(f, "{prefix} {order}")?,
            Act::Release(prefix) => write!(f, "{prefix} release")?,
            Act::Stop => write!(f, "stop")?,
            Act::ReleaseAll => write!(f, "release")?,
            Act::Undo => write!(f, "undo")?,
        }
        self.by.as_ref().map_or(Ok(()), |by| write!(f, " {by}"))
    }
}

impl Record {
    /// Reads a line; [`None`] if it is none.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let act = match words.next()? {
            "stop" => Act::Stop,
            "release" => Act::ReleaseAll,
            "undo" => Act::Undo,
            prefix => {
                let prefix = prefix.parse().ok()?;
                match words.next()? {
                    "release" => Act::Release(prefix),
                    order => Act::Give(prefix, Override::parse(order)?),
                }
            }
        };
        let mut by: Option<By> = None;
        while let Some(word) = words.next() {
            let value = words.next()?;
            match (word, &mut by) {
                ("at", None) => by = Some(By { at: Nanos(value.parse().ok()?), ..By::default() }),
                ("uid", Some(By { uid: uid @ None, .. })) => *uid = Some(value.parse().ok()?),
                ("pid", Some(By { pid: pid @ None, .. })) => *pid = Some(value.parse().ok()?),
                ("comm", Some(By { comm: comm @ None, .. })) => {
                    *comm = Some(By::name(value.as_bytes()).filter(|name| name == value)?);
                }
                _ => return None,
            }
        }
        Some(Self { act, by })
    }
}

/// Place of an order that is in the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The configuration, at this line; zero if it is not known.
    File(u32),
    /// The socket.
    Socket(Option<By>),
}

/// An order in the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its prefix.
    pub prefix: Prefix,
    /// The order.
    pub order: Override,
    /// Its place.
    pub origin: Origin,
    /// Reason for which it does not count.
    pub why_not: Option<String>,
}

/// All orders, those of the configuration and those of the socket apart.
#[derive(Clone, Debug)]
pub struct Book {
    /// First windows that orders may have, segments.
    windows: RangeInclusive<u32>,
    file: BTreeMap<Prefix, (Override, u32)>,
    socket: BTreeMap<Prefix, (Override, Option<By>)>,
    /// The order by which every connection starts as the stack starts it.
    stop: Option<Record>,
    /// Lines of the saved orders that could not be read.
    unread: Vec<String>,
}

impl Book {
    /// The orders of a configuration, each with its line.
    pub fn new(
        windows: RangeInclusive<u32>,
        file: impl IntoIterator<Item = (Prefix, Override, u32)>,
    ) -> Self {
        let mut book =
            Self { windows, file: BTreeMap::new(), socket: BTreeMap::new(), stop: None, unread: vec![] };
        book.replace_file(file);
        book
    }

    /// Puts the orders of a configuration in place of those before; answers with the prefixes whose order in force changes.
    pub fn replace_file(
        &mut self,
        file: impl IntoIterator<Item = (Prefix, Override, u32)>,
    ) -> BTreeSet<Prefix> {
        let file = file.into_iter().map(|(prefix, order, line)| (prefix, (order, line))).collect();
        let before = core::mem::replace(&mut self.file, file);
        let mut changed: BTreeSet<_> = before.keys().chain(self.file.keys()).copied().collect();
        let order = |orders: &BTreeMap<Prefix, (Override, u32)>, prefix: &Prefix| {
            orders.get(prefix).map(|(order, _)| *order)
        };
        changed.retain(|prefix| {
            self.given(prefix).is_none() && order(&before, prefix) != order(&self.file, prefix)
        });
        changed
    }

    /// Takes an order of the socket.
    pub fn apply(&mut self, record: Record) {
        match record.act {
            Act::Give(prefix, order) => {
                self.socket.insert(prefix, (order, record.by));
            }
            Act::Release(prefix) => {
                self.socket.remove(&prefix);
            }
            Act::Stop => self.stop = Some(record),
            Act::ReleaseAll => {
                self.socket.clear();
                self.stop = None;
            }
            Act::Undo => {
                self.socket.clear();
                self.stop = Some(Record { act: Act::Stop, ..record });
            }
        }
    }

    /// Takes the lines of [`Book::text`], and those of orders after it; answers with those that cannot be read, which are kept.
    pub fn read(&mut self, text: &str) -> &[String] {
        for line in text.lines() {
            match Record::parse(line) {
                Some(record) => self.apply(record),
                None => self.unread.push(line.to_owned()),
            }
        }
        &self.unread
    }

    /// The orders of the socket as lines, for [`Book::read`].
    pub fn text(&self) -> String {
        let given = self.socket.iter().map(|(prefix, (order, by))| {
            Record { act: Act::Give(*prefix, *order), by: by.clone() }.to_string()
        });
        let stop = self.stop.iter().map(Record::to_string);
        let lines = stop.chain(given).chain(self.unread.iter().cloned());
        lines.map(|line| line + "\n").collect()
    }

    /// Whether every connection starts as the stack starts it.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Origin of the stop, if there is one and its origin is known.
    pub fn stopped_by(&self) -> Option<&By> {
        self.stop.as_ref()?.by.as_ref()
    }

    /// First windows that orders may have, segments.
    pub fn windows(&self) -> &RangeInclusive<u32> {
        &self.windows
    }

    /// Prefixes of the orders of the socket.
    pub fn prefixes(&self) -> Vec<Prefix> {
        self.socket.keys().copied().collect()
    }

    /// Whether the socket has as many orders as may be, and none for this prefix.
    pub fn is_full(&self, prefix: &Prefix) -> bool {
        self.socket.len() >= MOST_ORDERS && !self.socket.contains_key(prefix)
    }

    /// The order that counts for exactly this prefix.
    pub fn in_force(&self, prefix: &Prefix) -> Option<Override> {
        self.given(prefix).or_else(|| self.file.get(prefix).map(|(order, _)| *order))
    }

    /// The order of the socket for exactly this prefix, if it counts.
    fn given(&self, prefix: &Prefix) -> Option<Override> {
        let order = self.socket.get(prefix)?.0;
        order.check(&self.windows).ok().map(|()| order)
    }

    /// The orders for exactly this prefix, the one that counts first.
    pub fn of(&self, prefix: &Prefix) -> Vec<Kept> {
        let file = self.file.get(prefix).map(|(order, line)| Kept {
            prefix: *prefix,
            order: *order,
            origin: Origin::File(*line),
            why_not: None,
        });
        let Some((order, by)) = self.socket.get(prefix) else { return file.into_iter().collect() };
        let (prefix, order, origin) = (*prefix, *order, Origin::Socket(by.clone()));
        match order.check(&self.windows) {
            Err(why) => {
                let waiting = Kept { prefix, order, origin, why_not: Some(why) };
                file.into_iter().chain([waiting]).collect()
            }
            Ok(()) => {
                let why = "the order of the socket for the same prefix counts".to_owned();
                let beneath = file.map(|file| Kept { why_not: Some(why), ..file });
                [Kept { prefix, order, origin, why_not: None }].into_iter().chain(beneath).collect()
            }
        }
    }

    /// Orders in force, of the configuration and of the socket, by kind: windows, frozen, off; and those that the present limits do not
    /// allow. An order of the configuration beneath one of the socket for the same prefix is in neither count.
    pub fn counts(&self) -> ([[u64; 3]; 2], u64) {
        let mut counts = [[0; 3]; 2];
        for kept in self.kept().iter().filter(|kept| kept.why_not.is_none()) {
            let kind = match kept.order {
                Override::Window(_) => 0,
                Override::Freeze => 1,
                Override::Off => 2,
            };
            counts[usize::from(matches!(kept.origin, Origin::Socket(_)))][kind] += 1;
        }
        let waiting = self.socket.values().filter(|(order, _)| order.check(&self.windows).is_err());
        (counts, waiting.count() as u64)
    }

    /// Every order, by prefix; of one prefix the one that counts first.
    pub fn kept(&self) -> Vec<Kept> {
        let prefixes: BTreeSet<_> = self.file.keys().chain(self.socket.keys()).collect();
        prefixes.into_iter().flat_map(|prefix| self.of(prefix)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().expect("a prefix")
    }

    fn by(second: u64) -> Option<By> {
        let at = Nanos::from_secs(second);
        Some(By { at, uid: Some(1000), pid: Some(42), comm: By::name(b"curl") })
    }

    fn give(text: &str, order: Override, second: u64) -> Record {
        Record { act: Act::Give(prefix(text), order), by: by(second) }
    }

    #[test]
    fn an_order_is_one_line_that_is_read_as_it_was_written() {
        let origins = [
            None,
            by(1_764_281_381),
            Some(By { at: Nanos(7), ..By::default() }),
            Some(By { comm: By::name(b"a b\n\xff"), uid: Some(0), ..By::default() }),
        ];
        let acts = [
            Act::Give(prefix("192.0.2.0/24"), Override::Window(20)),
            Act::Give(prefix("::/0"), Override::Off),
            Act::Give(prefix("2001:db8::1/128"), Override::Freeze),
            Act::Release(prefix("0.0.0.0/0")),
            Act::Stop,
            Act::ReleaseAll,
            Act::Undo,
        ];
        for by in origins {
            for act in acts {
                let record = Record { act, by: by.clone() };
                let line = record.to_string();
                assert_eq!(line.lines().count(), 1, "{line}");
                assert_eq!(Record::parse(&line), Some(record), "{line}");
            }
        }
        let line = give("192.0.2.0/24", Override::Window(20), 1).to_string();
        assert_eq!(line, "192.0.2.0/24 20 at 1000000000 uid 1000 pid 42 comm curl");
        assert_eq!(By::name(b"a b\n\xff"), Some("a_b__".to_owned()));
    }

    #[test]
    fn a_line_that_is_no_order_is_refused() {
        for line in [
            "",
            "192.0.2.0/24",
            "192.0.2.1/24 off",
            "192.0.2.0/24 on",
            "192.0.2.0/24 +9",
            "192.0.2.0/24 20 uid 1",
            "192.0.2.0/24 20 at",
            "192.0.2.0/24 20 at 1 at 2",
            "192.0.2.0/24 20 at 1 uid 1 uid 2",
            "192.0.2.0/24 20 at 1 comm a\tb",
            "stop at x",
            "go",
        ] {
            assert_eq!(Record::parse(line), None, "{line}");
        }
    }

    #[test]
    fn lines_of_a_version_without_origins_are_read() {
        let mut book = Book::new(10..=45, []);
        let saved = "stop\n192.0.2.0/24 20\n2001:db8::/32 off\n0.0.0.0/0 freeze\n";
        assert_eq!(book.read(saved), [""; 0]);
        assert!(book.is_stopped() && book.stopped_by().is_none());
        assert_eq!(book.in_force(&prefix("192.0.2.0/24")), Some(Override::Window(20)));
        assert_eq!(book.in_force(&prefix("2001:db8::/32")), Some(Override::Off));
        assert_eq!(book.in_force(&prefix("0.0.0.0/0")), Some(Override::Freeze));
        let mut again = Book::new(10..=45, []);
        again.read(&book.text());
        assert_eq!(again.kept(), book.kept());
    }

    #[test]
    fn the_text_of_a_book_and_the_lines_after_it_give_the_same_book() {
        let mut book = Book::new(10..=45, []);
        let mut text = String::new();
        let records = [
            give("192.0.2.0/24", Override::Window(20), 1),
            give("198.51.100.0/24", Override::Off, 2),
            Record { act: Act::Stop, by: by(3) },
            Record { act: Act::Release(prefix("198.51.100.0/24")), by: by(4) },
            Record { act: Act::ReleaseAll, by: by(5) },
            give("192.0.2.0/24", Override::Freeze, 6),
            Record { act: Act::Undo, by: by(7) },
            give("203.0.113.0/24", Override::Off, 8),
        ];
        for record in records {
            text += &format!("{record}\n");
            book.apply(record);
            let mut from_lines = Book::new(10..=45, []);
            from_lines.read(&text);
            let mut from_text = Book::new(10..=45, []);
            from_text.read(&book.text());
            for other in [&from_lines, &from_text] {
                assert_eq!((other.kept(), other.stopped_by()), (book.kept(), book.stopped_by()), "{text}");
            }
        }
        assert!(book.is_stopped());
        assert_eq!(book.prefixes(), [prefix("203.0.113.0/24")]);
    }

    #[test]
    fn the_order_of_the_socket_counts_until_it_is_released_and_then_that_of_the_file() {
        let here = prefix("192.0.2.0/24");
        let mut book = Book::new(10..=45, [(here, Override::Off, 3)]);
        assert_eq!(book.in_force(&here), Some(Override::Off));
        book.apply(give("192.0.2.0/24", Override::Window(20), 1));
        assert_eq!(book.in_force(&here), Some(Override::Window(20)));
        let kept = book.of(&here);
        assert_eq!((&kept[0].origin, &kept[0].why_not), (&Origin::Socket(by(1)), &None));
        assert_eq!((&kept[1].origin, kept[1].why_not.is_some()), (&Origin::File(3), true));
        assert_eq!(book.counts(), ([[0, 0, 0], [1, 0, 0]], 0));
        // A file that is changed meanwhile counts later.
        assert_eq!(book.replace_file([(here, Override::Window(30), 4)]).len(), 0);
        book.apply(Record { act: Act::Release(here), by: by(2) });
        assert_eq!(book.in_force(&here), Some(Override::Window(30)));
        assert_eq!(book.replace_file([]).into_iter().collect::<Vec<_>>(), [here]);
        assert_eq!(book.in_force(&here), None);
    }

    #[test]
    fn an_order_outside_the_limits_is_kept_and_does_not_count() {
        let here = prefix("192.0.2.0/24");
        let mut book = Book::new(10..=20, [(here, Override::Off, 3)]);
        let unread = book.read("192.0.2.0/24 9\n198.51.100.0/24 twenty\n").to_vec();
        assert_eq!(unread, ["198.51.100.0/24 twenty"]);
        assert_eq!(book.in_force(&here), Some(Override::Off));
        let why = book.of(&here)[1].why_not.clone().expect("a reason");
        assert_eq!(why, "a first window of 9 segments; expected 10 to 20");
        assert_eq!(book.counts(), ([[0, 0, 1], [0, 0, 0]], 1));
        assert_eq!(book.text(), "192.0.2.0/24 9\n198.51.100.0/24 twenty\n");
    }
}
