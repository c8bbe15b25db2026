use firstflight_gateway::Book;

use super::super::lines;
use super::super::played::{CRASHES, Fault, Played};
use super::*;

fn path() -> PathBuf {
    PathBuf::from("/state/orders.journal")
}

fn changes(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn ledger(disk: &Played) -> (Ledger, Option<Contents>) {
    Ledger::open(Arc::new(disk.clone()), &path()).expect("it can be read")
}

/// The orders that these changes make.
fn made<S: AsRef<str>>(changes: impl IntoIterator<Item = S>) -> Vec<String> {
    let text: String = changes.into_iter().map(|change| change.as_ref().to_owned() + "\n").collect();
    let mut book = Book::new(10..=45, []);
    assert_eq!(book.read(&text), [""; 0]);
    lines(&book)
}

/// Work of a gateway on a new folder: orders, a shorter file between them. Answers with the orders that were acknowledged, and
/// those that a crash may have made durable.
fn work(disk: &Played) -> (Vec<String>, Vec<String>) {
    let (mut ledger, _) = ledger(disk);
    let mut acknowledged = vec![];
    let _ = ledger.rewrite(&[]);
    let records: [&[&str]; 6] = [
        &["192.0.2.0/24 20"],
        &["198.51.100.0/24 off", "203.0.113.0/24 freeze"],
        &[],
        &["stop"],
        &["192.0.2.0/24 release"],
        &["2001:db8::/32 off"],
    ];
    for record in records {
        let next = made(acknowledged.iter().map(String::as_str).chain(record.iter().copied()));
        let done = match record {
            [] => ledger.rewrite(&next),
            _ => ledger.append(&changes(record), &next),
        };
        if done.is_err() {
            return (acknowledged, next);
        }
        acknowledged = next;
    }
    (acknowledged.clone(), acknowledged)
}

/// A file with four records.
fn file() -> Vec<u8> {
    let disk = Played::default();
    let (mut ledger, _) = ledger(&disk);
    ledger.rewrite(&changes(&["192.0.2.0/24 20", "198.51.100.0/24 off"])).expect("written");
    for change in [["stop"], ["203.0.113.0/24 freeze"], ["2001:db8::/32 off"]] {
        ledger.append(&changes(&change), &[]).expect("written");
    }
    disk.read(&path()).expect("a file")
}

const CHANGES: [&str; 5] =
    ["192.0.2.0/24 20", "198.51.100.0/24 off", "stop", "203.0.113.0/24 freeze", "2001:db8::/32 off"];

#[test]
fn orders_are_text_with_a_number_a_length_and_a_checksum() {
    let text = String::from_utf8(file()).expect("text");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0], "firstflight orders 1");
    // `printf '2 4 stop' | sha256sum` begins with these digits.
    assert_eq!(lines[2], "2 4 2b0a5748245b3947 stop");
    let contents = Contents::parse(text.as_bytes());
    assert_eq!(contents, Contents { changes: changes(&CHANGES), number: 4, ..Contents::default() });
}

#[test]
fn a_crash_at_any_step_loses_no_order_that_was_acknowledged() {
    let whole = Played::default();
    work(&whole);
    let steps = whole.steps();
    // Two new files of five steps each, and five records that are written and waited for.
    assert_eq!(steps, 20);
    for step in 0..steps {
        let disk = Played::with(Fault::Dead(step));
        let (acknowledged, perhaps) = work(&disk);
        for crash in CRASHES {
            let (_, contents) = ledger(&disk.after(crash));
            let Some(contents) = contents else {
                assert_eq!(acknowledged, changes(&[]), "step {step}, {crash:?}");
                continue;
            };
            assert_eq!(contents.damage, changes(&[]), "step {step}, {crash:?}");
            let found = made(&contents.changes);
            assert!(found == acknowledged || found == perhaps, "step {step}, {crash:?}: {found:?}");
        }
    }
}

#[test]
fn a_full_disk_at_any_step_refuses_orders_and_keeps_all_others() {
    let whole = Played::default();
    work(&whole);
    for step in 0..whole.steps() {
        for fault in [Fault::Full(step), Fault::Once(step)] {
            let disk = Played::with(fault);
            let (mut ledger, _) = ledger(&disk);
            let (mut orders, mut refused) = (vec![], 0);
            let _ = ledger.rewrite(&[]);
            for line in CHANGES {
                let next = made(orders.iter().map(String::as_str).chain([line]));
                match ledger.append(&changes(&[line]), &next) {
                    Ok(()) => orders = next,
                    Err(_) => refused += 1,
                }
                // A refused order is in no file that a new process would read.
                let (_, contents) =
                    super::Ledger::open(Arc::new(disk.after(CRASHES[0])), &path()).expect("read");
                let contents = contents.unwrap_or_default();
                assert_eq!(made(&contents.changes), orders, "{fault:?}, {line}");
                if !orders.is_empty() {
                    assert_eq!(contents.damage, changes(&[]), "{fault:?}, {line}");
                }
            }
            let most = if matches!(fault, Fault::Full(_)) { 5 } else { 0 };
            assert!(refused <= most, "{fault:?}: {refused} refused");
            // There is room again.
            disk.fail(None);
            let release = "192.0.2.0/24 release";
            orders = made(orders.iter().map(String::as_str).chain([release]));
            ledger.append(&changes(&[release]), &orders).expect("durable");
            for crash in CRASHES {
                let contents = self::ledger(&disk.after(crash)).1.expect("a file");
                assert_eq!((made(&contents.changes), contents.damage), (orders.clone(), vec![]), "{fault:?}");
            }
            assert!(!disk.names().iter().any(|name| name.ends_with(".new")), "{fault:?}: {:?}", disk.names());
        }
    }
}

#[test]
fn a_bit_that_changes_anywhere_is_damage_and_costs_no_other_record() {
    let whole = file();
    let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let of_record: [&[&str]; 5] = [&[], &CHANGES[..2], &CHANGES[2..3], &CHANGES[3..4], &CHANGES[4..]];
    for at in 0..whole.len() {
        let mut end = 0;
        let line = lines.iter().position(|line| {
            end += line.len();
            at < end
        });
        let line = line.expect("a line");
        // A line end that is lost costs the record behind it, too.
        let lost = if at + 1 == end { vec![line, line + 1] } else { vec![line] };
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let found = Contents::parse(&damaged);
            assert!(!found.damage.is_empty(), "bit {bit} of byte {at}: {found:?}");
            assert_eq!(found.torn, 0, "bit {bit} of byte {at}");
            let kept = |record: &usize| !lost.contains(record) || *record == 0;
            let kept: Vec<_> = (0..5).filter(kept).flat_map(|record| of_record[record]).copied().collect();
            assert_eq!(found.changes, kept, "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_keeps_its_whole_records() {
    let whole = file();
    let ends: Vec<_> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    for length in 0..whole.len() {
        let found = Contents::parse(&whole[..length]);
        // A record without its line end is whole, too.
        let records = ends.iter().filter(|end| length >= **end).count().saturating_sub(1);
        let kept = [0, 2, 3, 4, 5][records];
        assert_eq!(found.changes, changes(&CHANGES[..kept]), "{length} bytes");
        match records {
            0 => assert!(!found.damage.is_empty(), "{length} bytes"),
            _ => assert_eq!(found.damage, changes(&[]), "{length} bytes"),
        }
        let behind = ends.iter().any(|end| length == *end || length == *end + 1);
        let title = "firstflight orders 1\n".len();
        assert_eq!(found.torn > 0, length > title && !behind, "{length} bytes");
    }
}

#[test]
fn a_last_record_that_was_never_written_to_its_end_is_torn_and_one_before_it_is_damaged() {
    let whole = file();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("lines") + 1;
    for from in last..whole.len() {
        let mut zeros = whole.clone();
        zeros[from..].fill(0);
        let found = Contents::parse(&zeros);
        assert_eq!((found.torn as usize, found.damage.len()), (whole.len() - last, 0), "from {from}");
        assert_eq!(found.changes, changes(&CHANGES[..4]), "from {from}");
        let more = [&zeros[..], b"\n5 4 0123456789abcdef stop\n"].concat();
        assert!(Contents::parse(&more).damage.len() > 1);
    }
}

#[test]
fn a_record_that_is_missing_is_named() {
    let whole = file();
    let lines: Vec<_> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let found = Contents::parse(&[lines[0], lines[1], lines[2], lines[4]].concat());
    assert_eq!(found.damage, ["line 4 is record 4; expected 3"]);
    assert_eq!(found.changes.len(), 4);
}

#[test]
fn an_order_of_several_lines_is_refused() {
    let disk = Played::default();
    let (mut ledger, _) = ledger(&disk);
    ledger.rewrite(&[]).expect("written");
    for text in ["stop\nstop", "stop\tstop", "stop\0"] {
        let refused = ledger.append(&changes(&[text]), &[]).expect_err("refused").to_string();
        assert!(refused.contains("expected one line"), "{refused}");
    }
}
