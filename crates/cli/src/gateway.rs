//! `firstflight gateway`: the performance gateway, and orders to a running one.

mod advise;
mod canary;
mod check;
mod orders;
mod plan;
mod run;
mod simulate;
mod site;
mod survey;
mod top;

use std::io::Read as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use firstflight_daemon::Client;
use firstflight_document::file;
use firstflight_report::Folder;
use serde_json::{Value, json};

use crate::failure::{Failure, wrong_at};
use crate::output::{places, print, print_json, show};

/// Path of the socket where neither the configuration nor an option names another.
const SOCKET: &str = "/run/firstflight/gateway.sock";

/// Longest wait for the gateway of another host.
const PATIENCE: Duration = Duration::from_secs(10);

/// Start new connections with what earlier ones to the same network learned
///
/// The gateway observes the connections of this server and learns a first window for each network of clients. In the mode
/// enforce it starts connections with that window. By default it only observes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway run --config /etc/firstflight/gateway.toml
  firstflight gateway status
  firstflight gateway explain 192.0.2.7
  firstflight gateway off 192.0.2.0/24
  firstflight gateway undo")]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Options),
    Check(check::Check),
    Reload(check::Reload),
    #[command(hide = true)]
    Load(run::Load),
    Status(Status),
    Top(top::Options),
    Explain(Explain),
    Advise(advise::Options),
    Plan(plan::Options),
    Canary(canary::Options),
    Orders(orders::Orders),
    Audit(orders::Audit),
    Set(Set),
    Freeze(Freeze),
    /// Start the connections to a network, or all connections, as the stack does
    #[command(after_help = "\
Examples:
  firstflight gateway off 192.0.2.0/24
  firstflight gateway off")]
    Off(Scope),
    /// End set, freeze and off of a network, or of all networks
    #[command(after_help = "\
Examples:
  firstflight gateway release 192.0.2.0/24
  firstflight gateway release")]
    Release(Scope),
    Export(Export),
    Import(Import),
    Undo(Undo),
    Site(site::Options),
    Survey(survey::Options),
    Simulate(simulate::Options),
    Replay(Replay),
}

impl Options {
    /// Whether the command is a service, which gives up its rights.
    pub(crate) fn serves(&self) -> bool {
        match &self.command {
            Command::Run(_) => true,
            Command::Site(options) => options.serves(),
            _ => false,
        }
    }
}

/// The socket of a running gateway.
#[derive(Debug, Args)]
struct Socket {
    /// Socket of the gateway: a path, or the address and port of the gateway of another host (site.listen)
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Socket {
    fn client(&self) -> Client {
        match self.socket.to_str().and_then(|text| text.parse().ok()) {
            Some(address) => Client::at(address, PATIENCE),
            None => Client::new(&self.socket),
        }
    }

    fn get(&self, path: &str) -> Result<Value, Failure> {
        self.client().get(path).map_err(Failure::new)
    }

    /// Sends an order and prints the answer: as JSON, or as the text.
    fn order(&self, path: &str, body: &Value, text: &str) -> Result<(), Failure> {
        let answer = self.client().post(path, body).map_err(Failure::new)?;
        match self.json {
            true => print_json(&answer),
            false => show(&format!("{text}\n{}", undurable(&answer))),
        }
    }
}

/// Show mode, mechanisms, counts and the verdict of the held-out connections
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway status
  firstflight gateway status --json | jq .plans")]
struct Status {
    #[command(flatten)]
    socket: Socket,
}

/// Show samples, estimate and plan of an address, and the reason for each
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway explain 192.0.2.7
  firstflight gateway explain 2001:db8::7 --json")]
struct Explain {
    /// Address of a client
    #[arg(value_name = "ADDRESS", value_parser = address)]
    address: IpAddr,
    #[command(flatten)]
    socket: Socket,
}

/// Fix the first window of a network
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway set 192.0.2.0/24 20")]
struct Set {
    /// The network
    #[arg(value_name = "PREFIX")]
    prefix: String,
    /// First window, segments: from 10, with which Linux starts every connection, to plan.window of the configuration
    #[arg(value_name = "SEGMENTS")]
    window: u32,
    #[command(flatten)]
    socket: Socket,
}

/// Keep the present plan of a network until it is released
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway freeze 192.0.2.0/24")]
struct Freeze {
    /// The network
    #[arg(value_name = "PREFIX")]
    prefix: String,
    #[command(flatten)]
    socket: Socket,
}

/// A network, or all of them.
#[derive(Debug, Args)]
struct Scope {
    /// The network; all of them if there is none
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,
    #[command(flatten)]
    socket: Socket,
}

/// Write everything learned to a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway export learned.state")]
struct Export {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Socket of the gateway
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
}

/// Replace everything learned by a file that `export` wrote
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway import learned.state")]
struct Import {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    socket: Socket,
}

/// Remove every plan and order from the kernel; what was learned stays
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway undo")]
struct Undo {
    #[command(flatten)]
    socket: Socket,
}

/// Replay a recording of `run --record` and check that it gives the same decisions
///
/// Exit code 1 if a decision differs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstflight gateway replay events.jsonl")]
struct Replay {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn execute(options: &Options) -> Result<(), Failure> {
    match &options.command {
        Command::Run(options) => run::execute(options),
        Command::Check(options) => check::check(options),
        Command::Reload(options) => check::reload(options),
        Command::Canary(options) => canary::execute(options),
        Command::Orders(options) => orders::orders(options),
        Command::Audit(options) => orders::audit(options),
        Command::Load(options) => run::load(options),
        Command::Status(Status { socket }) => status(socket),
        Command::Top(options) => top::execute(options),
        Command::Replay(Replay { file }) => replay(file),
        Command::Simulate(options) => simulate::execute(options),
        Command::Survey(options) => survey::execute(options),
        Command::Explain(Explain { address, socket }) => {
            let found = socket.get(&format!("/v1/explain/{address}"))?;
            if socket.json { print_json(&found) } else { show(&explained(&found)) }
        }
        Command::Advise(options) => advise::execute(options),
        Command::Plan(options) => plan::execute(options),
        Command::Site(options) => site::execute(options),
        Command::Set(Set { prefix, window, socket }) => socket.order(
            "/v1/set",
            &json!({ "prefix": prefix, "window": window }),
            &format!("Connections to {prefix} start with {window} segments until `firstflight gateway release {prefix}`."),
        ),
        Command::Freeze(Freeze { prefix, socket }) => socket.order(
            "/v1/freeze",
            &json!({ "prefix": prefix }),
            &format!("The plan of {prefix} stays as it is until `firstflight gateway release {prefix}`."),
        ),
        Command::Off(Scope { prefix, socket }) => {
            let text = match prefix {
                Some(prefix) => format!("Connections to {prefix} start as the stack starts them."),
                None => "All connections start as the stack starts them until `firstflight gateway release`.".to_owned(),
            };
            socket.order("/v1/off", &json!({ "prefix": prefix }), &text)
        }
        Command::Release(Scope { prefix, socket }) => {
            let answer =
                socket.client().post("/v1/release", &json!({ "prefix": prefix })).map_err(Failure::new)?;
            if socket.json { print_json(&answer) } else { show(&released(prefix.as_deref(), &answer)) }
        }
        Command::Export(Export { file, socket }) => {
            let state = Client::new(socket).get_bytes("/v1/export").map_err(Failure::new)?;
            print(&places(&write(file, &state)?))
        }
        Command::Import(Import { file, socket }) => {
            let state = read(file)?;
            let answer = socket.client().post_bytes("/v1/import", state).map_err(Failure::new)?;
            match socket.json {
                true => print_json(&answer),
                false => show(&format!("The gateway knows {} networks.\n", answer["prefixes"])),
            }
        }
        Command::Undo(Undo { socket }) => {
            let answer = socket.client().post("/v1/undo", &json!({})).map_err(Failure::new)?;
            match socket.json {
                true => print_json(&answer),
                false => show(&format!(
                    "Removed {} plans and {} orders; all connections start as the stack starts them until `firstflight gateway \
                     release`.\n{}",
                    answer["removed_plans"],
                    answer["removed_orders"],
                    undurable(&answer)
                )),
            }
        }
    }
}

/// The answer to a release in words.
fn released(prefix: Option<&str>, answer: &Value) -> String {
    let Some(prefix) = prefix else {
        return format!("{} orders of the socket have ended.\n", answer["released"]);
    };
    let ended = match answer["released"].as_u64() {
        Some(0) => format!("There was no order for {prefix}."),
        _ => format!("The order of the socket for {prefix} has ended."),
    };
    let left = match &answer["order"] {
        Value::Null => String::new(),
        left => format!(" In force: {}.", orders::line(left)),
    };
    format!("{ended}{left}\n")
}

/// An order of an answer in words.
fn order_words(order: &Value) -> String {
    match order {
        Value::Null => "no order".to_owned(),
        Value::String(action) => action.clone(),
        other => format!("{} segments", other["set"]),
    }
}

fn replay(file: &Path) -> Result<(), Failure> {
    let recording = String::from_utf8(read(file)?).map_err(|_| wrong_at(file.display(), "not a text"))?;
    let replayed =
        firstflight_gateway::replay(recording.lines()).map_err(|error| wrong_at(file.display(), error))?;
    show(&format!("{} events, {} equal decisions\n", replayed.events, replayed.decisions))?;
    let Some(difference) = replayed.difference else { return Ok(()) };
    show(&format!(
        "line {} differs:\n  recorded {}\n  replayed {}\n",
        difference.line, difference.logged, difference.replayed
    ))?;
    Err(Failure::Unmet)
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "not an address; expected one as 192.0.2.7 or 2001:db8::7".to_owned())
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![];
    let read = file::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| wrong_at(path.display(), error))?;
    Ok(bytes)
}

/// Writes a file whole, which only its owner may read, and returns the places of what was written.
fn write(file: &Path, bytes: &[u8]) -> Result<Vec<PathBuf>, Failure> {
    let name = file.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| wrong_at(file.display(), "not the name of a file"))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut folder = Folder::open(folder.unwrap_or(Path::new(".")))?;
    folder.stage_private(name, |out| out.write_all(bytes))?;
    Ok(folder.commit()?)
}

fn status(socket: &Socket) -> Result<(), Failure> {
    let found = socket.get("/v1/status")?;
    if socket.json {
        return print_json(&found);
    }
    let mut text = format!(
        "mode {}{}; {} networks known, {} with a plan, {} orders\n",
        word(&found["mode"]),
        halted(&found),
        found["prefixes"],
        found["plans"],
        found["orders"],
    );
    if found["stopped"] == true {
        text += &format!("stopped{}\n", orders::given(&found["stopped_by"]));
    }
    for order in found["order_list"].as_array().into_iter().flatten() {
        text += &format!("order {}\n", orders::line(order));
    }
    if let Some(why) = found["reload"]["error"].as_str() {
        text += &format!("the reload of {} changed nothing: {why}\n", word(&found["reload"]["at"]));
    }
    if found["others"]["yielding"] == true {
        text +=
            "another program takes the callbacks of connections: the gateway yields, and no plan is used\n";
    }
    if !found["canary"].is_null() {
        text += &format!("{}\n", canary::summary(&found["canary"]));
    }
    for tier in found["tiers"].as_array().into_iter().flatten() {
        text += &format!("{}\n", word(tier));
    }
    if found["lost_reports"].as_u64().is_some_and(|lost| lost > 0) {
        text += &format!("{} reports of connections were lost: the buffer was full\n", found["lost_reports"]);
    }
    text += &format!("{}\n", trial(&found["trial"]));
    let mirror = &found["mirror"];
    if let Some(packets) = mirror["seen"]["packets"].as_u64() {
        text += &format!(
            "{packets} packets seen, {} connections rebuilt, {} ended early for want of room; {} packets dropped\n",
            mirror["seen"]["connections"], mirror["seen"]["early"], mirror["dropped_packets"]
        );
        for kind in mirror["passed_over"].as_array().into_iter().flatten() {
            text += &format!("{} packets passed over: {}\n", kind["packets"], word(&kind["what"]));
        }
        if let Some(taken) = mirror["pushes"]["taken"].as_u64() {
            text += &format!("{taken} observations pushed, {} not taken\n", mirror["pushes"]["refused"]);
        }
    }
    text += &shared(&found["share"]);
    text += &stored(&found["store"]);
    if let Some(complaint) = found["complaint"].as_str() {
        text += &format!("newest warning: {complaint}\n");
    }
    show(&text)
}

/// The state folder, as lines; nothing while it is in order.
fn stored(found: &Value) -> String {
    let mut text = String::new();
    if let Some(lost) = found["orders_lost"].as_str() {
        text += &format!("lost at the start: {lost}\n");
    }
    if found["orders_durable"] == false {
        text += "the orders in force are not all saved: a restart would lose some\n";
    }
    if let Some(why) = found["why_failing"].as_str() {
        let age = found["snapshot_age_s"]
            .as_f64()
            .map_or("there is none".to_owned(), |age| format!("{age:.0} s old"));
        text += &format!("what is learned is not saved: {why}; the newest snapshot: {age}\n");
    }
    text
}

/// A warning where an order is in force and not on disk.
fn undurable(answer: &Value) -> String {
    let why = answer["why_not_durable"].as_str();
    why.map_or(String::new(), |why| format!("It is in force, but a restart would lose it: {why}.\n"))
}

/// The user who stopped all plans, behind the mode; empty if no user did.
fn halted(status: &Value) -> &'static str {
    match (&status["stopped"], &status["trial"]["reverted"]) {
        (Value::Bool(true), _) => ", stopped by the operator: no plan is used",
        (_, Value::Bool(true)) => ", stopped by the trial: no plan is used",
        _ => "",
    }
}

/// The round-trip times of a plan in words.
fn round_trips(plan: &Value) -> String {
    match (plan["rtt_ms"][0].as_f64().unwrap_or(0.0), plan["rtt_ms"][1].as_f64()) {
        (low, Some(high)) => format!("round trips of {low:.1} to {high:.1} ms"),
        (low, None) if low > 0.0 => format!("round trips from {low:.1} ms"),
        (_, None) => "round trips of any length".to_owned(),
    }
}

/// The exchange with other gateways, as a line; nothing without one.
fn shared(found: &Value) -> String {
    let Some(host) = found["host"].as_str() else { return String::new() };
    let state = match found["why_not_connected"].as_str() {
        Some(why) => format!("not connected ({why}), own measurements only"),
        None => "connected".to_owned(),
    };
    let refused: u64 =
        found["refused"].as_object().into_iter().flat_map(|all| all.values()).filter_map(Value::as_u64).sum();
    format!(
        "shares as {host} through {}: {state}; {} observations published, {} taken, {refused} refused\n",
        word(&found["store"]),
        found["published"],
        found["taken"],
    )
}

/// The comparison of planned and held-out connections, as a sentence.
fn trial(found: &Value) -> String {
    let ratio = &found["completion_ratio"];
    match (ratio["low"].as_f64(), ratio["mean"].as_f64(), ratio["high"].as_f64()) {
        (Some(low), Some(mean), Some(high)) => format!(
            "planned connections take {mean:.2} ({low:.2} to {high:.2}) of the time of those held out; {} comparisons",
            found["blocks"]
        ),
        _ => "no comparison of planned and held-out connections yet".to_owned(),
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn explained(found: &Value) -> String {
    let mut text = format!("network          {}\n", word(&found["prefix"]));
    if let Some(seconds) = found["seen_s_ago"].as_f64() {
        text += &format!("newest report    {seconds:.0} s ago\n");
    }
    let estimate = &found["estimate"];
    if let Some(window) = estimate["window_segments"].as_f64() {
        text += &format!(
            "estimate         {window:.1} segments (range of its hosts {:.1} to {:.1}); {} hosts, {} of them measured to the limit, {} samples\n",
            estimate["range_segments"][0].as_f64().unwrap_or(0.0),
            estimate["range_segments"][1].as_f64().unwrap_or(0.0),
            estimate["hosts"],
            estimate["hosts_measured_to_the_limit"],
            estimate["samples"],
        );
    }
    for heard in found["from"].as_array().into_iter().flatten() {
        text += &format!(
            "from {:<11} at least {:.1} segments, {:.0} s ago; weight {}\n",
            word(&heard["host"]),
            heard["window_segments_at_least"].as_f64().unwrap_or(0.0),
            heard["age_s"].as_f64().unwrap_or(0.0),
            heard["weight"],
        );
    }
    for (name, plan) in [("plan", &found["plan"]), ("after release", &found["plan_after_release"])] {
        if let Some(window) = plan["window_segments"].as_u64() {
            text += &format!(
                "{name:<16} first window {window} segments, for {}; expires in {:.0} s\n",
                round_trips(plan),
                plan["expires_in_s"].as_f64().unwrap_or(0.0),
            );
        }
    }
    if let Some(given) = found["given_segments"].as_f64() {
        text += &format!("given            {given:.1} segments, the mean of planned connections of late\n");
    }
    if let (Some(open), Some(segments)) =
        (found["live_connections"].as_u64(), found["in_flight_segments"].as_u64())
    {
        text += &format!("connections      {open} open, {segments} segments in flight\n");
    }
    if let Some(why) = found["why_no_plan"].as_str() {
        text += &format!("not in force     {why}\n");
    }
    if !found["order_origin"].is_null() {
        text += &format!("order            {}\n", orders::line(&found["order_origin"]));
    }
    if !found["trial"].is_null() {
        text += &format!("trial            {}\n", trial(&found["trial"]));
    }
    text
}
