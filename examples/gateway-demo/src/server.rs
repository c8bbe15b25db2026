//! nginx in a namespace and a cgroup of its own, and the gateway on that cgroup.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use firstflight_daemon::Client;
use firstflight_lab::Netns;

/// Error, in one line.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// A folder for files, and one for the cgroup. Both are removed when the value is dropped.
pub(crate) struct Place {
    pub(crate) files: PathBuf,
    pub(crate) cgroup: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Result<Self, Failure> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let unified = mounts
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>())
            .find(|fields| fields[2] == "cgroup2");
        let root = unified.ok_or("no cgroup2 hierarchy is mounted")?[1].to_owned();
        let name = format!("firstflight-demo-{}", std::process::id());
        let place = Self { files: std::env::temp_dir().join(&name), cgroup: Path::new(&root).join(name) };
        fs::create_dir(&place.files)?;
        fs::create_dir(&place.cgroup)?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.files);
        // The kernel lets the folder go when the last process has left it.
        for _ in 0..100 {
            if fs::remove_dir(&self.cgroup).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A child process that is ended, and waited for, when the value is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: takes no pointer; the child has not been waited for, so that its number is its own.
        unsafe { libc::kill(self.0.id() as libc::pid_t, libc::SIGTERM) };
        let _ = self.0.wait();
    }
}

/// How nginx serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serving {
    /// Each response ends its connection.
    Closing,
    /// Connections stay open, and the port [`HTTP2`] has HTTP/2.
    KeptAlive,
}

/// Port of HTTP/2 without encryption.
pub(crate) const HTTP2: u16 = 81;

/// Starts nginx in `netns` and the cgroup of `place`, with a file of each size, bytes.
pub(crate) fn nginx(
    place: &Place,
    netns: &Netns,
    address: Ipv4Addr,
    sizes: &[usize],
    serving: Serving,
) -> Result<Running, Failure> {
    let (timeout, http2) = match serving {
        Serving::Closing => (0, String::new()),
        Serving::KeptAlive => (600, format!("listen {address}:{HTTP2} http2;")),
    };
    let files = place.files.display();
    for size in sizes {
        // Zeros, without a block on the disk.
        File::create(place.files.join(size.to_string()))?.set_len(*size as u64)?;
    }
    // One process, so that it is in the cgroup before it listens; each download is a connection.
    let configuration = format!(
        "daemon off; master_process off; pid {files}/nginx.pid; error_log {files}/error.log;\n\
         events {{ worker_connections 256; }}\n\
         http {{ access_log off; keepalive_timeout {timeout}; client_body_temp_path {files}/body; proxy_temp_path {files}/proxy;\n\
         fastcgi_temp_path {files}/fastcgi; uwsgi_temp_path {files}/uwsgi; scgi_temp_path {files}/scgi;\n\
         server {{ listen {address}:80; {http2} root {files}; }} }}\n"
    );
    let file = place.files.join("nginx.conf");
    fs::write(&file, configuration)?;
    let processes = place.cgroup.join("cgroup.procs");
    let mut command = Command::new("nginx");
    command.arg("-c").arg(&file).arg("-e").arg(place.files.join("error.log"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let enter = File::options().write(true).open(processes)?;
    // SAFETY: between fork and exec, only system calls.
    unsafe {
        command.pre_exec(move || {
            // On a busy machine, too, the server answers at once; the emulator comes before it.
            let parameters = libc::sched_param { sched_priority: 10 };
            if libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            (&enter).write_all(b"0")
        });
    }
    let child = netns.run(|| command.spawn())??;
    Ok(Running(child))
}

/// Starts the gateway on the cgroup of `place`, and waits until it answers.
pub(crate) fn gateway(
    program: &Path,
    place: &Place,
    configuration: &str,
    recording: Option<&Path>,
) -> Result<(Running, Client), Failure> {
    let file = place.files.join("gateway.toml");
    fs::write(&file, configuration)?;
    let mut command = Command::new(program);
    command.args(["gateway", "run", "--config"]).arg(&file);
    command.arg("--cgroup").arg(&place.cgroup);
    command
        .arg("--state")
        .arg(place.files.join("state"))
        .arg("--socket")
        .arg(place.files.join("gateway.sock"));
    if let Some(recording) = recording {
        command.arg("--record").arg(recording);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let process = Running(command.spawn().map_err(|error| format!("{}: {error}", program.display()))?);
    let client = Client::new(&place.files.join("gateway.sock"));
    let ready = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(50));
        client.get("/v1/status").is_ok()
    });
    if !ready {
        return Err("the gateway did not start within ten seconds; its message stands above".into());
    }
    Ok((process, client))
}
