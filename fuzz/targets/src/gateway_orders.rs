//! Any bytes as the saved orders of a gateway: every whole order is read, everything else is named.

use firstflight_daemon::{parse_orders, whole_orders};
use firstflight_gateway::{Book, Record};

use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "gateway_orders",
    about: "bytes as a gateway's saved orders, as they are and each line with its checksum: every whole order is read, the rest is named",
    run,
    longest: 4 << 10,
    form: Form::Text(WORDS),
};

const WORDS: &[&str] = &[
    "firstflight orders 1\n",
    "stop",
    "release",
    "undo",
    "192.0.2.0/24 20",
    "2001:db8::/48 off",
    "0.0.0.0/0 freeze",
    " at 1764281381000000000",
    " uid 1000",
    " pid 42",
    " comm curl",
    "\t",
    "\n",
    "\0",
];

fn run(bytes: &[u8]) {
    judged(bytes);
    // The same lines as changes with their checksums.
    let Ok(text) = str::from_utf8(bytes) else { return };
    let changes: Vec<_> =
        text.lines().filter(|line| !line.is_empty() && !line.contains('\t')).map(str::to_owned).collect();
    let (read, damage) = parse_orders(&whole_orders(&changes));
    assert_eq!(read, changes, "an order was not read as it was written");
    assert_eq!(damage.is_empty(), !changes.is_empty(), "{damage:?}");
    judged(&whole_orders(&changes));
}

fn judged(bytes: &[u8]) {
    let (changes, damage) = parse_orders(bytes);
    damage.iter().for_each(refused);
    let mut book = Book::new(10..=45, []);
    for change in &changes {
        book.read(change);
        if let Some(record) = Record::parse(change) {
            assert_eq!(
                Record::parse(&record.to_string()),
                Some(record),
                "an order is not read as it is written"
            );
        }
    }
    let mut again = Book::new(10..=45, []);
    again.read(&book.text());
    assert_eq!(again.text(), book.text(), "the orders change when they are saved");
}

/// Orders of each kind.
pub(crate) fn every_act() -> Vec<u8> {
    let by = " at 1764281381000000000 uid 1000 pid 42 comm curl";
    let acts = [
        "192.0.2.0/24 20",
        "2001:db8::/48 off",
        "0.0.0.0/0 freeze",
        "192.0.2.0/24 release",
        "stop",
        "release",
        "undo",
    ];
    whole_orders(&acts.map(|act| format!("{act}{by}")))
}
