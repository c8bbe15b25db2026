//! Objects in the simulator, over its Linux sender.

use crate::common::{RENO, only, run};

/// No loss; a full queue; random losses with timeouts; ECN marks; an application that pauses.
const PATHS: [(&str, &str, &str); 5] = [
    ("no loss", "rate = \"100 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"4 BDP\"", "size = \"300 KB\""),
    ("full queue", "rate = \"20 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"0.5 BDP\"", "size = \"20 MB\""),
    ("losses", "rate = \"10 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\nloss = 0.2", "size = \"500 KB\""),
    (
        "marks",
        "rate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"200 packets\"\nqueue = { kind = \"codel\", ecn = true }",
        "size = \"10 MB\"",
    ),
    (
        "pauses",
        "rate = \"20 Mbit/s\"\nrtt = \"60 ms\"\nbuffer = \"1 BDP\"",
        "size = \"200 KB\"\nrounds = { count = 5, idle = \"2 s\" }",
    ),
];

#[test]
fn reno_in_bpf_is_slow_start_and_reno_of_the_registry_to_the_nanosecond() {
    let scheme = only(RENO);
    let (mut timeouts, mut marks) = (0, 0);
    for (name, path, flow) in PATHS {
        let own = run(&[&scheme], path, flow, "avoidance = \"bpf-test-reno\"");
        let known = run(&[], path, flow, "startup = \"slow-start\"\navoidance = \"reno\"");
        let [own_flow, known_flow] = [&own.flows[0], &known.flows[0]];
        assert!(own_flow.completion_s.is_some(), "{name}");
        assert_eq!(own_flow.completion_s, known_flow.completion_s, "{name}");
        assert_eq!(own_flow.lost_packets, known_flow.lost_packets, "{name}");
        assert_eq!(own_flow.retransmits, known_flow.retransmits, "{name}");
        assert_eq!(own_flow.timeouts, known_flow.timeouts, "{name}");
        assert_eq!(own.links[0].marks, known.links[0].marks, "{name}");
        let exits = [own_flow, known_flow]
            .map(|flow| flow.startup_exit.as_ref().map(|exit| (exit.time_s, exit.cwnd_packets)));
        assert_eq!(exits[0], exits[1], "{name}");
        timeouts += own_flow.timeouts;
        marks += own.links[0].marks;
    }
    assert_eq!(scheme.stopped(), None);
    assert!(timeouts > 0 && marks > 0, "{timeouts} timeouts, {marks} marks");
}
