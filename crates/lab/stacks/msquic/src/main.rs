//! A server of files by one-line requests (`GET /name`, ALPN hq-interop): MsQuic with its default settings.
//!
//! Usage: msquic-server ADDRESS CERTIFICATE KEY FOLDER

use std::ffi::c_void;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use msquic::{
    Addr, BufferRef, CertificateFile, Configuration, Connection, ConnectionEvent, ConnectionRef, Credential,
    CredentialConfig, Listener, ListenerEvent, Registration, RegistrationConfig, SendFlags, Settings, Status, Stream,
    StreamEvent, StreamRef,
};

/// A response and the reference to it that MsQuic holds until it is sent.
type Response = (Vec<u8>, [BufferRef; 1]);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == ["--version"] {
        println!("msquic 2.5.1-beta");
        return;
    }
    let [address, certificate, key, folder] = &arguments[..] else { panic!("four arguments") };
    let registration = Registration::new(&RegistrationConfig::default()).unwrap();
    let alpn = [BufferRef::from("hq-interop")];
    // Without these limits a client may open no stream.
    let settings = Settings::new().set_PeerBidiStreamCount(100).set_PeerUnidiStreamCount(3);
    let configuration = Configuration::open(&registration, &alpn, Some(&settings)).unwrap();
    let files = CertificateFile::new(key.clone(), certificate.clone());
    configuration
        .load_credential(&CredentialConfig::new().set_credential(Credential::CertificateFile(files)))
        .unwrap();
    let (configuration, folder) = (Arc::new(configuration), folder.clone());
    let listener = Listener::open(&registration, move |_, event| {
        if let ListenerEvent::NewConnection { connection, .. } = event {
            let folder = folder.clone();
            connection.set_callback_handler(move |connection, event| of_connection(connection, event, &folder));
            connection.set_configuration(&configuration)?;
        }
        Ok(())
    })
    .unwrap();
    let address: SocketAddr = address.parse().unwrap();
    listener.start(&alpn, Some(&Addr::from(address))).unwrap();
    loop {
        std::thread::park();
    }
}

fn of_connection(connection: ConnectionRef, event: ConnectionEvent, folder: &str) -> Result<(), Status> {
    match event {
        ConnectionEvent::PeerStreamStarted { stream, .. } => {
            let (folder, request) = (folder.to_owned(), Mutex::new(Vec::new()));
            stream.set_callback_handler(move |stream, event| of_stream(stream, event, &folder, &request));
        }
        // SAFETY: the last event of the connection, whose handle is closed by this.
        ConnectionEvent::ShutdownComplete { .. } => drop(unsafe { Connection::from_raw(connection.as_raw()) }),
        _ => {}
    }
    Ok(())
}

fn of_stream(stream: StreamRef, event: StreamEvent, folder: &str, request: &Mutex<Vec<u8>>) -> Result<(), Status> {
    match event {
        StreamEvent::Receive { buffers, .. } => {
            let mut request = request.lock().unwrap();
            buffers.iter().for_each(|buffer| request.extend_from_slice(buffer.as_bytes()));
        }
        StreamEvent::PeerSendShutdown => {
            let request = request.lock().unwrap();
            let line = String::from_utf8_lossy(&request);
            let body = std::fs::read(Path::new(folder).join(line.trim().trim_start_matches("GET /"))).unwrap_or_default();
            let buffer = [BufferRef::from(&body[..])];
            let response: *mut Response = Box::into_raw(Box::new((body, buffer)));
            // SAFETY: the response lives until its SendComplete.
            unsafe { stream.send(&(*response).1, SendFlags::FIN, response.cast::<c_void>())? };
        }
        // SAFETY: the context is the response that was handed over.
        StreamEvent::SendComplete { client_context, .. } => drop(unsafe { Box::from_raw(client_context as *mut Response) }),
        // SAFETY: the last event of the stream, whose handle is closed by this.
        StreamEvent::ShutdownComplete { .. } => drop(unsafe { Stream::from_raw(stream.as_raw()) }),
        _ => {}
    }
    Ok(())
}
