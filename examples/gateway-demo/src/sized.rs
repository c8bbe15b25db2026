//! A small HTTP server that knows the size of each response before it begins. `GET /BYTES/START` has it ask the gateway for
//! the start `optimal` or `shifted`; with another word it asks for none.

#![expect(clippy::disallowed_methods, reason = "the time of a question to the gateway is measured")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Instant;

use firstflight_daemon::{Client, Start};
use rustix::net::sockopt::set_tcp_congestion;

use crate::server::Failure;

/// Largest response, bytes.
const LARGEST: usize = 1 << 24;

/// Serves at `address` until the process is ended; `socket` is the gateway's.
pub(crate) fn serve(address: &Path, socket: &Path) -> Result<(), Failure> {
    let listener = TcpListener::bind(address.to_str().ok_or("no address")?)?;
    let client = Client::new(socket);
    thread::scope(|scope| {
        for connection in listener.incoming() {
            let (connection, client) = (connection?, &client);
            scope.spawn(move || {
                // A client that goes ends its connection only.
                if let Err(error) = answer(connection, client) {
                    eprintln!("a connection of the server: {error}");
                }
            });
        }
        Ok(())
    })
}

/// Answers the requests of a connection.
fn answer(mut connection: TcpStream, client: &Client) -> Result<(), Failure> {
    set_tcp_congestion(&connection, "cubic")?;
    connection.set_nodelay(true)?;
    let mut lines = BufReader::new(connection.try_clone()?).lines();
    while let Some(line) = lines.next().transpose()? {
        let mut words = line.strip_prefix("GET /").ok_or("no request")?.split(['/', ' ']);
        let size: usize = words.next().ok_or("no size")?.parse()?;
        let start = words.next().unwrap_or_default();
        // The other fields of the request.
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        let asked = Instant::now();
        let started = match start {
            "optimal" | "shifted" => {
                let head = 200;
                let bytes = (size.min(LARGEST) + head) as u64;
                match client.start(&connection, bytes, start == "shifted")? {
                    Start::Planned(_) => "planned".to_owned(),
                    Start::Stock(why) => why,
                }
            }
            _ => "not asked".to_owned(),
        };
        let took = asked.elapsed().as_micros();
        let mut response = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nX-Start: {started}\r\nX-Asked-Microseconds: {took}\r\n\r\n"
        )
        .into_bytes();
        response.resize(response.len() + size.min(LARGEST), b'x');
        connection.write_all(&response)?;
    }
    Ok(())
}
