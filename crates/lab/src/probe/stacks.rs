//! Stacks that are known by name.

use super::server::Protocol;

/// A stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Its name.
    pub name: &'static str,
    /// Its protocol.
    pub protocol: Protocol,
    pub(super) start: Start,
}

/// How a stack is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// quinn within this program.
    Quinn,
    /// The kernel's TCP, with a server within this program.
    Linux,
    /// A shell script with the argument `version`, which prints the version or fails, or `serve`.
    Script { script: &'static str, remedy: &'static str },
}

const fn script(name: &'static str, protocol: Protocol, script: &'static str, remedy: &'static str) -> Stack {
    Stack { name, protocol, start: Start::Script { script, remedy } }
}

/// The stacks, in the order of the documentation.
pub const STACKS: &[Stack] = &[
    Stack { name: "quinn", protocol: Protocol::Quic, start: Start::Quinn },
    Stack { name: "linux", protocol: Protocol::Tcp, start: Start::Linux },
    script(
        "nginx",
        Protocol::Quic,
        include_str!("../../stacks/nginx.sh"),
        "apt-get install nginx (Debian 13 or later)",
    ),
    script(
        "nginx-sid",
        Protocol::Quic,
        include_str!("../../stacks/nginx.sh"),
        "the package nginx of Debian unstable",
    ),
    script(
        "haproxy",
        Protocol::Quic,
        include_str!("../../stacks/haproxy.sh"),
        "apt-get install haproxy python3",
    ),
    script(
        "haproxy-3.4",
        Protocol::Quic,
        include_str!("../../stacks/haproxy.sh"),
        "the package haproxy of Debian experimental",
    ),
    script("ngtcp2", Protocol::Quic, include_str!("../../stacks/ngtcp2.sh"), "apt-get install ngtcp2-server"),
    script(
        "quic-go",
        Protocol::Quic,
        include_str!("../../stacks/quic-go.sh"),
        "go build in crates/lab/stacks/quic-go (Go 1.24 or later)",
    ),
    script("aioquic", Protocol::Quic, include_str!("../../stacks/aioquic.sh"), "pip install aioquic"),
    script(
        "quiche",
        Protocol::Quic,
        include_str!("../../stacks/quiche.sh"),
        "cargo build --release in crates/lab/stacks/quiche (cmake, a C++ compiler)",
    ),
    script(
        "quiche-pmtud",
        Protocol::Quic,
        include_str!("../../stacks/quiche.sh"),
        "cargo build --release in crates/lab/stacks/quiche (cmake, a C++ compiler)",
    ),
    script(
        "msquic",
        Protocol::Quic,
        include_str!("../../stacks/msquic.sh"),
        "cargo build --release in crates/lab/stacks/msquic (cmake, perl, a C compiler)",
    ),
    script(
        "s2n-quic",
        Protocol::Quic,
        include_str!("../../stacks/s2n-quic.sh"),
        "cargo build --release in crates/lab/stacks/s2n-quic (a C compiler)",
    ),
];

#[cfg(test)]
mod tests {
    use core::fmt::Display;

    use firstflight_probe::{PathTerms, Reason, Row, ThirdLost};

    use super::*;

    fn listed<T: Display>(all: impl Iterator<Item = T>) -> String {
        all.map(|one| one.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Paths of the page in its order: rate, round trip, buffer. The first two have two tables each, the others a short one.
    const PATHS: [[&str; 3]; 4] = [
        ["20 Mbit/s", "100 ms", "4 BDP"],
        ["20 Mbit/s", "60 ms", "1 BDP"],
        ["50 Mbit/s", "30 ms", "2 BDP"],
        ["10 Mbit/s", "100 ms", "4 BDP"],
    ];

    /// Number of a row's path on the page.
    fn path(row: &Row) -> usize {
        let PathTerms { rate, rtt, buffer } = &row.identity.path;
        PATHS.iter().position(|path| *path == [rate, rtt, buffer]).expect("a path of the page")
    }

    fn end(row: &Row) -> String {
        row.startup_end.map_or("-".into(), |end| {
            let reason = match end.reason {
                Reason::Loss => "loss",
                Reason::NoGrowth => "no growth",
            };
            format!("{reason} in {}: {} KB", end.round, end.window / 1000)
        })
    }

    fn after_silence(row: &Row) -> String {
        listed(row.after_idle.iter().map(|after| format!("{} ({})", after.datagrams, after.burst)))
    }

    fn times(row: &Row, first: usize) -> String {
        let times = row.transfers.iter().skip(first).map(|one| format!("{:.3}", one.seconds));
        times.collect::<Vec<_>>().join(" | ")
    }

    /// The lines of the tables of docs/stacks.md with this row.
    fn lines(row: &Row) -> Vec<String> {
        let name = &row.identity.stack;
        let datagrams = |rounds| listed(row.rounds.iter().map(|round| round.datagrams).take(rounds));
        let bytes = |rounds| listed(row.rounds.iter().map(|round| round.bytes).take(rounds));
        let (end, most, after) = (end(row), row.most_in_flight / 1000, after_silence(row));
        if path(row) >= 2 {
            // The times of 9.5 KB are left out.
            let times = times(row, 1);
            return vec![format!(
                "| {name} | {} | {} | {end} | {most} KB | {after} | {times} |",
                datagrams(3),
                bytes(3)
            )];
        }
        let bursts = row.first_flight.bursts.iter().map(|burst| burst.datagrams).take(4);
        let more = if row.first_flight.bursts.len() > 4 { " …" } else { "" };
        let spacing = row.first_flight.spacing_ms.map_or("-".into(), |spacing| format!("{spacing}"));
        vec![
            format!(
                "| {name} | {} | {} | {}{more} | {spacing} | {end} | {most} KB | {after} |",
                datagrams(5),
                bytes(5),
                listed(bursts),
            ),
            format!("| {name} | {} |", times(row, 0)),
        ]
    }

    /// The line of the table of lost third datagrams with the rows of this stack.
    fn third_lost(name: &str, rows: &[Row]) -> Option<String> {
        let cell = |number: usize| {
            let own = rows.iter().find(|row| row.identity.stack == name && path(row) == number)?;
            let ThirdLost { seconds, again, repair, .. } = own.third_lost?;
            let how = repair.map_or("no repair".into(), |repair| {
                format!("{}, {:.0} ms", repair.by.words(), repair.after_ms)
            });
            Some(format!("{seconds:.3} ({again:+}): {how}"))
        };
        let cells: Vec<_> = (0..PATHS.len()).map(cell).collect();
        let known = cells.iter().any(Option::is_some);
        let cells = cells.into_iter().map(|cell| cell.unwrap_or("-".into())).collect::<Vec<_>>();
        known.then(|| format!("| {name} | {} |", cells.join(" | ")))
    }

    #[test]
    fn every_measured_row_is_in_the_documentation() {
        let page = include_str!("../../../../docs/stacks.md");
        let rows = include_str!("../../stacks/rows.jsonl").lines();
        let rows: Vec<Row> = rows.map(|line| serde_json::from_str(line).expect("a row")).collect();
        let third = STACKS.iter().filter_map(|stack| third_lost(stack.name, &rows));
        let expected: Vec<_> = rows.iter().flat_map(lines).chain(third).collect();
        assert!(!rows.is_empty());
        let missing: Vec<_> = expected.iter().filter(|line| !page.lines().any(|one| one == *line)).collect();
        assert!(
            missing.is_empty(),
            "docs/stacks.md lacks:\n{}",
            listed(missing.iter().map(|line| format!("\n{line}")))
        );
        for Row { identity, .. } in &rows {
            assert!(STACKS.iter().any(|stack| stack.name == identity.stack), "{}", identity.stack);
            // The page states one version of each stack.
            assert!(
                page.contains(&format!("| {} | {} |", identity.stack, identity.version)),
                "{}",
                identity.stack
            );
        }
    }
}
