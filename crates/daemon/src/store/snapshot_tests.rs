use std::net::IpAddr;

use firstflight_gateway::{Connection, Mode, Settings, typical};

use super::super::played::{CRASHES, Fault, Played};
use super::*;

fn path() -> PathBuf {
    PathBuf::from("/state/learned.state")
}

fn fresh() -> Gateway {
    Gateway::new(Settings { mode: Mode::Enforce, ..Settings::default() })
}

/// A gateway that learned of this many prefixes.
fn taught(prefixes: u8) -> Gateway {
    let mut gateway = fresh();
    for number in 0..8 * u32::from(prefixes) {
        let peer = IpAddr::from([198, 51, (number % u32::from(prefixes)) as u8, (number % 5) as u8]);
        let at = Nanos::from_secs(10 + u64::from(number));
        gateway.report(
            &Connection { at, min_rtt: Nanos::from_millis(40), rate: 1_250_000, ..typical(peer) },
            &mut vec![],
        );
    }
    gateway
}

fn save(disk: &Played, gateway: &mut Gateway, orders: u64) -> io::Result<u64> {
    let writer = Writer::begin(Arc::new(disk.clone()), path(), Facts { taken: 7, orders }, AT_ONCE)?;
    gateway.begin_save();
    let mut whole = false;
    while !whole {
        let mut piece = vec![];
        whole = gateway.save_part(&mut piece);
        writer.give_all(Some(piece));
    }
    writer.give_all(None);
    writer.end()
}

fn load(disk: &Played) -> Result<Option<(usize, Facts)>, String> {
    let read = read(disk, &path(), &fresh(), (Nanos::from_secs(20), 7));
    read.map(|found| found.map(|(gateway, facts)| (gateway.prefixes(), facts)))
        .map_err(|(why, _)| why.to_string())
}

impl Writer {
    fn give_all(&self, mut piece: Option<Vec<u8>>) {
        while let Err(back) = self.give(piece) {
            piece = back;
            thread::yield_now();
        }
    }
}

#[test]
fn a_snapshot_is_read_as_it_was_written() {
    let disk = Played::default();
    assert_eq!(load(&disk), Ok(None));
    let bytes = save(&disk, &mut taught(3), 5).expect("written");
    assert_eq!(disk.read(&path()).expect("a file").len() as u64, bytes);
    assert_eq!(load(&disk), Ok(Some((3, Facts { taken: 7, orders: 5 }))));
    assert_eq!(disk.names(), ["learned.state"]);
}

#[test]
fn a_snapshot_with_any_bit_changed_is_refused() {
    let disk = Played::default();
    save(&disk, &mut taught(3), 5).expect("written");
    let whole = disk.read(&path()).expect("a file");
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            disk.put(&path(), &damaged);
            let why = load(&disk).expect_err("refused");
            let expected = match at {
                0..8 => "no state of the gateway",
                12..20 => "was cut off or has grown",
                _ => "is damaged",
            };
            assert!(why.contains(expected), "bit {bit} of byte {at}: {why}");
        }
    }
}

#[test]
fn a_snapshot_of_any_other_length_is_refused() {
    let disk = Played::default();
    save(&disk, &mut taught(3), 5).expect("written");
    let whole = disk.read(&path()).expect("a file");
    for length in 0..whole.len() {
        disk.put(&path(), &whole[..length]);
        let why = load(&disk).expect_err("refused");
        let expected = if length < 8 { "no state of the gateway" } else { "was cut off or has grown" };
        assert!(why.contains(expected), "{length} bytes: {why}");
    }
    disk.put(&path(), &[&whole[..], b"x"].concat());
    assert!(load(&disk).expect_err("refused").contains("was cut off or has grown"));
}

/// The checksum is right, but the state is of another program.
#[test]
fn a_whole_snapshot_of_another_version_is_named_with_its_facts() {
    let disk = Played::default();
    save(&disk, &mut taught(3), 5).expect("written");
    let mut other = disk.read(&path()).expect("a file");
    other[8] += 1;
    let contents = Sha256::new().chain_update(&other[HEAD..]);
    let sum = sum(contents, other.first_chunk().expect("a head"));
    other[FIELDS..HEAD].copy_from_slice(&sum);
    disk.put(&path(), &other);
    let (why, facts) = read(&disk, &path(), &fresh(), (Nanos::from_secs(20), 7)).expect_err("refused");
    assert_eq!(
        why.to_string(),
        format!("the state has version {}; expected {STATE_VERSION}", STATE_VERSION + 1)
    );
    assert_eq!(facts, Facts { taken: 7, orders: 5 });
}

#[test]
fn a_crash_at_any_step_leaves_the_old_snapshot_or_the_new_one() {
    let whole = Played::default();
    save(&whole, &mut taught(3), 5).expect("written");
    whole.fail(None);
    save(&whole, &mut taught(40), 6).expect("written");
    let steps = whole.steps();
    assert!(steps > 8, "{steps} steps");
    for step in 0..steps {
        for fault in [Fault::Dead(step), Fault::Full(step), Fault::Once(step)] {
            let disk = Played::default();
            save(&disk, &mut taught(3), 5).expect("written");
            disk.fail(Some(fault));
            let saved = save(&disk, &mut taught(40), 6).is_ok();
            for crash in CRASHES {
                let (prefixes, facts) = load(&disk.after(crash)).expect("whole").expect("a file");
                assert!([(3, 5), (40, 6)].contains(&(prefixes, facts.orders)), "{fault:?}, {crash:?}");
                assert!(!saved || prefixes == 40, "{fault:?}, {crash:?}");
            }
            disk.fail(None);
            save(&disk, &mut taught(40), 6).expect("there is room again");
            assert_eq!(disk.names(), ["learned.state"], "{fault:?}");
        }
    }
}

#[test]
fn a_snapshot_that_is_given_up_leaves_nothing_behind() {
    let disk = Played::default();
    let writer = Writer::begin(Arc::new(disk.clone()), path(), Facts::default(), AT_ONCE).expect("a thread");
    writer.give_all(Some(vec![1; 100]));
    writer.give_up().end().expect_err("it was given up");
    assert!(disk.names().is_empty(), "{:?}", disk.names());
}
