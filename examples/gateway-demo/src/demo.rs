//! The demonstration.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use firstflight::Scenario;
use firstflight_daemon::Client;
use firstflight_lab::{Cable, Netns};
use firstflight_quantile::type_1;
use serde_json::{Value, json};

use crate::server::{Failure, Place, Serving, gateway, nginx};

/// The path: 8 Mbit/s, 50 ms, a queue of 30 kB. Its bandwidth-delay product is 33.3 packets of 1500 bytes.
pub(crate) const PATH: &str = r#"
    duration = "600 s"
    [path]
    rate = "8 Mbit/s"
    rtt = "50 ms"
    buffer = "20 packets"
    [[flow]]
    name = "nginx"
    profile = "linux"
    size = "100 KB"
"#;
/// Rules of the gateway: 10 % of the connections stay as the stack starts them.
const CONFIGURATION: &str = "mode = \"enforce\"\n[trial]\nholdout = 10\n";
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 86, 1, 1);
/// Number of client hosts, at the addresses after the server's.
const HOSTS: u8 = 8;
/// Sizes of the files, bytes.
const SIZES: [usize; 2] = [30_000, 100_000];
/// Size of the downloads from which the gateway learns, bytes.
const LESSON: usize = 300_000;
/// Downloads of each size, before and after.
const DOWNLOADS: usize = 60;
/// Most downloads from which the gateway learns.
const LESSONS: usize = 120;

pub(crate) fn run(program: &Path, recording: Option<&Path>) -> Result<Value, Failure> {
    let scenario = Scenario::from_text(PATH)?;
    let hosts: Vec<_> = (0..HOSTS).map(|host| Ipv4Addr::new(10, 86, 1, 2 + host)).collect();
    let place = Place::new()?;
    let cable = Cable::lay(&scenario, &[SERVER], &hosts)?;
    let sizes = [SIZES.as_slice(), &[LESSON]].concat();
    let server = nginx(&place, cable.near(), SERVER, &sizes, Serving::Closing)?;
    let clients = Clients { netns: cable.far(), hosts: &hosts };
    clients.wait_for_server()?;
    eprintln!("downloads without the gateway");
    let before = clients.measure()?;
    let (daemon, client) = gateway(program, &place, CONFIGURATION, recording)?;
    eprintln!("the gateway learns");
    let lessons = learn(&clients, &client)?;
    eprintln!("downloads with the gateway");
    let after = clients.measure()?;
    let status = client.get("/v1/status")?;
    let explained = client.get(&format!("/v1/explain/{}", hosts[0]))?;
    drop(daemon);
    drop(server);
    let validity = cable.cut()?;
    let effect = SIZES.iter().zip(before.iter().zip(&after)).map(|(size, (before, after))| {
        json!({
            "size_bytes": size,
            "downloads": DOWNLOADS,
            "before": figures(before),
            "after": figures(after),
            "sooner_median": 1.0 - quantile(after, 0.5) / quantile(before, 0.5),
            "later_p95": quantile(after, 0.95) / quantile(before, 0.95) - 1.0,
        })
    });
    Ok(json!({
        "path": { "rate_bit_s": 8_000_000, "rtt_ms": 50.0, "buffer_packets": 20 },
        "server": "nginx",
        "client": "curl",
        "lessons": lessons,
        "plan": explained["plan"],
        "estimate": explained["estimate"],
        "results": effect.collect::<Value>(),
        "trial": status["trial"],
        "complaint": status["complaint"],
        "validity": validity,
    }))
}

/// Downloads until the gateway has a plan of its whole estimate, within the eighth by which plans follow it, that has stopped growing;
/// returns their number.
fn learn(clients: &Clients<'_>, client: &Client) -> Result<usize, Failure> {
    let (mut window, mut steady) = (None, 0);
    for lesson in 0..LESSONS {
        clients.download(lesson, LESSON)?;
        let found = client.get(&format!("/v1/explain/{}", clients.hosts[0]))?;
        let new = found["plan"]["window_segments"].as_u64();
        steady = if new.is_some() && new == window { steady + 1 } else { 0 };
        window = new;
        let estimate = found["estimate"]["window_segments"].as_f64().unwrap_or(f64::INFINITY);
        let whole = new.is_some_and(|window| window as f64 >= estimate * 7.0 / 8.0);
        if steady >= 20 && whole {
            return Ok(lesson + 1);
        }
    }
    match window {
        Some(_) => Ok(LESSONS),
        None => {
            let found = client.get(&format!("/v1/explain/{}", clients.hosts[0]))?;
            Err(format!("the gateway made no plan after {LESSONS} downloads: {found}").into())
        }
    }
}

struct Clients<'a> {
    netns: &'a Netns,
    hosts: &'a [Ipv4Addr],
}

impl Clients<'_> {
    fn wait_for_server(&self) -> Result<(), Failure> {
        for _ in 0..100 {
            if self.download(0, SIZES[0]).is_ok() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err("nginx did not start within some seconds".into())
    }

    /// Downloads each size [`DOWNLOADS`] times, the hosts in turn; returns the times by size, ascending.
    fn measure(&self) -> Result<Vec<Vec<f64>>, Failure> {
        let mut times = vec![vec![]; SIZES.len()];
        for turn in 0..DOWNLOADS {
            for (size, times) in SIZES.iter().zip(&mut times) {
                times.push(self.download(turn, *size)?);
            }
        }
        times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        Ok(times)
    }

    /// Time from the end of the client's handshake to the last byte, seconds.
    fn download(&self, turn: usize, size: usize) -> Result<f64, Failure> {
        let host = self.hosts[turn % self.hosts.len()];
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--max-time", "30", "--output", "/dev/null"]);
        curl.args(["--write-out", "%{time_connect} %{time_total} %{size_download}"]);
        curl.arg("--interface").arg(host.to_string()).arg(format!("http://{SERVER}/{size}"));
        let ran = self.netns.run(|| curl.output())??;
        if !ran.status.success() {
            return Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned().into());
        }
        let text = String::from_utf8(ran.stdout)?;
        let numbers = text.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        match numbers[..] {
            [connected, ended, bytes] if bytes == size as f64 => Ok(ended - connected),
            _ => Err(format!("curl said {text}").into()),
        }
    }
}

pub(crate) fn figures(times: &[f64]) -> Value {
    json!({ "median_s": quantile(times, 0.5), "p95_s": quantile(times, 0.95), "max_s": quantile(times, 1.0) })
}

/// Quantile of ascending values: the smallest that at least the share `q` of them does not exceed.
pub(crate) fn quantile(times: &[f64], q: f64) -> f64 {
    type_1(times.iter().map(|time| (*time, 1.0)), q).expect("at least one time")
}
