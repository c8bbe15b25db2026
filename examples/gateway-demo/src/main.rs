//! The same downloads from nginx with curl before and after the gateway, over an emulated path. Prints JSON. A second argument
//! is the file for a recording of the gateway's events, which `firstflight gateway simulate` takes.
//!
//! `gateway-demo transfers PROGRAM` compares a server that asks for the start of each response, whose size it knows, with
//! the same server that does not. With a third word, `threshold`, such a start sets the slow-start threshold, too; with `idle`, the
//! plan of the network holds after an idle time.
//!
//! `gateway-demo profiles PROGRAM [FOLDER [NAME ...]]` compares transfers to a known network with those of the stack over twelve
//! paths, beside a bulk flow, and after the rate of a path fell. Results that are in the folder already are not measured again.
//! With names, only these are measured.
//!
//! `gateway-demo browser PROGRAM [NAME ...]` does so as a browser asks: beside an open connection, after an idle time, with six connections
//! at once, and with HTTP/2, over four paths, or those with these names.
//!
//! Everything is in network namespaces, a cgroup and a folder of this process, and is removed at the end. Needs root.

#[cfg(target_os = "linux")]
mod browser;

#[cfg(target_os = "linux")]
mod server;

#[cfg(target_os = "linux")]
mod demo;

#[cfg(target_os = "linux")]
mod sized;

#[cfg(target_os = "linux")]
mod profiles;

#[cfg(target_os = "linux")]
mod transfers;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(std::path::Path::new).collect();
    let result = match arguments[..] {
        [word, address, socket] if word == std::path::Path::new("serve") => {
            sized::serve(address, socket).map(|()| None)
        }
        [word, program] if word == std::path::Path::new("transfers") => {
            transfers::run(program, transfers::Variant::default()).map(Some)
        }
        [word, program, variant] if word == std::path::Path::new("transfers") => {
            let usual = transfers::Variant::default();
            match variant.to_str() {
                Some("threshold") => Ok(transfers::Variant { threshold: true, ..usual }),
                Some("idle") => Ok(transfers::Variant { idle: true, ..usual }),
                _ => Err("expected the word threshold or idle, or none".into()),
            }
            .and_then(|variant| transfers::run(program, variant).map(Some))
        }
        [word, program] if word == std::path::Path::new("profiles") => {
            profiles::run(program, None, &[]).map(Some)
        }
        [word, program, folder, ref names @ ..] if word == std::path::Path::new("profiles") => {
            profiles::run(program, Some(folder), names).map(Some)
        }
        [word, program, ref names @ ..] if word == std::path::Path::new("browser") => {
            browser::run(program, names).map(Some)
        }
        [program] => demo::run(program, None).map(Some),
        [program, recording] => demo::run(program, Some(recording)).map(Some),
        _ => Err("expected gateway-demo [transfers|profiles|browser] target/release/firstflight".into()),
    };
    match result {
        Ok(result) => {
            result.iter().for_each(|result| println!("{result:#}"));
            std::process::ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("not run here: the gateway needs Linux");
}
