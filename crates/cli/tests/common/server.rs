//! Captures of a server, made of simulated ones.

use super::Scratch;

/// Clients of one network, whose connections follow each other every four seconds.
pub(crate) struct Clients {
    /// First three bytes of their addresses.
    pub(crate) network: [u8; 3],
    /// Keys of `[path]`.
    pub(crate) path: &'static str,
    /// Number of clients, each with one connection.
    pub(crate) count: u32,
    /// Data of each connection.
    pub(crate) size: &'static str,
}

/// The capture of all of these, as a pcap file with times in nanoseconds: each network is simulated by itself.
pub(crate) fn capture(scratch: &Scratch, networks: &[Clients]) -> Vec<u8> {
    let mut packets: Vec<(u64, Vec<u8>)> = networks.iter().flat_map(|one| simulated(scratch, one)).collect();
    packets.sort_by_key(|(at, _)| *at);
    let mut file: Vec<u8> = vec![];
    for word in [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 262_144, 101] {
        file.extend(word.to_le_bytes());
    }
    for (at, packet) in packets {
        let length = u32::from(u16::from_be_bytes([packet[2], packet[3]]));
        for word in [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32, packet.len() as u32, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// The packets of a network with their times, nanoseconds. The data goes from the clients to the server 192.0.2.1.
fn simulated(scratch: &Scratch, Clients { network, path, count, size }: &Clients) -> Vec<(u64, Vec<u8>)> {
    let name = format!("of-{}", network.map(|byte| byte.to_string()).join("-"));
    let scenario = format!(
        "[path]\n{path}\n[[flow]]\nprofile = \"linux\"\nstartup = \"hystart-linux\"\navoidance = \"cubic\"\ncount = {count}\n\
         start = {{ every = \"4 s\" }}\nsize = \"{size}\"\n"
    );
    scratch.write("network.toml", scenario);
    let run = scratch.run(&["run", "network.toml", "--trace", "--out", &name]);
    assert_eq!(run.code, 0, "{}", run.err);
    let file = std::fs::read(scratch.path().join(&name).join("run.pcapng")).expect("a trace");
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut packets, mut at) = (vec![], 0);
    while at < file.len() {
        // an enhanced packet block: interface, time in nanoseconds, captured and original length, data
        if word(at) == 6 {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            let mut packet = file[at + 28..at + 28 + word(at + 20) as usize].to_vec();
            for address in [12, 16] {
                // receivers have 10.128.0.0/9
                let client = packet[address + 1] < 128;
                let [a, b, c] = if client { *network } else { [192, 0, 2] };
                let host = if client { packet[address + 3] } else { 1 };
                packet[address..address + 4].copy_from_slice(&[a, b, c, host]);
            }
            packets.push((time, packet));
        }
        at += word(at + 4) as usize;
    }
    packets
}

/// Three networks with different paths, of twelve, six and six connections of 100 KB.
pub(crate) const THREE: [Clients; 3] = [
    Clients {
        network: [203, 0, 113],
        path: "rate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"60 packets\"",
        count: 12,
        size: "100 KB",
    },
    Clients {
        network: [198, 51, 100],
        path: "rate = \"5 Mbit/s\"\nrtt = \"120 ms\"\nbuffer = \"40 packets\"",
        count: 6,
        size: "100 KB",
    },
    Clients {
        network: [10, 20, 30],
        path: "rate = \"50 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"100 packets\"",
        count: 6,
        size: "100 KB",
    },
];
