//! Traces of connections whose names try to end a record, a block or a line.

use crate::hostile;
use firstflight_hosts::run::{RunOptions, trace};
use firstflight_hosts::simulator::Simulator;
use firstflight_hosts::trace::record::Recording;
use firstflight_report::{Vantage, pcapng, qlog};
use firstflight_scenario::parse;
use serde_json::Value;

fn recorded() -> Recording {
    let text = "duration = \"1 s\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"9 packets\"\n[[flow]]\nsize = \"9 KB\"\n";
    let loaded = parse(text, "test").unwrap_or_else(|error| panic!("{error}"));
    trace(&Simulator, &loaded, &RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Type and body of each block of a pcapng file.
fn blocks(file: &[u8]) -> Vec<(u32, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut found) = (0, vec![]);
    while at < file.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length, "the length at the end of a block");
        found.push((word(at), &file[at + 8..at + length - 4]));
        at += length;
    }
    found
}

#[test]
fn names_stay_within_their_record_and_their_block() {
    let plain = recorded();
    let count = |recording: &Recording| {
        let mut out = vec![];
        pcapng(recording, &mut out).expect("memory takes everything");
        blocks(&out).len()
    };
    let long = "é".repeat(70_000);
    for text in hostile::TEXTS.into_iter().chain([&*long]) {
        let mut recording = plain.clone();
        recording.name = text.into();
        let flow = &mut recording.flows[0];
        (flow.name, flow.scheme) = (text.into(), text.into());
        assert_eq!(count(&recording), count(&plain), "{text:?}");
        let mut out = vec![];
        pcapng(&recording, &mut out).expect("memory takes everything");
        // The second block is the interface: link type, snapshot length, then the option if_name.
        let (kind, body) = blocks(&out)[1];
        let name = &body[8..];
        let length = usize::from(u16::from_le_bytes([name[2], name[3]]));
        assert_eq!((kind, u16::from_le_bytes([name[0], name[1]])), (1, 2));
        assert_eq!(name[4 + length.next_multiple_of(4)], 9, "{text:?}: if_tsresol follows");
        let name = str::from_utf8(&name[4..4 + length]).expect("UTF-8");
        assert!(text.starts_with(name) && (name == text || text == long), "{name:?}");

        let mut log = vec![];
        qlog(&recording, &recording.flows[0], Vantage::SIMULATOR, &mut log).expect("memory takes everything");
        let records: Vec<&[u8]> = log.split(|&byte| byte == 0x1e).skip(1).collect();
        let lines = log.iter().filter(|&&byte| byte == b'\n').count();
        assert!(records.len() == lines && lines > 10, "{text:?}: {lines}");
        let values: Vec<Value> =
            records.iter().map(|record| serde_json::from_slice(record).expect("JSON")).collect();
        assert_eq!(values[0]["trace"]["common_fields"]["group_id"], text);
    }
}
