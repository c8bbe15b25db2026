//! A server of files by one-line requests (`GET /name`, ALPN hq-interop): s2n-quic with its default settings.
//!
//! Usage: s2n-quic-server ADDRESS CERTIFICATE KEY FOLDER

use std::path::{Path, PathBuf};

use s2n_quic::Server;
use s2n_quic::provider::tls::default;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--version"] {
        println!("s2n-quic 1.91.0");
        return;
    }
    let [address, certificate, key, folder] = &arguments[..] else { panic!("four arguments") };
    let tls = default::Server::builder()
        .with_certificate(Path::new(certificate), Path::new(key))
        .unwrap()
        .with_application_protocols(["hq-interop"])
        .unwrap()
        .build()
        .unwrap();
    let mut server = Server::builder().with_tls(tls).unwrap().with_io(address.as_str()).unwrap().start().unwrap();
    while let Some(mut connection) = server.accept().await {
        let folder = PathBuf::from(folder);
        tokio::spawn(async move {
            while let Ok(Some(mut stream)) = connection.accept_bidirectional_stream().await {
                let folder = folder.clone();
                tokio::spawn(async move {
                    let mut line = String::new();
                    let _ = stream.read_to_string(&mut line).await;
                    let name = line.trim().trim_start_matches("GET /");
                    let _ = stream.write_all(&std::fs::read(folder.join(name)).unwrap_or_default()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
    }
}
