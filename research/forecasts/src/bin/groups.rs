//! Prints the groups of a capture, and the time that reading it took; see "A day of a server" in `docs/captures.md`:
//! `target/release/groups day.pcap`.

use std::process::ExitCode;

use firstflight_capture::read;

/// Groups printed.
const SHOWN: usize = 10;

#[expect(clippy::disallowed_methods, reason = "it measures the speed of the reader")]
fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("expected: groups CAPTURE");
        return ExitCode::from(2);
    };
    let begun = std::time::Instant::now();
    let capture = match read(&file) {
        Ok(capture) => capture,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    println!("network, connections, kept, bytes to clients, from clients, answers, of 100 KB and more");
    for group in capture.groups.iter().take(SHOWN) {
        let network = group.network.map_or("others".into(), |network| network.to_string());
        let large = group.answers.classes().filter(|class| class.from >= 98_304).map(|class| class.count);
        println!(
            "{network}, {}, {}, {}, {}, {}, {}",
            group.connections,
            group.kept.len(),
            group.to_clients,
            group.from_clients,
            group.answers.count(),
            large.sum::<u64>()
        );
    }
    let connections: u64 = capture.groups.iter().map(|group| group.connections).sum();
    println!(
        "{} networks, {connections} connections, {} kept",
        capture.groups.len(),
        capture.connections.len()
    );
    println!("{:.1} million packets a second", capture.counts.packets as f64 / seconds / 1e6);
    capture.warnings.iter().for_each(|warning| println!("{warning}"));
    ExitCode::SUCCESS
}
