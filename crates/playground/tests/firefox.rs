//! The page in headless Firefox, over its own protocol of remote control (Marionette): messages on a socket, each `length:JSON`.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{as_in_browser, has, order, page};
use firstflight_playground::{Engine, Silent};
use serde_json::{Value, json};

struct Firefox {
    browser: Child,
    socket: BufReader<TcpStream>,
    messages: u64,
    profile: PathBuf,
}

impl Firefox {
    /// `None`, with the reason printed, if no Firefox is installed.
    fn start() -> Option<Self> {
        let Some(program) = ["firefox-esr", "firefox"].into_iter().find(|program| has(program)) else {
            firstflight_skip::skip(
                "neither firefox-esr nor firefox can be started (apt-get install firefox-esr)",
            );
            return None;
        };
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("firefox-{}", std::process::id()));
        std::fs::create_dir_all(&profile).expect("a folder for the profile");
        let free =
            TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a free port").port();
        let preferences =
            format!("user_pref(\"marionette.port\", {free});\nuser_pref(\"app.update.enabled\", false);\n");
        std::fs::write(profile.join("user.js"), preferences).expect("the profile is written");
        let browser = Command::new(program)
            .args(["--headless", "--marionette", "--no-remote", "--profile"])
            .arg(&profile)
            .env("HOME", &profile)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it has answered --version");
        let socket = connected(free);
        let mut firefox = Self { browser, socket: BufReader::new(socket), messages: 0, profile };
        let greeting = firefox.read();
        assert_eq!(greeting["marionetteProtocol"], 3, "{greeting}");
        firefox.call("WebDriver:NewSession", json!({}));
        firefox.call("WebDriver:SetTimeouts", json!({ "script": 120_000, "pageLoad": 120_000 }));
        Some(firefox)
    }

    fn read(&mut self) -> Value {
        let mut length = 0_usize;
        loop {
            let mut byte = [0];
            self.socket.read_exact(&mut byte).expect("the browser answers");
            match byte[0] {
                b':' => break,
                digit => length = length * 10 + usize::from(digit - b'0'),
            }
        }
        let mut message = vec![0; length];
        self.socket.read_exact(&mut message).expect("a whole message");
        serde_json::from_slice(&message).expect("the protocol is JSON")
    }

    fn call(&mut self, command: &str, parameters: Value) -> Value {
        self.messages += 1;
        let message = json!([0, self.messages, command, parameters]).to_string();
        let socket = self.socket.get_mut();
        write!(socket, "{}:{message}", message.len()).expect("the browser reads its socket");
        let answer = self.read();
        assert_eq!(answer[1], self.messages);
        assert!(answer[2].is_null(), "{command}: {answer}");
        answer[3].clone()
    }

    /// Value of an expression; promises are awaited.
    fn evaluate(&mut self, expression: &str) -> Value {
        let script = format!("return (async () => ({expression}))()");
        let call = json!({ "script": script, "args": [], "sandbox": null });
        self.call("WebDriver:ExecuteScript", call)["value"].clone()
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// A connection to the browser, which needs some time until it listens.
fn connected(port: u16) -> TcpStream {
    for _ in 0..600 {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(socket) => {
                socket.set_read_timeout(Some(Duration::from_secs(180))).expect("a socket");
                return socket;
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => sleep(Duration::from_millis(100)),
            Err(error) => panic!("port {port}: {error}"),
        }
    }
    panic!("Firefox has not opened port {port} within a minute");
}

#[test]
fn the_page_works_in_firefox_from_the_disk() {
    let Some(file) = page("firefox") else { return };
    let Some(mut firefox) = Firefox::start() else { return };
    let fragment = "#preset=dsl&startup=slow-start,jump-start&window=30&sizes=30KB,300KB,3MB";
    firefox.call("WebDriver:Navigate", json!({ "url": format!("file://{}{fragment}", file.display()) }));
    let ready = "await new Promise((go) => { const look = () => { const { ready, error } = document.documentElement.dataset; \
         ready === 'true' || error ? go(error ?? 'ready') : setTimeout(look, 50); }; look(); })";
    assert_eq!(firefox.evaluate(ready), "ready");
    // `room` belongs to the page's script; the test sees what the page shows.
    let mut engine = Engine::default();
    let order = order(&json!({ "preset": "dsl" }), &["slow-start", "jump-start"], 30);
    let answer = engine.answer(order.to_string().as_bytes(), &[], &Silent).expect("an answer");
    let native: Value = serde_json::from_slice(&as_in_browser(&answer)).expect("JSON");
    let parsed = "(() => { const whole = new DOMParser().parseFromString(HTML, 'text/html'); const of = (place) => \
         [...place.querySelectorAll('#answer, #advice, #ranking, #path, #caveats, #provenance')].map((it) => \
         it.id === 'provenance' ? it.querySelector('dl').textContent : it.textContent); \
         return [of(whole), of(document)]; })()";
    let both = firefox.evaluate(&parsed.replace("HTML", &native["html"].to_string()));
    assert_eq!(both[0], both[1], "the texts of the sections are the native ones");
    // There is advice where a scheme is recommended.
    let advice = native["html"].as_str().is_some_and(|html| html.contains("id=\"advice\""));
    assert_eq!(both[0].as_array().map(Vec::len), Some(5 + usize::from(advice)));
    let drawn = "[...document.querySelectorAll('#result canvas')].filter((it) => it.width > 0).length";
    assert!(firefox.evaluate(drawn).as_u64().is_some_and(|it| it >= 6), "plots and packets are drawn");
    let painted = firefox.evaluate("Number(document.getElementById('cost').dataset.painted)");
    println!(
        "Firefox: the first whole answer is painted {:.0} ms after it was asked for",
        painted.as_f64().unwrap_or(0.0)
    );
    let before = firefox.evaluate("document.getElementById('packets-words').textContent");
    firefox.evaluate("document.getElementById('packets-play').click()");
    firefox.evaluate("await new Promise((go) => setTimeout(go, 700))");
    assert_ne!(firefox.evaluate("document.getElementById('packets-words').textContent"), before);
    assert_eq!(firefox.evaluate("document.documentElement.dataset.error ?? null"), Value::Null);
}
