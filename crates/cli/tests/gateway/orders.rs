//! Orders of the configuration and of the socket on the kernel: reload, check, audit.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::common::{Finished, Scratch};
use super::faults::{Inside, ORDERED, SOCKET, STOCK, command, ready, stock, until_window};
use super::{Cgroup, Gateway, ask};

/// Time within which an order reaches the kernel.
const SOON: Duration = Duration::from_secs(5);
const ORDER: &str = "[[override]]\nprefix = \"127.1.2.0/24\"\nwindow = 20\n";
const HOLDOUT: &str = "[trial]\nholdout = 1\n";

fn hang_up(gateway: &Gateway) {
    let sent = Command::new("kill").args(["-HUP", &gateway.0.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

fn told(scratch: &Scratch, arguments: &[&str]) -> Finished {
    scratch.run(&[&["gateway"], arguments, &SOCKET].concat())
}

/// The fields of an entry of the audit log.
fn entry(entry: &Value) -> Value {
    json!([entry["via"], entry["what"], entry["before"], entry["after"], entry["result"]])
}

#[test]
fn a_reload_takes_the_orders_of_the_file_and_an_error_in_it_changes_nothing() {
    let Some(cgroup) = Cgroup::named("orders") else {
        return firstflight_skip::skip("no cgroup2 hierarchy in which this user may make a folder");
    };
    let scratch = Scratch::new();
    let _inside = match Inside::enter(&cgroup) {
        Ok(inside) => inside,
        Err(error) => return firstflight_skip::skip(format_args!("{}: {error}", cgroup.0.display())),
    };
    scratch.write("gateway.toml", format!("{HOLDOUT}{ORDER}"));
    let mut gateway = match ready(command(&scratch, &cgroup).spawn().expect("it starts"), &scratch) {
        Ok(gateway) => gateway,
        Err(output) => return firstflight_skip::skip(String::from_utf8_lossy(&output.stderr).trim()),
    };
    until_window(ORDERED, SOON, "an order of the file");
    let origin = &ask(&scratch, &["explain", "127.1.2.9"])["order_origin"];
    assert_eq!((&origin["origin"], &origin["line"]), (&json!("file"), &json!(4)), "{origin}");

    // SIGHUP takes the order out of force, and the process goes on.
    scratch.write("gateway.toml", HOLDOUT);
    hang_up(&gateway);
    until_window(STOCK, SOON, "its table was removed");
    stock("its table was removed");
    // The order of the socket wins over that of the file, and its release falls back to that.
    scratch.write("gateway.toml", format!("{HOLDOUT}{ORDER}"));
    let text = told(&scratch, &["reload"]).out;
    assert_eq!(text, "gateway.toml was read again\n127.1.2.0/24: 20 segments, before no order\n");
    until_window(ORDERED, SOON, "its table is there again");
    ask(&scratch, &["off", "127.1.2.0/24"]);
    stock("an order of the socket");
    let text = told(&scratch, &["release", "127.1.2.0/24"]).out;
    let said = "The order of the socket for 127.1.2.0/24 has ended. In force: 127.1.2.0/24 20 segments, gateway.toml:4.\n";
    assert_eq!(text, said);
    until_window(ORDERED, SOON, "the order of the file again");

    // A file with an error: `reload` fails with it, `status` shows it, and the order holds.
    scratch.write("gateway.toml", format!("{HOLDOUT}[[override]]\nprefix = \"127.1.2.0/24\"\nwindow = 9\n"));
    let refused = told(&scratch, &["reload"]);
    let why = "gateway.toml:5:10: override[0].window = 9: ";
    assert!(
        refused.code == 2 && refused.err.contains(why) && refused.err.contains("10 to 45"),
        "{refused:?}"
    );
    hang_up(&gateway);
    thread::sleep(Duration::from_millis(200));
    let status = ask(&scratch, &["status"]);
    assert!(status["reload"]["error"].as_str().expect("an error").contains(why), "{status}");
    assert_eq!(status["reload"]["via"], "SIGHUP");
    until_window(ORDERED, SOON, "after a reload of a bad file");

    // A key that needs a restart is named, and not taken.
    scratch.write("gateway.toml", format!("{HOLDOUT}[plan]\nwindow = 30\n{ORDER}"));
    let answer = ask(&scratch, &["reload"]);
    assert_eq!((&answer["needs_restart"], &answer["changed"]), (&json!(["plan.window"]), &json!([])));
    let uid = std::fs::metadata("/proc/self").expect("this process").uid();
    let entries = scratch.run(&["gateway", "audit", "--state", "state", "--json"]).json();
    let entries = entries.as_array().expect("an array");
    let orders: Vec<_> = entries.iter().map(entry).collect();
    let file = "127.1.2.0/24 20 (gateway.toml:4)";
    let off = "127.1.2.0/24 off (socket)";
    let beneath = "127.1.2.0/24 20 (gateway.toml:4, not in force)";
    let reload = "reload of gateway.toml";
    assert_eq!(
        orders,
        [
            json!(["start", "start with gateway.toml", [], [file], "done"]),
            json!(["SIGHUP", reload, ["127.1.2.0/24 20"], [], "done"]),
            json!(["socket", reload, [], ["127.1.2.0/24 20"], "done"]),
            json!(["socket", "off 127.1.2.0/24", [file], [off, beneath], "done"]),
            json!(["socket", "release 127.1.2.0/24", [off, beneath], [file], "done"]),
            json!(["socket", reload, [], [], "refused"]),
            json!(["SIGHUP", reload, [], [], "refused"]),
            json!(["socket", reload, [], [], "done"]),
        ]
    );
    let off = &entries[3];
    assert_eq!((&off["uid"], &off["comm"]), (&json!(uid), &json!("firstflight")), "{off}");
    let text = scratch.run(&["gateway", "audit", "--state", "state", "--last", "1"]).out;
    assert!(text.contains(&format!(" user {uid}, firstflight ")) && text.lines().count() == 1, "{text}");
    assert!(gateway.0.try_wait().expect("a child").is_none());
}

#[test]
fn a_configuration_is_checked_without_a_gateway() {
    let scratch = Scratch::new();
    let metrics = "[metrics]\ntextfile = \"/run/a.prom\"\nevery = \"30 s\"\n";
    scratch.write("gateway.toml", format!("mode = \"enforce\"\n{metrics}{ORDER}"));
    let found = scratch.run(&["gateway", "check", "gateway.toml", "--json"]).json();
    let shown = json!({ "listen": null, "any_host": false, "textfile": "/run/a.prom", "every": "30 s" });
    assert_eq!((&found["tables"]["metrics"], &found["tables"]["share"]), (&shown, &json!(null)));
    assert_eq!((&found["valid"], &found["mode"]), (&json!(true), &json!("enforce")));
    assert_eq!(found["overrides"], json!({ "window": 1, "freeze": 0, "off": 0 }));
    let text = scratch.run(&["gateway", "check", "gateway.toml"]).out;
    let lines: Vec<_> = text.lines().collect();
    let idle = "plan.idle        reaches the idle connections of the gateway's own network namespace alone";
    let metrics =
        r#"[metrics]        any_host = false, every = "30 s", listen = absent, textfile = "/run/a.prom""#;
    for line in ["gateway.toml: valid", "mode             enforce", metrics, "[share]          absent"] {
        assert!(lines.contains(&line), "{line}: {text}");
    }
    assert_eq!(lines.last(), Some(&"[[override]]     1 windows, 0 frozen, 0 off"));
    assert!(!lines.contains(&idle), "{text}");
    scratch.write("gateway.toml", "[plan]\nidle = true\n");
    let text = scratch.run(&["gateway", "check", "gateway.toml"]).out;
    assert!(text.lines().any(|line| line == idle), "{text}");
    for (content, said) in [
        ("mod = 1", "gateway.toml:1:1: mod = 1: no such key"),
        ("admin_group = \"no-such-group-here\"", "this system has no such group"),
        (
            "[share]\nurl = \"redis://127.0.0.1\"\nkey_file = \"/nonexistent/key\"\nkeys = \"/nonexistent\"\nhost = \"here\"",
            "/nonexistent/key",
        ),
        ("[[override]]\nprefix = \"192.0.2.0/24\"\nwindow = 9", "from 10 to 45"),
    ] {
        scratch.write("gateway.toml", content);
        let before = scratch.snapshot();
        for arguments in
            [&["gateway", "check", "gateway.toml"][..], &["gateway", "check", "gateway.toml", "--json"]]
        {
            let ran = scratch.run(arguments);
            assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (2, "", 1), "{ran:?}");
            assert!(ran.err.contains(said), "{}", ran.err);
        }
        assert_eq!(scratch.snapshot(), before);
    }
    assert_eq!(scratch.run(&["gateway", "check", "none.toml"]).code, 2);
}
