//! Refused values of the top level, the path and the packets.

use super::Case;

pub(crate) const CASES: &[Case] = &[
    (
        4,
        "rate = 40",
        "base.toml:4:8: path.rate = 40: the unit is missing; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"40\"",
        "base.toml:4:8: path.rate = \"40\": the unit is missing; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"40 mbps\"",
        "base.toml:4:8: path.rate = \"40 mbps\": \"mbps\" is refused because it counts bytes in tc and bits elsewhere: for bits, write \"40 Mbit/s\"; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"40 Mbps\"",
        "base.toml:4:8: path.rate = \"40 Mbps\": \"Mbps\" is refused because it counts bytes in tc and bits elsewhere: for bits, write \"40 Mbit/s\"; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"40 mbit/s\"",
        "base.toml:4:8: path.rate = \"40 mbit/s\": there is no unit \"mbit/s\" here, only bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s; expected a rate above zero such as \"40 Mbit/s\"; did you mean \"40 Mbit/s\"?",
    ),
    (
        4,
        "rate = \"40 MB\"",
        "base.toml:4:8: path.rate = \"40 MB\": there is no unit \"MB\" here, only bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"0 Mbit/s\"",
        "base.toml:4:8: path.rate = \"0 Mbit/s\": a rate of zero carries nothing; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"-1 Mbit/s\"",
        "base.toml:4:8: path.rate = \"-1 Mbit/s\": negative; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"0.5 bit/s\"",
        "base.toml:4:8: path.rate = \"0.5 bit/s\": not a whole number of bit/s; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"NaN Mbit/s\"",
        "base.toml:4:8: path.rate = \"NaN Mbit/s\": not a number with a unit; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"1e9 bit/s\"",
        "base.toml:4:8: path.rate = \"1e9 bit/s\": there is no unit \"e9 bit/s\" here, only bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"101 Tbit/s\"",
        "base.toml:4:8: path.rate = \"101 Tbit/s\": above the limit of 100 Tbit/s; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = \"99999999999999999999999999999999999999999 bit/s\"",
        "base.toml:4:8: path.rate = \"99999999999999999999999999999999999999999 bit/s\": above the limit of 100 Tbit/s; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = nan",
        "base.toml:4:8: path.rate = nan: the unit is missing; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = true",
        "base.toml:4:8: path.rate = true: this is a flag; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = [\"1 bit/s\"]",
        "base.toml:4:8: path.rate = [\"1 bit/s\"]: this is an array; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        4,
        "rate = 2020-01-01",
        "base.toml:4:8: path.rate = 2020-01-01: this is a date; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (4, "", "base.toml:3:1: path.rate: missing; expected a rate above zero such as \"40 Mbit/s\""),
    (
        4,
        "rat = \"40 Mbit/s\"",
        "base.toml:4:1: path.rat = \"40 Mbit/s\": no such key; expected one of: rate, trace, rtt, buffer, queue, shaper, loss, drop, reorder, access_rate; did you mean \"rate\"?",
    ),
    (4, "rate = \"40 Mbit/s", "base.toml:4:18: not TOML: invalid basic string, expected `\"`"),
    (4, "rate = \"1 Mbit/s\"\nrate = \"1 Mbit/s\"", "base.toml:5:1: not TOML: duplicate key"),
    (
        5,
        "rtt = \"-100 ms\"",
        "base.toml:5:7: path.rtt = \"-100 ms\": negative; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        5,
        "rtt = \"0 ms\"",
        "base.toml:5:7: path.rtt = \"0 ms\": zero; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        5,
        "rtt = \"100\"",
        "base.toml:5:7: path.rtt = \"100\": the unit is missing; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        5,
        "rtt = \"100 msec\"",
        "base.toml:5:7: path.rtt = \"100 msec\": there is no unit \"msec\" here, only ns, us, ms, s, min; expected a delay above zero and of at most 3600 s such as \"100 ms\"; did you mean \"100 ms\"?",
    ),
    (
        5,
        "rtt = \"0.1 ns\"",
        "base.toml:5:7: path.rtt = \"0.1 ns\": not a whole number of nanoseconds; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        5,
        "rtt = \"2 h\"",
        "base.toml:5:7: path.rtt = \"2 h\": there is no unit \"h\" here, only ns, us, ms, s, min; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        5,
        "rtt = \"3601 s\"",
        "base.toml:5:7: path.rtt = \"3601 s\": too long; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        5,
        "rtt = \"ms\"",
        "base.toml:5:7: path.rtt = \"ms\": not a number with a unit; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        5,
        "rtt = \"1..5 ms\"",
        "base.toml:5:7: path.rtt = \"1..5 ms\": not a number with a unit; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        6,
        "buffer = \"0 packets\"",
        "base.toml:6:10: path.buffer = \"0 packets\": 0 bytes, less than one packet of 1000 bytes; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"",
    ),
    (
        6,
        "buffer = \"999 B\"",
        "base.toml:6:10: path.buffer = \"999 B\": 999 bytes, less than one packet of 1000 bytes; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"",
    ),
    (
        6,
        "buffer = \"0.001 BDP\"",
        "base.toml:6:10: path.buffer = \"0.001 BDP\": 500 bytes, less than one packet of 1000 bytes; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"",
    ),
    (
        6,
        "buffer = \"1.5 packets\"",
        "base.toml:6:10: path.buffer = \"1.5 packets\": not a whole number of packets; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"",
    ),
    (
        6,
        "buffer = \"1 bdp\"",
        "base.toml:6:10: path.buffer = \"1 bdp\": there is no unit \"bdp\" here, only B, KB, KiB, MB, MiB, GB, GiB, packets, packet, BDP; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"; did you mean \"1 BDP\"?",
    ),
    (
        6,
        "buffer = \"1001 BDP\"",
        "base.toml:6:10: path.buffer = \"1001 BDP\": above the limit of 1000 BDP; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"",
    ),
    (
        6,
        "buffer = 500",
        "base.toml:6:10: path.buffer = 500: the unit is missing; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"",
    ),
    (
        6,
        "buffer = \"250 kB\"",
        "base.toml:6:10: path.buffer = \"250 kB\": there is no unit \"kB\" here, only B, KB, KiB, MB, MiB, GB, GiB, packets, packet, BDP; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"; did you mean \"250 KB\"?",
    ),
    (
        6,
        "buffer = \"500 packets\"\nloss = 1.0",
        "base.toml:7:8: path.loss = 1.0: out of range; expected a number from 0 to 1 (exclusive), or a table of: mean, burst",
    ),
    (
        6,
        "buffer = \"500 packets\"\nloss = nan",
        "base.toml:7:8: path.loss = nan: out of range; expected a number from 0 to 1 (exclusive), or a table of: mean, burst",
    ),
    (
        6,
        "buffer = \"500 packets\"\nloss = -0.1",
        "base.toml:7:8: path.loss = -0.1: out of range; expected a number from 0 to 1 (exclusive), or a table of: mean, burst",
    ),
    (
        6,
        "buffer = \"500 packets\"\nloss = \"1 %\"",
        "base.toml:7:8: path.loss = \"1 %\": this is a text; expected a number from 0 to 1 (exclusive), or a table of: mean, burst",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = \"codel\"\nshaper = { rate = \"8 Mbit/s\", burst = \"60 KB\" }",
        "base.toml:8:10: path.shaper: a shaper needs to know on arrival when packets leave: not with codel; expected queue = drop-tail, red or policer",
    ),
    (
        6,
        "buffer = \"500 packets\"\nshaper = { rate = \"8 Mbit/s\", burst = \"999 B\" }",
        "base.toml:7:39: path.shaper.burst = \"999 B\": less than one packet of 1000 bytes, so none would pass; expected at least \"1 KB\"",
    ),
    (
        6,
        "buffer = \"500 packets\"\ndrop = [3, 0]",
        "base.toml:7:12: path.drop[1] = 0: out of range; expected a whole number from 1 to 4294967294",
    ),
    (
        6,
        "buffer = \"500 packets\"\ndrop = [-3]",
        "base.toml:7:9: path.drop[0] = -3: out of range; expected a whole number from 1 to 4294967294",
    ),
    (
        6,
        "buffer = \"500 packets\"\ndrop = [3, 7, 3]",
        "base.toml:7:15: path.drop[2] = 3: not above 7, the number before it; expected 1 to 1000 ascending numbers",
    ),
    (
        6,
        "buffer = \"500 packets\"\ndrop = [3, 3]",
        "base.toml:7:12: path.drop[1] = 3: not above 3, the number before it; expected 1 to 1000 ascending numbers",
    ),
    (
        6,
        "buffer = \"500 packets\"\ndrop = []",
        "base.toml:7:8: path.drop = []: 0 numbers; expected 1 to 1000 ascending numbers",
    ),
    (
        6,
        "buffer = \"500 packets\"\ndrop = 3",
        "base.toml:7:8: path.drop = 3: this is a number; expected an array of at least one, each a whole number from 1 to 4294967294",
    ),
    (
        6,
        "buffer = \"500 packets\"\nreorder = { share = 0.01 }",
        "base.toml:7:11: path.reorder.delay: missing; expected a delay above zero and of at most 3600 s such as \"100 ms\"",
    ),
    (
        6,
        "buffer = \"500 packets\"\nreorder = { share = 0.5, delay = \"5 ms\", burst = 2 }",
        "base.toml:7:50: path.reorder.burst = 2: at this mean, independent choices already come in runs of 2 packets; expected 1 for independent choices, or more than 2",
    ),
    (
        6,
        "buffer = \"500 packets\"\nloss = { mean = 0.01 }",
        "base.toml:7:8: path.loss.burst: missing; expected a number from 1 to 1000000",
    ),
    (
        6,
        "buffer = \"500 packets\"\nloss = { mean = 0.5, burst = 2 }",
        "base.toml:7:30: path.loss.burst = 2: at this mean, independent losses already come in runs of 2 packets; expected 1 for independent losses, or more than 2",
    ),
    (
        6,
        "buffer = \"500 packets\"\nloss = { mean = 0.5, burst = 0.5 }",
        "base.toml:7:30: path.loss.burst = 0.5: out of range; expected a number from 1 to 1000000",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = \"droptail\"",
        "base.toml:7:9: path.queue = \"droptail\": there is no \"droptail\"; expected one of: drop-tail, red, policer, choke, codel, fq-codel, priority, ack-filter, quick-start, xcp, vcp; did you mean \"drop-tail\"?",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"drop-tail\", min = \"1 packets\" }",
        "base.toml:7:37: path.queue.min = \"1 packets\": drop-tail has no parameters",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"red\", min = \"0.3 BDP\", max = \"0.1 BDP\" }",
        "base.toml:7:48: path.queue.max = \"0.1 BDP\": RED's max (50 packets) is not above its min (150 packets)",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"red\", minimum = \"0.3 BDP\" }",
        "base.toml:7:25: path.queue.minimum = \"0.3 BDP\": no such key; expected one of: kind, min, max, weight, max_p, gentle, ecn, mean_packet, rate, burst, target, interval, quantum, flows, threshold, share, alpha, beta, gamma, utilization",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"codel\", max_p = 0.1 }",
        "base.toml:7:35: path.queue.max_p = 0.1: codel has no such parameter",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"fq-codel\", flows = 0 }",
        "base.toml:7:38: path.queue.flows = 0: out of range; expected a whole number from 1 to 65536",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { min = \"1 packets\" }",
        "base.toml:7:9: path.queue.kind: missing; expected one of: drop-tail, red, policer, choke, codel, fq-codel, priority, ack-filter, quick-start, xcp, vcp",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = \"policer\"",
        "base.toml:7:9: path.queue = \"policer\": policer needs rate and burst: give them in a table",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"policer\", rate = \"8 Mbit/s\" }",
        "base.toml:7:9: path.queue.burst: missing; expected a size above zero such as \"1000 B\" or \"64 KiB\"",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"policer\", rate = \"8 Mbit/s\", burst = \"999 B\" }",
        "base.toml:7:56: path.queue.burst = \"999 B\": less than one packet of 1000 bytes, so none would pass; expected at least \"1 KB\"",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"policer\", rate = \"8 Mbit/s\", burst = \"60 packets\" }",
        "base.toml:7:56: path.queue.burst = \"60 packets\": there is no unit \"packets\" here, only B, KB, KiB, MB, MiB, GB, GiB; expected a size above zero such as \"1000 B\" or \"64 KiB\"",
    ),
    (
        6,
        "buffer = \"500 packets\"\nqueue = { kind = \"red\", max_p = 0 }",
        "base.toml:7:33: path.queue.max_p = 0: out of range; expected a number from 0 (exclusive) to 1",
    ),
    (
        6,
        "buffer = \"500 packets\"\ntrace = \"link.csv\"",
        "base.toml:7:9: path.trace = \"link.csv\": the rate is given twice; expected only one of rate and trace",
    ),
    (
        8,
        "size = \"40 B\"",
        "base.toml:8:8: packet.size = \"40 B\": headers take up to 52 bytes, so nothing is left for data",
    ),
    (
        8,
        "size = \"52 B\"",
        "base.toml:8:8: packet.size = \"52 B\": headers take up to 52 bytes, so nothing is left for data",
    ),
    (
        8,
        "size = \"70000 B\"",
        "base.toml:8:8: packet.size = \"70000 B\": a packet has at most 65535 bytes, headers included",
    ),
    (
        8,
        "size = \"1 packets\"",
        "base.toml:8:8: packet.size = \"1 packets\": there is no unit \"packets\" here, only B, KB, KiB, MB, MiB, GB, GiB; expected a size above zero such as \"1000 B\" or \"64 KiB\"",
    ),
    (
        1,
        "titel = \"base\"",
        "base.toml:1:1: titel = \"base\": no such key; expected one of: title, duration, seed, path, packet, topology, node, link, flow, udp, telnet, web; did you mean \"title\"?",
    ),
    (
        1,
        "seed = -1",
        "base.toml:1:8: seed = -1: out of range; expected a whole number from 0 to 9223372036854775807",
    ),
    (
        1,
        "seed = 1.5",
        "base.toml:1:8: seed = 1.5: not a whole number; expected a whole number from 0 to 9223372036854775807",
    ),
    (
        1,
        "seed = 99999999999999999999",
        "base.toml:1:8: seed = 99999999999999999999: out of range; expected a whole number from 0 to 9223372036854775807",
    ),
    (
        1,
        "duration2 = \"1 s\"",
        "base.toml:1:1: duration2 = \"1 s\": no such key; expected one of: title, duration, seed, path, packet, topology, node, link, flow, udp, telnet, web; did you mean \"duration\"?",
    ),
    (
        2,
        "",
        "base.toml:9:1: flow[0]: the flows of \"bulk\" never finish, and nothing ends the run; expected a size, a lifetime, or a duration",
    ),
    (
        2,
        "duration = \"0 s\"",
        "base.toml:2:12: duration = \"0 s\": zero; expected a time above zero such as \"100 ms\"",
    ),
    (
        12,
        "[topology]\nkind = \"parking-lot\"",
        "base.toml:12:1: topology: the network is described twice; expected only one of [path], [topology], and [[node]] with [[link]]",
    ),
    (
        12,
        "[[node]]\nname = \"a\"",
        "base.toml:12:1: node: the network is described twice; expected only one of [path], [topology], and [[node]] with [[link]]",
    ),
    (
        3,
        "[pth]",
        "base.toml:3:2: pth: no such key; expected one of: title, duration, seed, path, packet, topology, node, link, flow, udp, telnet, web; did you mean \"path\"?",
    ),
    (
        4,
        "rate = \"0.00000000000000000001 bit/s\"",
        "base.toml:4:8: path.rate = \"0.00000000000000000001 bit/s\": not a whole number of bit/s; expected a rate above zero such as \"40 Mbit/s\"",
    ),
    (
        6,
        "buffer = \"4294967296 packets\"",
        "base.toml:6:10: path.buffer = \"4294967296 packets\": 4294967296 packets; the limit is 4294967295; expected a buffer such as \"500 packets\", \"250 KB\" or \"1 BDP\"",
    ),
    (
        6,
        "buffer = \"9 packets\"\nqueue = { kind = \"fq-codel\", quantum = \"4294967296 B\" }",
        "base.toml:7:40: path.queue.quantum = \"4294967296 B\": above the limit of 4294967295 B",
    ),
    (
        6,
        "buffer = \"9 packets\"\nqueue = { kind = \"red\", min = \"200 packets\" }",
        "base.toml:7:31: path.queue.min = \"200 packets\": RED's max (150 packets) is not above its min (200 packets)",
    ),
    (
        6,
        "buffer = \"9 packets\"\nqueue = { kind = \"red\", weight = 2 }",
        "base.toml:7:34: path.queue.weight = 2: out of range; expected a number from 0 (exclusive) to 1",
    ),
];
