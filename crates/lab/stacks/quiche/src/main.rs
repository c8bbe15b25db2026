//! A server of files by one-line requests (`GET /name`, ALPN hq-interop): quiche with the default settings of its library.
//!
//! Usage: quiche-server ADDRESS CERTIFICATE KEY FOLDER [pmtud]
//!
//! With `pmtud` the path's MTU is searched for, up to datagrams of 1472 bytes.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

struct Client {
    connection: quiche::Connection,
    /// Requests and what is left of the answers, by stream.
    requests: BTreeMap<u64, Vec<u8>>,
    answers: BTreeMap<u64, (Vec<u8>, usize)>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--version"] {
        println!("quiche 0.30.0");
        return;
    }
    let [address, certificate, key, folder] = &arguments[..4] else { unreachable!() };
    let mut configuration = quiche::Config::new(quiche::PROTOCOL_VERSION).unwrap();
    configuration.set_application_protos(&[b"hq-interop"]).unwrap();
    configuration.load_cert_chain_from_pem_file(certificate).unwrap();
    configuration.load_priv_key_from_pem_file(key).unwrap();
    // Without these limits a client may ask for nothing.
    configuration.set_initial_max_data(1 << 20);
    configuration.set_initial_max_stream_data_bidi_remote(1 << 20);
    configuration.set_initial_max_streams_bidi(100);
    configuration.set_initial_max_streams_uni(3);
    configuration.set_initial_max_stream_data_uni(1 << 20);
    if arguments.get(4).is_some_and(|word| word == "pmtud") {
        configuration.set_max_send_udp_payload_size(1472);
        configuration.discover_pmtu(true);
    }
    let socket = UdpSocket::bind(address).unwrap();
    let own = socket.local_addr().unwrap();
    let mut clients: BTreeMap<SocketAddr, Client> = BTreeMap::new();
    let mut buffer = vec![0; 65536];
    loop {
        let due = clients.values().filter_map(|client| client.connection.timeout()).min();
        let wait = due.map_or(Duration::from_secs(1), |due| due.max(Duration::from_micros(1)));
        socket.set_nonblocking(false).unwrap();
        socket.set_read_timeout(Some(wait)).unwrap();
        while let Ok((size, from)) = socket.recv_from(&mut buffer) {
            socket.set_nonblocking(true).unwrap();
            let client = clients.entry(from).or_insert_with(|| {
                let name: Vec<u8> = (0..16).map(|at| from.port().to_be_bytes()[at % 2] ^ at as u8).collect();
                let name = quiche::ConnectionId::from_vec(name);
                let connection = quiche::accept(&name, None, own, from, &mut configuration).unwrap();
                Client { connection, requests: BTreeMap::new(), answers: BTreeMap::new() }
            });
            // A datagram that is not of the connection is ignored.
            let _ = client.connection.recv(&mut buffer[..size], quiche::RecvInfo { from, to: own });
            answer(client, folder, &mut vec![0; 65536]);
            send(&socket, client);
        }
        for client in clients.values_mut() {
            if client.connection.timeout() == Some(Duration::ZERO) {
                client.connection.on_timeout();
                send(&socket, client);
            }
        }
        clients.retain(|_, client| !client.connection.is_closed());
    }
}

/// Reads requests, and hands over what the library takes of the answers.
fn answer(client: &mut Client, folder: &str, buffer: &mut [u8]) {
    for stream in client.connection.readable() {
        while let Ok((size, ended)) = client.connection.stream_recv(stream, buffer) {
            let request = client.requests.entry(stream).or_default();
            request.extend_from_slice(&buffer[..size]);
            if ended {
                let line = String::from_utf8_lossy(request);
                let name = line.trim().trim_start_matches("GET /").to_owned();
                let body = std::fs::read(std::path::Path::new(folder).join(name)).unwrap_or_default();
                client.answers.insert(stream, (body, 0));
            }
        }
    }
    client.answers.retain(|&stream, (body, sent)| {
        while let Ok(size) = client.connection.stream_send(stream, &body[*sent..], true) {
            *sent += size;
            if *sent == body.len() {
                return false;
            }
            if size == 0 {
                break;
            }
        }
        true
    });
}

fn send(socket: &UdpSocket, client: &mut Client) {
    let mut buffer = [0; 1500];
    while let Ok((size, information)) = client.connection.send(&mut buffer) {
        let _ = socket.send_to(&buffer[..size], information.to);
    }
}
