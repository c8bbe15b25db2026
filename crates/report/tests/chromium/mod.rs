//! Control of a headless Chromium over its debugging pipe: JSON messages, each terminated by a zero byte.

#![allow(dead_code, reason = "each test file uses only some of it")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// Timeout of one answer. A loaded machine starts Chromium slowly.
const PATIENCE: Duration = Duration::from_secs(60);

/// A page in its own browser process.
pub(crate) struct Page {
    browser: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Option<String>,
    messages: u64,
    /// Events received so far.
    pub(crate) events: Vec<Value>,
    profile: PathBuf,
}

impl Page {
    /// A blank page. `None`, with the reason printed, if no Chromium is installed.
    pub(crate) fn blank(test: &str) -> Option<Self> {
        let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
            let version =
                Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            version.is_ok_and(|s| s.success())
        });
        let Some(program) = program else {
            firstflight_skip::skip("no chromium, chromium-browser or google-chrome can be started");
            return None;
        };
        let profile =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("chromium-{test}-{}", std::process::id()));
        let mut browser = Command::new("sh")
            // The browser reads descriptor 3 and writes descriptor 4.
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, program])
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
            ])
            .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell runs");
        let to = browser.stdin.take().expect("piped");
        let mut answers = BufReader::new(browser.stdout.take().expect("piped"));
        let (sender, from) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|n| n > 1) {
                message.pop();
                let value = serde_json::from_slice(&message).expect("the protocol is JSON");
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let mut page = Self { browser, to, from, session: None, messages: 0, events: vec![], profile };
        let target = page.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = page.call("Target.attachToTarget", attach);
        page.session = Some(attached["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        page.resize(1280, 1000);
        Some(page)
    }

    /// Opens a file, waits until the page is ready or has reported an error, and unfolds every section.
    pub(crate) fn open(&mut self, file: &Path) {
        self.open_folded(file);
        self.evaluate(
            "new Promise((go) => {
                document.querySelectorAll('details.fold').forEach((one) => { one.open = true; });
                requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(go, 50)));
            })",
        );
    }

    /// Opens a file as its reader sees it, and waits until the page is ready or has reported an error.
    pub(crate) fn open_folded(&mut self, file: &Path) {
        self.open_still(file);
        self.evaluate(
            "new Promise((go) => {
                const root = document.documentElement;
                const look = () => { if (root.dataset.ready === 'true' || root.dataset.error) go(true); };
                new MutationObserver(look).observe(root, { attributes: true });
                look();
            })",
        );
    }

    /// Opens a file and waits until it is loaded, with the scripts of its text.
    pub(crate) fn open_still(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        let opened = self.call("Page.navigate", json!({ "url": url }));
        let loader = opened["loaderId"].as_str().expect("another document").to_owned();
        // Events of the document before have another loader.
        let loaded = |event: &Value| {
            event["method"] == "Page.lifecycleEvent"
                && event["params"]["loaderId"] == *loader
                && event["params"]["name"] == "load"
        };
        while !self.events.iter().any(loaded) {
            let event = self.next("Page.navigate");
            self.events.push(event);
        }
    }

    /// Value of a JavaScript expression; promises are awaited.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// Sets the size of the window, in CSS pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// Sets the colour scheme that the reader's system prefers: `light` or `dark`.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Presses and releases a key, as the keyboard would.
    pub(crate) fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowRight" => (39, ""),
            other => panic!("no key code is known for {other}"),
        };
        let down = json!({ "type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", down);
        self.call(
            "Input.dispatchKeyEvent",
            json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code }),
        );
    }

    /// Errors in the page: exceptions, console errors, violations of the policy.
    pub(crate) fn errors(&self) -> Vec<&Value> {
        let wrong = |e: &&Value| match e["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => e["params"]["type"] == "error",
            Some("Log.entryAdded") => e["params"]["entry"]["level"] == "error",
            _ => false,
        };
        self.events.iter().filter(wrong).collect()
    }

    /// Result of a command of the protocol. Events that arrive before the answer are kept.
    pub(crate) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.messages += 1;
        let id = self.messages;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser reads its pipe");
        loop {
            let answer = self.next(method);
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer:#}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// The next message of the browser after the command `method`.
    fn next(&self, method: &str) -> Value {
        self.from
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|e| panic!("no answer to {method}: {e}; events: {:#?}", self.events))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let close = json!({ "id": self.messages + 1, "method": "Browser.close" }).to_string();
        let _ = self.to.write_all(format!("{close}\0").as_bytes());
        // The pipe closes when the browser exits. A browser that does not exit is killed.
        while let Ok(_late) = self.from.recv_timeout(Duration::from_secs(10)) {}
        let _ = self.browser.kill();
        let _ = self.browser.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
