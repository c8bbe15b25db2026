#!/usr/bin/env bash
# A TCP connection of smoltcp has no congestion control unless a feature of the crate is chosen: with its default features a server's first
# flight is all that the peer's receive window and its own buffer allow, here 136 segments, 198,560 bytes, before any acknowledgement. The
# features socket-tcp-cubic and socket-tcp-reno are off by default, and with either the first flight is ONE segment, since the
# initial window is 2,048 bytes whatever the segment. Neither is the ten segments that most stacks have, nor the 2 to 4 of RFC 3390.
# Cause: AnyController::new() in src/socket/tcp/congestion.rs takes NoControl without a feature; Cubic::new() has twice 1,024 bytes.
# Versions: smoltcp =0.14.0. Control: the same program with the feature socket-tcp-cubic.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat > "$work/Cargo.toml" <<'TOML'
[package]
name = "flight"
version = "0.0.0"
edition = "2021"

[dependencies]
smoltcp = "=0.14.0"

[features]
cubic = ["smoltcp/socket-tcp-cubic"]

[profile.dev]
opt-level = 0
debug = false

[workspace]
TOML
cat > "$work/src/main.rs" <<'RUST'
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Packet, TcpPacket};
use std::collections::VecDeque;

/// One end of a link: packets that came and packets to send.
#[derive(Default)]
struct Link {
    incoming: VecDeque<Vec<u8>>,
    outgoing: Vec<Vec<u8>>,
}
struct Incoming(Vec<u8>);
struct Outgoing<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for Incoming {
    fn consume<A, F: FnOnce(&[u8]) -> A>(self, read: F) -> A {
        read(&self.0)
    }
}

impl TxToken for Outgoing<'_> {
    fn consume<A, F: FnOnce(&mut [u8]) -> A>(self, size: usize, write: F) -> A {
        let mut packet = vec![0; size];
        let result = write(&mut packet);
        self.0.push(packet);
        result
    }
}

impl Device for Link {
    type RxToken<'a> = Incoming;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming, Outgoing<'_>)> {
        self.incoming.pop_front().map(|packet| (Incoming(packet), Outgoing(&mut self.outgoing)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        Some(Outgoing(&mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.max_transmission_unit = 1500;
        capabilities.medium = Medium::Ip;
        capabilities
    }
}

fn host(last: u8) -> (Link, Interface) {
    let mut link = Link::default();
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut link, Instant::ZERO);
    interface.update_ip_addrs(|addresses| addresses.push(IpCidr::new(IpAddress::v4(192, 0, 2, last), 24)).unwrap());
    (link, interface)
}

fn socket() -> Socket<'static> {
    Socket::new(SocketBuffer::new(vec![0; 262_144]), SocketBuffer::new(vec![0; 262_144]))
}

fn main() {
    let ((mut client_link, mut client), (mut server_link, mut server)) = (host(1), host(2));
    let (mut client_sockets, mut server_sockets) = (SocketSet::new(vec![]), SocketSet::new(vec![]));
    let (client_socket, server_socket) = (client_sockets.add(socket()), server_sockets.add(socket()));
    server_sockets.get_mut::<Socket>(server_socket).listen(80).unwrap();
    let connecting = client_sockets.get_mut::<Socket>(client_socket);
    connecting.connect(client.context(), (IpAddress::v4(192, 0, 2, 2), 80), 49152).unwrap();
    println!("congestion control: {:?}", server_sockets.get::<Socket>(server_socket).congestion_control());
    // The handshake; then a response of 200,000 bytes, whose flight is looked at before the client gets it.
    for step in 0..4 {
        let now = Instant::from_millis(50 * step);
        client.poll(now, &mut client_link, &mut client_sockets);
        server_link.incoming.extend(client_link.outgoing.drain(..));
        server.poll(now, &mut server_link, &mut server_sockets);
        client_link.incoming.extend(server_link.outgoing.drain(..));
    }
    let sending = server_sockets.get_mut::<Socket>(server_socket);
    assert_eq!(sending.send_slice(&[0; 200_000]), Ok(200_000));
    server.poll(Instant::from_millis(250), &mut server_link, &mut server_sockets);
    let sizes: Vec<usize> = server_link
        .outgoing
        .iter()
        .map(|packet| TcpPacket::new_unchecked(Ipv4Packet::new_unchecked(&packet[..]).payload()).payload().len())
        .collect();
    println!("first flight: {} segments, {} bytes", sizes.len(), sizes.iter().sum::<usize>());
    if cfg!(feature = "cubic") {
        assert_eq!(sizes, [1460], "the control has changed");
    } else {
        assert_eq!(sizes, [1460; 136], "the behaviour has changed");
    }
}
RUST
run=(nice -n 19 cargo run --quiet --manifest-path "$work/Cargo.toml" --target-dir "$work/target")
"${run[@]}" --features cubic
"${run[@]}"
echo "smoltcp $(cargo tree --quiet --manifest-path "$work/Cargo.toml" --depth 1 --prefix none | awk '/^smoltcp/ { print $2 }')"
echo "as described: without a feature there is no congestion control"
