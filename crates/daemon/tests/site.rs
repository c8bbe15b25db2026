//! The interface between the gateway of a site and those of its hosts.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crate::common::{Scratch, Service, setup, teach};
use firstflight_daemon::{Client, Setup, Site};
use firstflight_gateway::{Keys, Mode, Observation, Settings, Signer};
use serde_json::json;

/// An address of this machine at which nothing listens.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address")
}

/// A gateway with an interface to others, which the hosts of this prefix may use.
fn gateway(folder: &Scratch, mode: Mode, listen: SocketAddr, hosts: &str, secret: u8) -> Service {
    let site = Site {
        listen,
        hosts: vec![hosts.parse().expect("a prefix")],
        signer: Some(Signer::from_seed("site", &[secret; 32])),
        keys: Keys::of(&Signer::from_seed("site", &[secret; 32])),
        weight: 500,
    };
    // One observation of the site is enough for a plan of this host.
    let settings = Settings { hosts: 1, ..setup(&folder.0, mode).settings };
    Service::with(Setup { settings, site: Some(site), ..setup(&folder.0, mode) })
}

fn at(address: SocketAddr) -> Client {
    Client::at(address, Duration::from_secs(10))
}

#[test]
fn a_host_asks_the_gateway_of_its_site_and_starts_with_what_the_site_knows() {
    let (there, here) = (Scratch::new(), Scratch::new());
    let [site_at, host_at] = [free(), free()];
    let site = gateway(&there, Mode::Advise, site_at, "127.0.0.0/8", 7);
    let host = gateway(&here, Mode::Enforce, host_at, "127.0.0.0/8", 7);
    let asked = at(site_at);
    let unknown = asked.get("/v1/observation/192.0.2.9").expect_err("nothing is known").to_string();
    assert!(unknown.contains("nothing to say of 192.0.2.0/24: "), "{unknown}");
    teach(&site);
    site.until("the site has an estimate", || asked.get("/v1/observation/192.0.2.9").is_ok());
    let found = asked.get("/v1/observation/192.0.2.9").expect("known");
    // 10 Mbit/s and 40 ms: 50 000 bytes, 34.5 segments, in sixteenths.
    assert_eq!(
        (&found["observation"]["prefix"], &found["observation"]["window"]),
        (&json!("192.0.2.0/24"), &json!(552))
    );
    let plan =
        asked.post("/v1/plan", &json!({ "destination": "192.0.2.9", "bytes": 100_000 })).expect("an answer");
    assert_eq!(plan["start"], "planned");

    // The host has no plan. After the observation of the site its kernel has one: half of the doublings from 10 to 34.5.
    assert_eq!(host.client.get("/v1/status").expect("an answer")["plans"], 0);
    let record = json!({ "record": found["record"] });
    let taken = at(host_at).post("/v1/observation", &record).expect("it is signed");
    assert_eq!((&taken["prefix"], &taken["planned"]), (&json!("192.0.2.0/24"), &json!(true)));
    assert_eq!(host.kernel.told(|told| told.plans[0].window), 18);

    // A record that was changed is refused, and one under another secret.
    let changed = found["record"].as_str().expect("a text").replace("\"window\":552", "\"window\":999");
    let refused = at(host_at).post("/v1/observation", &json!({ "record": changed })).expect_err("refused");
    assert!(refused.to_string().contains("the signature does not fit the record"), "{refused}");
    let counts = &host.client.get("/v1/status").expect("an answer")["observations"];
    assert_eq!((&counts["accepted"], &counts["refused"]), (&json!(1), &json!(1)));
    site.end().expect("it ends");
    host.end().expect("it ends");
}

#[test]
fn the_key_of_a_site_speaks_for_the_site_alone() {
    let (scratch, at_port) = (Scratch::new(), free());
    let host = gateway(&scratch, Mode::Enforce, at_port, "127.0.0.0/8", 7);
    let signer = Signer::from_seed("site", &[7; 32]);
    let wall = std::process::Command::new("date").arg("+%s").output().expect("date runs").stdout;
    let wall: u64 = String::from_utf8_lossy(&wall).trim().parse().expect("a number");
    let rtt = firstflight_contract::Nanos::from_millis(40);
    let prefix = "192.0.2.0/24".parse().expect("a prefix");
    for name in ["one", "two", "three"] {
        let record = Observation::new(name, prefix, 720, rtt, 2805, wall).sign(&signer);
        let refused = at(at_port).post("/v1/observation", &json!({ "record": record })).expect_err("refused");
        let said = format!("the record of {name} is signed by the key of site");
        assert!(refused.to_string().contains(&said), "{refused}");
    }
    let record = Observation::new("site", prefix, 720, rtt, 2805, wall).sign(&signer);
    at(at_port).post("/v1/observation", &json!({ "record": record })).expect("it is the site's");
    let found = host.client.get("/v1/explain/192.0.2.1").expect("an explanation");
    assert_eq!((&found["hosts"], &found["from"][0]["host"]), (&json!(1), &json!("site")), "{found}");
    host.end().expect("it ends");
}

#[test]
fn another_host_may_ask_if_it_is_of_the_site_and_change_nothing() {
    let (here, there) = (Scratch::new(), Scratch::new());
    let [open_at, closed_at] = [free(), free()];
    let open = gateway(&here, Mode::Advise, open_at, "127.0.0.1/32", 7);
    let closed = gateway(&there, Mode::Advise, closed_at, "192.0.2.0/24", 7);
    assert!(at(open_at).get("/v1/status").is_ok());
    for path in ["/v1/off", "/v1/undo", "/v1/set", "/v1/import"] {
        let refused = at(open_at).post(path, &json!({})).expect_err("refused").to_string();
        assert!(refused.contains("host 127.0.0.1 has no right to this"), "{path}: {refused}");
    }
    assert!(at(open_at).get("/v1/export").expect_err("refused").to_string().contains("no right"));
    for path in ["/v1/status", "/v1/explain/192.0.2.1", "/metrics"] {
        let refused = at(closed_at).get(path).expect_err("refused").to_string();
        assert!(refused.contains("expected a question, or an observation, from a host"), "{path}: {refused}");
    }
    let plan = at(closed_at).post("/v1/plan", &json!({ "destination": "192.0.2.9", "bytes": 1 }));
    assert!(plan.expect_err("refused").to_string().contains("no right"));
    open.end().expect("it ends");
    closed.end().expect("it ends");
}

#[test]
fn an_address_that_is_not_of_this_host_is_refused_by_name() {
    let folder = Scratch::new();
    let listen: SocketAddr = "192.0.2.77:4646".parse().expect("an address");
    let site = Site { listen, hosts: vec![], signer: None, keys: Keys::new(), weight: 500 };
    let setup = Setup { site: Some(site), ..setup(&folder.0, Mode::Advise) };
    let kernel = crate::common::Played::default();
    let error = firstflight_daemon::serve(&setup, Box::new(kernel), || true, |_| ()).expect_err("refused");
    assert!(error.to_string().starts_with("the address of the site 192.0.2.77:4646: "), "{error}");
}
