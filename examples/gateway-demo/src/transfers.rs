//! The same responses of one server: without the gateway, with it, and with starts for their size.

#![expect(clippy::disallowed_methods, reason = "the kernel runs in real time")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use firstflight::Scenario;
use firstflight_lab::{Cable, Netns};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use serde_json::{Value, json};

use crate::demo::{PATH, figures, quantile};
use crate::server::{Failure, Place, Running, gateway};

/// Settings of the gateway besides those of all runs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Variant {
    /// Whether starts for the size set the slow-start threshold, too.
    pub(crate) threshold: bool,
    /// Whether the plan of the network holds after an idle time, too.
    pub(crate) idle: bool,
}

impl Variant {
    fn configuration(self) -> String {
        let Self { threshold, idle } = self;
        format!(
            "mode = \"enforce\"\n[plan]\nidle = {idle}\n[trial]\nholdout = 1\n[transfers]\napply = true\nssthresh = {threshold}\n"
        )
    }
}

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 86, 1, 1);
const PORT: u16 = 8080;
const HOSTS: u8 = 8;
/// Sizes of the responses, bytes.
const SIZES: [usize; 3] = [30_000, 100_000, 300_000];
/// Connections for each size and start. Each has two responses.
const CONNECTIONS: usize = 10;
/// Time between the two responses of a connection: five retransmission timeouts, after which Linux sends ten segments.
const IDLE: Duration = Duration::from_millis(1500);
/// Downloads from which the gateway learns.
const LESSONS: usize = 40;

/// Times of the first responses and of those after the idle time, by size, seconds.
type Times = Vec<[Vec<f64>; 2]>;

pub(crate) fn run(program: &Path, variant: Variant) -> Result<Value, Failure> {
    let scenario = Scenario::from_text(PATH)?;
    let hosts: Vec<_> = (0..HOSTS).map(|host| Ipv4Addr::new(10, 86, 1, 2 + host)).collect();
    let place = Place::new()?;
    let cable = Cable::lay(&scenario, &[SERVER], &hosts)?;
    let server = server(&place, cable.near())?;
    let mut clients = Clients { netns: cable.far(), hosts, turn: 0, asked: vec![], refused: vec![] };
    let ready = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        clients.connection().is_ok()
    });
    if !ready {
        return Err("the server did not start within five seconds".into());
    }
    eprintln!("responses without the gateway");
    let [without] = clients.measure(["none"])?;
    // In the server's namespace: idle connections are found in that of the gateway only.
    let configuration = variant.configuration();
    let start = || gateway(program, &place, &configuration, None).map_err(|error| error.to_string());
    let (daemon, client) = cable.near().run(start)??;
    eprintln!("the gateway learns");
    for _ in 0..LESSONS {
        let mut stream = clients.connection()?;
        clients.get(&mut stream, 300_000, "none")?;
        drop(stream);
        clients.turn += 1;
        thread::sleep(Duration::from_millis(100));
    }
    let explained = client.get(&format!("/v1/explain/{}", clients.hosts[0]))?;
    eprintln!("responses with the gateway: without and with a start for their size");
    let [alone, optimal, shifted] = clients.measure(["none", "optimal", "shifted"])?;
    let status = client.get("/v1/status")?;
    drop(daemon);
    drop(server);
    let Clients { mut asked, refused, .. } = clients;
    asked.sort_by(f64::total_cmp);
    let validity = cable.cut()?;
    let all = [("without", &without), ("gateway", &alone), ("optimal", &optimal), ("shifted", &shifted)];
    let results = SIZES.iter().enumerate().map(|(at, size)| {
        let row = |reply: usize| {
            all.iter()
                .map(|(name, times)| ((*name).to_owned(), figures(&times[at][reply])))
                .collect::<Value>()
        };
        json!({ "size_bytes": size, "first": row(0), "after_idle": row(1) })
    });
    Ok(json!({
        "path": { "rate_bit_s": 8_000_000, "rtt_ms": 50.0, "buffer_packets": 20 },
        "congestion_control": "cubic",
        "threshold": variant.threshold,
        "plan_after_idle": variant.idle,
        "connections": CONNECTIONS,
        "idle_s": IDLE.as_secs_f64(),
        "plan": explained["plan"],
        "estimate": explained["estimate"],
        "results": results.collect::<Value>(),
        "question_s": { "median": quantile(&asked, 0.5), "p95": quantile(&asked, 0.95) },
        "not_planned": refused,
        "complaint": status["complaint"],
        "validity": validity,
    }))
}

/// Starts the server of [`crate::sized`] in `netns` and the cgroup of `place`.
fn server(place: &Place, netns: &Netns) -> Result<Running, Failure> {
    let enter = File::options().write(true).open(place.cgroup.join("cgroup.procs"))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("serve").arg(SocketAddr::from((SERVER, PORT)).to_string());
    command.arg(place.files.join("gateway.sock")).stdin(Stdio::null()).stdout(Stdio::null());
    // SAFETY: between fork and exec, only the system call of one write.
    unsafe {
        command.pre_exec(move || (&enter).write_all(b"0"));
    }
    Ok(Running(netns.run(|| command.spawn())??))
}

struct Clients<'a> {
    netns: &'a Netns,
    hosts: Vec<Ipv4Addr>,
    turn: usize,
    /// Times of the questions to the gateway, seconds.
    asked: Vec<f64>,
    /// Reasons for which a response that was asked for had no plan.
    refused: Vec<String>,
}

impl Clients<'_> {
    /// A connection from the host whose turn it is.
    fn connection(&self) -> Result<TcpStream, Failure> {
        let host = self.hosts[self.turn % self.hosts.len()];
        let stream = self.netns.run(|| -> std::io::Result<TcpStream> {
            let client = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
            bind(&client, &SocketAddr::from((host, 0)))?;
            connect(&client, &SocketAddr::from((SERVER, PORT)))?;
            Ok(client.into())
        })??;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(stream)
    }

    /// Time from the request to the last byte of the response, seconds.
    fn get(&mut self, stream: &mut TcpStream, size: usize, start: &str) -> Result<f64, Failure> {
        let begun = Instant::now();
        stream.write_all(format!("GET /{size}/{start} HTTP/1.1\r\nHost: demo\r\n\r\n").as_bytes())?;
        let mut reader = BufReader::new(&*stream);
        let (mut line, mut head) = (String::new(), vec![]);
        while reader.read_line(&mut line)? > 2 {
            head.push(std::mem::take(&mut line));
        }
        let mut body = vec![0; size];
        reader.read_exact(&mut body)?;
        let took = begun.elapsed().as_secs_f64();
        let field =
            |name: &str| head.iter().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
        let started = field("X-Start: ").ok_or("no start")?;
        if start != "none" {
            let asked: f64 = field("X-Asked-Microseconds: ").ok_or("no time")?.parse()?;
            self.asked.push(asked / 1e6);
            if started != "planned" {
                self.refused.push(started);
            }
        }
        Ok(took)
    }

    /// Two responses of each size on each of [`CONNECTIONS`] connections for each start; the starts take turns.
    fn measure<const N: usize>(&mut self, starts: [&str; N]) -> Result<[Times; N], Failure> {
        let mut times: [Times; N] = std::array::from_fn(|_| SIZES.iter().map(|_| [vec![], vec![]]).collect());
        for _ in 0..CONNECTIONS {
            for (at, size) in SIZES.iter().enumerate() {
                for (start, times) in starts.iter().zip(&mut times) {
                    let mut stream = self.connection()?;
                    times[at][0].push(self.get(&mut stream, *size, start)?);
                    thread::sleep(IDLE);
                    times[at][1].push(self.get(&mut stream, *size, start)?);
                    drop(stream);
                    thread::sleep(Duration::from_millis(100));
                }
            }
            self.turn += 1;
        }
        let cells = times.iter_mut().flatten().flatten();
        cells.for_each(|times| times.sort_by(f64::total_cmp));
        Ok(times)
    }
}
