//! Refused values of flows and UDP sources.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    (
        10,
        "name = \"a b\"",
        "base.toml:10:8: flow[0].name = \"a b\": not a name; expected a name of 1 to 64 letters, digits, \"-\" and \"_\"",
    ),
    (
        10,
        "name = \"\"",
        "base.toml:10:8: flow[0].name = \"\": not a name; expected a name of 1 to 64 letters, digits, \"-\" and \"_\"",
    ),
    (12, "[[flow]]\nname = \"bulk\"", "base.toml:13:8: flow[1].name = \"bulk\": there is another \"bulk\""),
    (
        12,
        "count = 0",
        "base.toml:12:9: flow[0].count = 0: out of range; expected \"unlimited\", or a whole number from 1 to 100000",
    ),
    (
        12,
        "count = 1000000000000",
        "base.toml:12:9: flow[0].count = 1000000000000: out of range; expected \"unlimited\", or a whole number from 1 to 100000",
    ),
    (
        12,
        "count = \"10\"",
        "base.toml:12:9: flow[0].count = \"10\": this is a text; expected \"unlimited\", or a whole number from 1 to 100000",
    ),
    (
        12,
        "[[flow]]\ncount = 100000",
        "base.toml:13:9: flow[1].count = 100000: these make 100001 flows in all; the limit is 100000",
    ),
    (
        12,
        "start = { every = \"1 s\", exponential = \"1 s\" }",
        "base.toml:12:9: flow[0].start: 2 of its keys are given; expected exactly one of: every, exponential, uniform",
    ),
    (
        12,
        "start = {}",
        "base.toml:12:9: flow[0].start: 0 of its keys are given; expected exactly one of: every, exponential, uniform",
    ),
    (
        12,
        "start = { uniform = [\"2 s\", \"1 s\"] }",
        "base.toml:12:21: flow[0].start.uniform = [\"2 s\", \"1 s\"]: the second is below the first; expected two values in rising order, each a time such as \"100 ms\"",
    ),
    (
        12,
        "start = { uniform = [\"2 s\"] }",
        "base.toml:12:21: flow[0].start.uniform = [\"2 s\"]: 1 values; expected two values in rising order, each a time such as \"100 ms\"",
    ),
    (
        12,
        "start = { evry = \"1 s\" }",
        "base.toml:12:11: flow[0].start.evry = \"1 s\": no such key; expected one of: every, exponential, uniform; did you mean \"every\"?",
    ),
    (
        12,
        "start = 5",
        "base.toml:12:9: flow[0].start = 5: the unit is missing; expected a time such as \"100 ms\", or a table of: every, exponential, uniform",
    ),
    (
        12,
        "size = \"0 B\"",
        "base.toml:12:8: flow[0].size = \"0 B\": zero; expected \"unlimited\", or an amount such as \"32 packets\" or \"300 KB\", or a table of: uniform, exponential, pareto, pareto_ii, lognormal",
    ),
    (
        12,
        "size = \"unlimitd\"",
        "base.toml:12:8: flow[0].size = \"unlimitd\": not a number with a unit; expected \"unlimited\", or an amount such as \"32 packets\" or \"300 KB\", or a table of: uniform, exponential, pareto, pareto_ii, lognormal; did you mean \"unlimited\"?",
    ),
    (
        12,
        "size = { pareto = { mean = \"30 packets\", shape = 1.0 } }",
        "base.toml:12:50: flow[0].size.pareto.shape = 1.0: out of range; expected a number from 1 (exclusive) to 10000",
    ),
    (
        12,
        "size = { pareto = { mean = \"30 packets\" } }",
        "base.toml:12:19: flow[0].size.pareto.shape: missing; expected a number from 1 (exclusive) to 10000",
    ),
    (
        12,
        "size = { pareto = 3 }",
        "base.toml:12:19: flow[0].size.pareto = 3: this is a number; expected a table",
    ),
    (
        11,
        "startup = \"slow-strat\"",
        "base.toml:11:11: flow[0].startup = \"slow-strat\": there is no scheme \"slow-strat\"; expected one of: {startup}; did you mean \"slow-start\"?",
    ),
    (
        11,
        "startup = \"slowstart\"",
        "base.toml:11:11: flow[0].startup = \"slowstart\": there is no scheme \"slowstart\"; expected one of: {startup}; did you mean \"slow-start\"?",
    ),
    (
        11,
        "startup = \"paced-chirping\"",
        "base.toml:11:11: flow[0].startup = \"paced-chirping\": not implemented: paced-chirping; expected one of: {startup}",
    ),
    (
        11,
        "startup = \"reno\"",
        "base.toml:11:11: flow[0].startup = \"reno\": reno is not a start-up scheme: its role is avoidance; expected one of: {startup}",
    ),
    (
        11,
        "startup = \"slow-start+reno\"",
        "base.toml:11:11: flow[0].startup = \"slow-start+reno\": reno is not a start-up scheme: its role is avoidance; expected one of: {startup}",
    ),
    (
        11,
        "startup = { filter = 1 }",
        "base.toml:11:11: flow[0].startup = { filter = 1 }: the key \"kind\" is missing; expected a start-up scheme, or several joined by \"+\", or a table with kind and parameters",
    ),
    (
        11,
        "startup = { kind = \"slow-start\", filter = 1 }",
        "base.toml:11:43: flow[0].startup.filter = 1: no such key; expected nothing: slow-start has no parameters",
    ),
    (
        11,
        "startup = { kind = \"slow-start+slow-start\", filter = 1 }",
        "base.toml:11:20: flow[0].startup.kind = \"slow-start+slow-start\": parameters belong to one scheme: write several schemes in an array",
    ),
    (
        11,
        "startup = 3",
        "base.toml:11:11: flow[0].startup = 3: this is a number; expected a start-up scheme, or several joined by \"+\", or a table with kind and parameters",
    ),
    (
        11,
        "startup = []",
        "base.toml:11:11: flow[0].startup = []: it is empty; expected a start-up scheme, or several joined by \"+\", or a table with kind and parameters",
    ),
    (
        11,
        "startup = \"\"",
        "base.toml:11:11: flow[0].startup = \"\": there is no scheme \"\"; expected one of: {startup}",
    ),
    (
        12,
        "avoidance = \"slow-start\"",
        "base.toml:12:13: flow[0].avoidance = \"slow-start\": slow-start is not an avoidance scheme: its role is startup; expected one of: {avoidance}",
    ),
    (
        12,
        "avoidance = \"qubic\"",
        "base.toml:12:13: flow[0].avoidance = \"qubic\": there is no scheme \"qubic\"; expected one of: {avoidance}; did you mean \"cubic\"?",
    ),
    (
        12,
        "avoidance = \"reno+reno\"",
        "base.toml:12:13: flow[0].avoidance = \"reno+reno\": an avoidance scheme never ends: only one is possible",
    ),
    (
        12,
        "recovery = \"new-reno\"",
        "base.toml:12:12: flow[0].recovery = \"new-reno\": there is no \"new-reno\"; expected one of: tahoe, reno, newreno, sack; did you mean \"newreno\"?",
    ),
    (
        12,
        "recovery = \"rack\"",
        "base.toml:12:12: flow[0].recovery = \"rack\": there is no \"rack\"; expected one of: tahoe, reno, newreno, sack; did you mean \"sack\"?",
    ),
    (
        12,
        "partial_acks = \"slow-but-steady\"",
        "base.toml:12:16: flow[0].partial_acks = \"slow-but-steady\": only recovery newreno takes it, and not under profiles linux and all of QUIC: this is sack, rfc",
    ),
    (
        12,
        "profile = \"linux\"\nrecovery = \"newreno\"\npartial_acks = \"impatient\"",
        "base.toml:14:16: flow[0].partial_acks = \"impatient\": only recovery newreno takes it, and not under profiles linux and all of QUIC: this is newreno, linux",
    ),
    (
        12,
        "recovery = \"newreno\"\npartial_acks = \"patient\"",
        "base.toml:13:16: flow[0].partial_acks = \"patient\": there is no \"patient\"; expected one of: impatient, slow-but-steady, ns2-2002; did you mean \"impatient\"?",
    ),
    (
        12,
        "recovery = \"newreno\"\nsack_walk = \"100 ns\"",
        "base.toml:13:13: flow[0].sack_walk = \"100 ns\": only profile rfc with recovery sack takes it: this is rfc, newreno",
    ),
    (
        12,
        "ack_backlog = 256",
        "base.toml:12:15: flow[0].ack_backlog = 256: ACKs wait only for a host that needs time; expected sack_walk beside it",
    ),
    (
        12,
        "profile = \"bsd\"",
        "base.toml:12:11: flow[0].profile = \"bsd\": there is no \"bsd\"; expected one of: rfc, ns2, linux, quinn, quiche, quiche-pmtud, quic-go, s2n-quic, ngtcp2, aioquic, picoquic, nginx-1.26, nginx-1.30, haproxy-3.0, haproxy-3.4",
    ),
    (
        12,
        "initial_window = \"959 B\"",
        "base.toml:12:18: flow[0].initial_window = \"959 B\": less than one packet, which carries 960 bytes; expected an amount above zero such as \"10 packets\" or \"300 KB\", or one of: rfc3390, rfc6928, rfc9002",
    ),
    (
        12,
        "initial_window = \"unlimited\"",
        "base.toml:12:18: flow[0].initial_window = \"unlimited\": not a number with a unit; expected an amount above zero such as \"10 packets\" or \"300 KB\", or one of: rfc3390, rfc6928, rfc9002",
    ),
    (
        12,
        "initial_ssthresh = \"0 packets\"",
        "base.toml:12:20: flow[0].initial_ssthresh = \"0 packets\": zero; expected \"unlimited\", or an amount such as \"32 packets\" or \"300 KB\"",
    ),
    (
        12,
        "initial_pace = \"30 packets\"",
        "base.toml:12:16: flow[0].initial_pace = \"30 packets\": only a flow that is paced has it; expected paced = true",
    ),
    (
        12,
        "profile = \"linux\"\npaced = true\ninitial_window = \"20 packets\"\ninitial_pace = \"30 packets\"\nhandshake = false",
        "base.toml:15:16: flow[0].initial_pace = \"30 packets\": it needs the round-trip time of a handshake before the data; expected handshake = true, and data_in_syn = \"never\"",
    ),
    (
        12,
        "profile = \"linux\"\npaced = true\ninitial_window = \"10 packets\"\ninitial_pace = \"15 packets\"",
        "base.toml:15:16: flow[0].initial_pace = \"15 packets\": profile linux never paces the first 10 packets, and initial_window is 10; expected a larger initial_window than 10 packets",
    ),
    (
        12,
        "profile = \"linux\"\npaced = true\ninitial_window = \"20 packets\"\ninitial_pace = \"40 packets\"",
        "base.toml:15:16: flow[0].initial_pace = \"40 packets\": the initial window is 20 packets; expected 20 to 39 packets: profile linux paces at twice the window by itself",
    ),
    (
        12,
        "profile = \"linux\"\npaced = true\ninitial_window = \"20 packets\"\ninitial_pace = \"19 packets\"",
        "base.toml:15:16: flow[0].initial_pace = \"19 packets\": the initial window is 20 packets; expected 20 to 39 packets: profile linux paces at twice the window by itself",
    ),
    (
        12,
        "receive_window = 65535",
        "base.toml:12:18: flow[0].receive_window = 65535: the unit is missing; expected \"unlimited\", or an amount such as \"32 packets\" or \"300 KB\"",
    ),
    (
        12,
        "receiver = \"delayed\"",
        "base.toml:12:12: flow[0].receiver = \"delayed\": there is no \"delayed\"; expected one of: ack-every-packet, delayed-ack, quickack-then-delayed, tuned-buffer, ack-every-ten; did you mean \"delayed-ack\"?",
    ),
    (
        12,
        "receiver_reads = \"lazy\"",
        "base.toml:12:18: flow[0].receiver_reads = \"lazy\": not a number with a unit; expected \"eager\", or a size such as \"256 KB\"",
    ),
    (
        12,
        "byte_counting = 1",
        "base.toml:12:17: flow[0].byte_counting = 1: this is a number; expected true or false",
    ),
    (
        12,
        "profile = \"quinn\"",
        "base.toml:12:11: flow[0].profile = \"quinn\": QUIC needs packets of 1228 bytes or more, and packet.size is 1000",
    ),
    (
        12,
        "idle_restart = \"paced\"",
        "base.toml:12:16: flow[0].idle_restart = \"paced\": there is no \"paced\"; expected one of: restart, keep, validate, pace; did you mean \"pace\"?",
    ),
    (
        12,
        "rounds = { count = 0, idle = \"5 s\" }",
        "base.toml:12:20: flow[0].rounds.count = 0: out of range; expected a whole number from 1 to 100000",
    ),
    (12, "from = \"r1\"", "base.toml:12:8: flow[0].from = \"r1\": a [path] has no nodes: use direction"),
    (
        12,
        "direction = \"backward\"",
        "base.toml:12:13: flow[0].direction = \"backward\": there is no \"backward\"; expected one of: forward, reverse",
    ),
    (
        12,
        "extra_rtt = \"-1 ms\"",
        "base.toml:12:13: flow[0].extra_rtt = \"-1 ms\": negative; expected a delay of at most 3600 s such as \"100 ms\", or a table of: uniform, exponential, pareto",
    ),
    (
        12,
        "cluster = 3",
        "base.toml:12:11: flow[0].cluster = 3: this is a number; expected a name of 1 to 64 letters, digits, \"-\" and \"_\"",
    ),
    (
        12,
        "ssthresh = \"10 packets\"",
        "base.toml:12:1: flow[0].ssthresh = \"10 packets\": no such key; expected one of: name, count, start, size, lifetime, parallel, rounds, profile, startup, avoidance, recovery, partial_acks, sack_walk, ack_backlog, initial_window, initial_ssthresh, receive_window, initial_receive_window, send_buffer, receiver, delayed_ack_timer, receiver_reads, byte_counting, min_rto, rto_granularity, idle_restart, paced, initial_pace, limited_transmit, handshake, data_in_syn, cluster, direction, from, to, extra_rtt; did you mean \"initial_ssthresh\"?",
    ),
    (
        12,
        "[[udp]]\nrate = \"1 Mbit/s\"\non_off = { on = \"1 s\" }",
        "base.toml:14:10: udp[0].on_off.off: missing; expected a time above zero such as \"100 ms\", or a table of: uniform, exponential, pareto",
    ),
    (
        12,
        "[[udp]]\nname = \"bulk\"\nrate = \"1 Mbit/s\"",
        "base.toml:13:8: udp[0].name = \"bulk\": there is another \"bulk\"",
    ),
    (12, "[[udp]]", "base.toml:12:1: udp[0].rate: missing; expected a rate above zero such as \"40 Mbit/s\""),
    (
        12,
        "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1001 B\"",
        "base.toml:14:8: udp[0].size = \"1001 B\": larger than a full packet, 1000 B: [packet] has the size",
    ),
    (
        12,
        "[[udp]]\nrate = \"1 Mbit/s\"\nsize = \"1 packet\"",
        "base.toml:14:8: udp[0].size = \"1 packet\": there is no unit \"packet\" here, only B, KB, KiB, MB, MiB, GB, GiB; expected a size above zero such as \"1000 B\" or \"64 KiB\"",
    ),
    (
        12,
        // 8 bits in 0.4 ns
        "[[udp]]\nsize = \"1 B\"\nrate = \"20 Gbit/s\"",
        "base.toml:14:8: udp[0].rate = \"20 Gbit/s\": more than one packet of 1 B in each nanosecond",
    ),
    (
        12,
        "[udp]\nrate = \"1 Mbit/s\"",
        "base.toml:12:1: udp: this is a table; expected an array of tables, each under [[udp]]",
    ),
    (
        12,
        "size = \"5 pakets\"",
        "base.toml:12:8: flow[0].size = \"5 pakets\": there is no unit \"pakets\" here, only B, KB, KiB, MB, MiB, GB, GiB, packets, packet; expected \"unlimited\", or an amount such as \"32 packets\" or \"300 KB\", or a table of: uniform, exponential, pareto, pareto_ii, lognormal; did you mean \"5 packets\"?",
    ),
    (
        12,
        "avoidance = []",
        "base.toml:12:13: flow[0].avoidance = []: it is empty; expected an avoidance scheme, or a table with kind and parameters",
    ),
    (
        11,
        "startup = { kind = \"limited-slow-start\", max_ssthresh = 5 }",
        "base.toml:11:57: flow[0].startup.max_ssthresh = 5: the unit is missing; expected a number of packets such as \"4 packets\"",
    ),
    (
        11,
        "startup = { kind = \"limited-slow-start\", max = 5 }",
        "base.toml:11:48: flow[0].startup.max = 5: no such key; expected one of: max_ssthresh; did you mean \"max_ssthresh\"?",
    ),
    (12, "\0", "base.toml:12:2: not TOML: key with no value, expected `=`"),
    (
        12,
        "count = \"unlimited\"",
        "base.toml:12:9: flow[0].count = \"unlimited\": unlimited flows must arrive one by one: start needs every or exponential",
    ),
    (
        12,
        "start = { every = \"1 us\" }",
        "base.toml:12:9: flow[0].start = { every = \"1 us\" }: these make 20000000 flows in all; the limit is 100000",
    ),
    (
        12,
        "[[telnet]]\ninterval = \"1 s\"",
        "base.toml:13:12: telnet[0].interval = \"1 s\": there is no \"1 s\"; expected one of: tcplib",
    ),
    (
        12,
        "[[telnet]]\nrounds = { count = 2, idle = \"1 s\" }",
        "base.toml:13:1: telnet[0].rounds = { count = 2, idle = \"1 s\" }: no such key; expected one of: name, count, start, lifetime, interval, size, profile, startup, avoidance, recovery, partial_acks, sack_walk, ack_backlog, initial_window, initial_ssthresh, receive_window, initial_receive_window, send_buffer, receiver, delayed_ack_timer, receiver_reads, byte_counting, min_rto, rto_granularity, idle_restart, paced, initial_pace, limited_transmit, handshake, data_in_syn, cluster, direction, from, to, extra_rtt",
    ),
    (
        12,
        "[[web]]\nparallel = 4",
        "base.toml:13:12: web[0].parallel = 4: each object has a connection of its own: parallel needs connections = \"persistent\"",
    ),
    (
        12,
        "[[web]]\nobjects = 0",
        "base.toml:13:11: web[0].objects = 0: out of range; expected a number from 0 (exclusive) to 1000000, or a table of: uniform, exponential, pareto, pareto_ii",
    ),
    (
        12,
        "[[web]]\nsessions = 1000\npages = 100\nobjects = 4",
        "base.toml:13:12: web[0].sessions = 1000: these make 450001 flows in all; the limit is 100000",
    ),
    (
        12,
        "size = { lognormal = { median = \"9 KB\" } }",
        "base.toml:12:22: flow[0].size.lognormal.sigma: missing; expected a number from 0 (exclusive) to 10",
    ),
    (
        12,
        "min_rto = \"60.000000001 s\"",
        "base.toml:12:11: flow[0].min_rto = \"60.000000001 s\": above the largest retransmission timeout of profile rfc, 60 s; expected a time above zero and at most 60 s",
    ),
    (
        12,
        "profile = \"ns2\"\nmin_rto = \"200 s\"",
        "base.toml:13:11: flow[0].min_rto = \"200 s\": above the largest retransmission timeout of profile ns2, 60 s; expected a time above zero and at most 60 s",
    ),
    (
        12,
        "profile = \"linux\"\nmin_rto = \"121 s\"",
        "base.toml:13:11: flow[0].min_rto = \"121 s\": above the largest retransmission timeout of profile linux, 120 s; expected a time above zero and at most 120 s",
    ),
    (
        12,
        "rto_granularity = \"61 s\"",
        "base.toml:12:19: flow[0].rto_granularity = \"61 s\": above the largest retransmission timeout of profile rfc, 60 s; expected a time above zero and at most 60 s",
    ),
    (
        12,
        "receive_window = \"1000001 packets\"",
        "base.toml:12:18: flow[0].receive_window = \"1000001 packets\": above the limit of 1000000 packets; expected \"unlimited\", or an amount such as \"32 packets\" or \"300 KB\"",
    ),
    (
        12,
        "size = \"4294967295 packets\"",
        "base.toml:12:8: flow[0].size = \"4294967295 packets\": above the limit of 4294967294 packets; expected \"unlimited\", or an amount such as \"32 packets\" or \"300 KB\", or a table of: uniform, exponential, pareto, pareto_ii, lognormal",
    ),
    (
        12,
        "size = \"100000 packets\"\nrounds = { count = 50000, idle = \"0 s\" }",
        "base.toml:13:10: flow[0].rounds = { count = 50000, idle = \"0 s\" }: 50000 transfers of 100000 packets; the limit is 4294967294 packets",
    ),
    (
        12,
        "receiver_reads = \"960000001 B\"",
        "base.toml:12:18: flow[0].receiver_reads = \"960000001 B\": above the largest window, 1000000 packets or 960000000 B",
    ),
];
