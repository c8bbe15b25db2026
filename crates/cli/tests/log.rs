//! `firstflight log` on a log that is small enough to count by hand.

use crate::common::Scratch;

/// Requests of three networks /24: A at 0, 12 and 14 s, B at 5 and 16 s, C at 15 s; A's at 14 s is for an image.
const LOG: &str = r#"192.0.2.1 - - [10/Oct/2000:13:55:00 +0000] "GET /a HTTP/1.0" 200 1
198.51.100.1 - - [10/Oct/2000:13:55:05 +0000] "GET /a HTTP/1.0" 200 1
192.0.2.2 - - [10/Oct/2000:13:55:12 +0000] "GET /a HTTP/1.0" 200 1
192.0.2.2 - - [10/Oct/2000:13:55:14 +0000] "GET /a.gif HTTP/1.0" 200 1
203.0.113.1 - - [10/Oct/2000:13:55:15 +0000] "GET /a HTTP/1.0" 200 1
198.51.100.9 - - [10/Oct/2000:13:55:16 +0000] "GET /a HTTP/1.0" 200 1
"#;

fn window(arguments: &[&str]) -> serde_json::Value {
    let scratch = Scratch::new();
    scratch.write("access.log", LOG);
    let run = scratch.run(&[&["log", "access.log", "--window", "10 s", "--json"], arguments].concat());
    assert_eq!(run.code, 0, "{run:?}");
    serde_json::from_str::<serde_json::Value>(&run.out).expect("JSON")["windows"][0].clone()
}

#[test]
fn counts_of_a_small_log_match_a_count_by_hand() {
    // Four requests come after the first 10 s. Of these only A's at 14 s finds its network, seen 2 s before; they find 2, 2, 3
    // and 3 networks in their windows.
    let all = window(&[]);
    assert_eq!((&all["requests"], &all["seen"]), (&4.into(), &0.25.into()));
    assert_eq!((&all["held_mean"], &all["held_max"]), (&2.5.into(), &3.into()));
    // Without the image none does.
    let pages = window(&["--pages"]);
    assert_eq!((&pages["requests"], &pages["seen"]), (&3.into(), &0.0.into()));
    // Networks of no bits are one: every request finds it.
    let one = window(&["--network", "0"]);
    assert_eq!((&one["requests"], &one["seen"], &one["held_max"]), (&4.into(), &1.0.into(), &1.into()));
}

#[test]
fn a_table_has_a_line_for_each_window() {
    let scratch = Scratch::new();
    scratch.write("access.log", LOG);
    let run = scratch.run(&["log", "access.log", "--window", "2 s", "--window", "10 s"]);
    assert_eq!(run.code, 0, "{run:?}");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", run.out);
    assert!(
        lines[1].contains("2 s") && lines[2].contains("10 s") && lines[2].contains("25.0 %"),
        "{}",
        run.out
    );
}

#[test]
fn a_log_on_standard_input_is_that_of_a_file() {
    let scratch = Scratch::new();
    scratch.write("access.log", LOG);
    let arguments = |file| ["log", file, "--window", "10 s", "--json"];
    let (piped, file) = (scratch.run_with(&arguments("-"), LOG), scratch.run(&arguments("access.log")));
    assert_eq!((piped.code, &piped.out), (0, &file.out), "{piped:?}");
    let wrong = scratch.run_with(&arguments("-"), "no log\n");
    let kinds =
        "error: standard input: this is no access log of a kind that is read; expected one of: combined";
    assert!(wrong.code == 2 && wrong.err.starts_with(kinds), "{wrong:?}");
}

#[test]
fn odd_lines_are_counted_in_a_warning_and_in_the_json() {
    let scratch = Scratch::new();
    scratch.write("access.log", format!("{LOG}\nwww.example.org - - odd and long\n\u{1b}[31m\n"));
    let run = scratch.run(&["log", "access.log", "--window", "10 s", "--json"]);
    assert_eq!(
        (run.code, &*run.err),
        (
            0,
            "warning: access.log: 2 of 8 lines are passed over: 2 of another form (line 8, \"www.example.org - - …\")\n"
        )
    );
    let found: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let expected = serde_json::json!({"format": "combined", "lines": 8, "passed_over": 2});
    assert_eq!((&found["log"], &found["windows"][0]["requests"]), (&expected, &4.into()));
    scratch.write("odd.log", format!("{LOG}{}", "odd\n".repeat(7)));
    let run = scratch.run(&["log", "odd.log", "--window", "10 s"]);
    assert!(run.code == 2 && run.out.is_empty(), "{run:?}");
    assert!(run.err.starts_with("error: odd.log: most lines cannot be read as combined"), "{run:?}");
}

#[test]
fn a_format_is_recognised_or_named() {
    let scratch = Scratch::new();
    let json = |second: u32| {
        format!(
            "{{\"msec\":{},\"remote_addr\":\"192.0.2.{second}\",\"body_bytes_sent\":1}}\n",
            1_728_568_536 + second
        )
    };
    scratch.write("json.log", (0..20).map(json).collect::<String>());
    for format in [&[][..], &["--format", "json"], &["--format", "caddy"]] {
        let found =
            scratch.run(&[&["log", "json.log", "--window", "10 s", "--json"], format].concat()).json();
        // Requests at 10 to 19 s come after the first 10 s, each a second after one of its network.
        let window = &found["windows"][0];
        assert_eq!((&window["requests"], &window["seen"]), (&10.into(), &1.0.into()), "{format:?}");
        assert_eq!(found["log"]["format"], "json");
    }
    let other = scratch.run(&["log", "json.log", "--format", "iis"]);
    assert!(
        other.code == 2 && other.err.contains("most lines cannot be read as w3c (IIS, CloudFront)"),
        "{other:?}"
    );
    let unknown = scratch.run(&["log", "json.log", "--format", "jsn"]);
    assert!(unknown.code == 2 && unknown.err.contains("did you mean \"json\"?"), "{unknown:?}");
    scratch.write("server.pcap.log", [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0]);
    let capture = scratch.run(&["log", "server.pcap.log"]);
    assert!(
        capture.err.starts_with("error: server.pcap.log: this is a packet capture; expected one of"),
        "{capture:?}"
    );
}
