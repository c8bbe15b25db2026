//! Any bytes as the store of a reproduction's runs. A line counts only with its checksum, damaged runs are made again, and
//! the results are those of an empty store.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use firstflight_hosts::progress::Silent;
use firstflight_hosts::simulator::Simulator;
use firstflight_reproduce::evidence::{Evidence, Provenance};
use firstflight_reproduce::run::{Selection, Store, run as reproduce};
use sha2::{Digest, Sha256};

use crate::results::{library, presented};
use crate::scratch::holding;
use crate::{Form, Target, refused};

pub(crate) const TARGET: Target = Target {
    name: "store",
    about: "bytes as the store of a reproduction: only lines with their checksum count, and the results are those of an \
            empty store",
    run,
    longest: 8 << 10,
    form: Form::Binary,
};

/// In place of the hash of the sources, so that the corpus stays of use.
const VERSION: &str = "fuzz";
const FILE: &str = "runs.jsonl";

/// The results that an empty store gives, and the lines that it then has.
struct Truth {
    evidence: Evidence,
    lines: BTreeSet<Vec<u8>>,
}

fn truth() -> &'static Truth {
    static TRUTH: OnceLock<Truth> = OnceLock::new();
    TRUTH.get_or_init(|| {
        let file = holding(&[(FILE, b"")]).join(FILE);
        let store = Store::open(&file, VERSION).expect("an empty file is a store");
        let evidence = made(&store).expect("the paper is valid");
        let lines = std::fs::read(&file).expect("the store's file");
        let lines = lines.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        Truth { evidence, lines }
    })
}

fn made(store: &Store) -> Result<Evidence, firstflight_reproduce::PaperError> {
    reproduce(&Simulator, library(), &Selection::default(), store, Provenance::default(), &Silent)
}

fn run(bytes: &[u8]) {
    let truth = truth();
    let file = holding(&[(FILE, bytes)]).join(FILE);
    let store = match Store::open(&file, VERSION) {
        Ok(store) => store,
        Err(error) => return refused(error),
    };
    match made(&store) {
        Ok(evidence) => {
            // A stranger may write a line with the right sum; no other line may change a number.
            if bytes.split(|&byte| byte == b'\n').all(|line| truth.lines.contains(line) || !has_its_sum(line))
            {
                assert_eq!(evidence, truth.evidence, "a line without its checksum counted");
            } else {
                presented(&evidence);
            }
        }
        Err(error) => refused(error),
    }
    let again = Store::open(&file, VERSION).expect("a store that was written is a store");
    assert!(again.damage().is_empty(), "damage stays in the file: {:?}", again.damage());
}

/// Whether a line ends in the beginning of the SHA-256 of what precedes the sum, and a zero byte.
fn has_its_sum(line: &[u8]) -> bool {
    let Some(end) = line.len().checked_sub(2).filter(|&end| line[end..] == *b"\"}") else { return false };
    let (Some(digits), mark) = (end.checked_sub(16), b",\"sum\":\"") else { return false };
    let Some(begin) = digits.checked_sub(mark.len()).filter(|&begin| line[begin..digits] == *mark) else {
        return false;
    };
    let hash = Sha256::new().chain_update(&line[..begin]).chain_update([0]).finalize();
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.as_bytes()[..16] == line[digits..end]
}

/// The results of every run.
pub(crate) fn measured() -> Vec<u8> {
    firstflight_report::reproduction::results(&truth().evidence).into_bytes()
}

/// A store with every run.
pub(crate) fn every_run() -> Vec<u8> {
    truth().lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
}
