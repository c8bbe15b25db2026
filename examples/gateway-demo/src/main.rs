//! The same downloads from nginx with curl before and after the gateway, over an emulated path. Prints JSON. A second argument
//! is the file for a recording of the gateway's events, which `firstflight gateway simulate` takes.
//!
//! Everything is in network namespaces, a cgroup and a folder of this process, and is removed at the end. Needs root.

#[cfg(target_os = "linux")]
mod server;

#[cfg(target_os = "linux")]
mod demo;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let Some(program) = std::env::args_os().nth(1) else {
        eprintln!(
            "error: the path of the program is missing; expected gateway-demo target/release/firstflight"
        );
        return std::process::ExitCode::from(2);
    };
    let recording = std::env::args_os().nth(2);
    match demo::run(program.as_ref(), recording.as_deref().map(std::path::Path::new)) {
        Ok(result) => {
            println!("{result:#}");
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
