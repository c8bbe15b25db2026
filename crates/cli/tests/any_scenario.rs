//! Every valid scenario is compared, or refused with one clear line; values of options are data.

use crate::common::Scratch;

const P: &str = "[path]\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"50 packets\"\n";
const QUICK: [&str; 5] = ["--size", "30KB", "--startup", "slow-start", "--json"];

/// The error of `compare` for a scenario; `None` if it is compared.
fn compared(scenario: &str) -> Option<String> {
    let scratch = Scratch::new();
    scratch.write("s.toml", scenario.as_bytes());
    let run = scratch.run(&[&["compare", "s.toml"][..], &QUICK].concat());
    match run.code {
        0 => None,
        _ => {
            assert_eq!((run.code, run.err.lines().count(), &*run.out), (2, 1, ""), "{run:?}");
            Some(run.err)
        }
    }
}

#[test]
fn a_graph_without_a_flow_has_no_ends_for_the_transfer() {
    let two = "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nboth = true\n\
               rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"50 packets\"\n";
    let row = "[topology]\nkind = \"parking-lot\"\nhops = 2\nrate = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"50 packets\"\n";
    for network in [two, row] {
        let error = compared(&format!("duration = \"5 s\"\n{network}")).expect("no flow");
        let why = "error: s.toml: compare needs the ends of the transfer, and the scenario has no [[flow]]; expected a \
                   [[flow]] with from and to\n";
        assert_eq!(error, why);
    }
    assert_eq!(compared(&format!("duration = \"5 s\"\n{row}[[flow]]\n")), None);
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    assert_eq!(compared(&format!("duration = \"5 s\"\n{two}{flow}")), None);
}

#[test]
fn the_transfer_has_a_name_that_no_other_traffic_has() {
    let udp = |name: &str| format!("[[udp]]\nname = \"{name}\"\nrate = \"1 Mbit/s\"\n");
    assert_eq!(compared(&format!("duration = \"5 s\"\n{P}{}{}", udp("transfer"), udp("transfer2"))), None);
}

#[test]
fn traffic_without_a_flow_is_the_background_of_the_transfer() {
    assert_eq!(compared(&format!("duration = \"5 s\"\n{P}[[web]]\n[[telnet]]\n")), None);
}

#[test]
fn a_flow_that_is_split_over_connections_is_not_compared() {
    let error =
        compared(&format!("duration = \"5 s\"\n{P}[[flow]]\nparallel = 2\n")).expect("two connections");
    assert!(
        error.starts_with("error: s.toml:7:12: flow[0].parallel = 2: compare times one connection"),
        "{error}"
    );
}

#[test]
fn the_fastest_and_slowest_rates_are_compared() {
    for rate in ["11 Tbit/s", "100 Tbit/s", "1 kbit/s", "1 bit/s"] {
        let scratch = Scratch::new();
        let path = ["compare", "--rate", rate, "--rtt", "20 ms", "--buffer", "50 packets"];
        let run = scratch.run(&[&path[..], &QUICK].concat());
        assert_eq!(run.code, 0, "{rate}: {run:?}");
        assert!(!run.out.contains("NaN") && !run.out.contains("inf,"), "{rate}: {}", run.out);
    }
    let scratch = Scratch::new();
    let run = scratch.run(&["compare", "--rate", "101 Tbit/s", "--rtt", "20 ms", "--buffer", "50 packets"]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.starts_with("error: --rate \"101 Tbit/s\": above the limit of 100 Tbit/s"),
        "{}",
        run.err
    );
}

#[test]
fn a_file_that_is_no_scenario_is_refused_without_its_content() {
    let secret = "hunter2hunter2hunter2hunter2";
    for text in [
        format!("root:{secret}:19000:0\n"),
        format!("a = {secret}\n"),
        format!("a = 1{secret}\n"),
        format!("a = \"\\q{secret}\"\n"),
        format!("{secret} = 1\n{secret} = 2\n"),
        format!("[{secret}]\n[{secret}]\n"),
        format!("\"{secret}\n"),
    ] {
        let scratch = Scratch::new();
        scratch.write("s.toml", text.as_bytes());
        let run = scratch.run(&["run", "s.toml"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.err.starts_with("error: s.toml:") && run.err.contains(": not TOML: "), "{}", run.err);
        assert!(!run.err.contains(&secret[..21]), "{}", run.err);
    }
    // A link trace and a GraphML file may be any file that can be read.
    for (table, text) in [
        ("[path]\ntrace = \"other\"\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\n", format!("root:{secret}\n")),
        ("[path]\ntrace = \"other\"\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\n", format!("0,{secret}\n")),
        (
            "[topology]\nkind = \"graphml\"\nfile = \"other\"\nbuffer = \"9 packets\"\n",
            format!("root:{secret}\n"),
        ),
        (
            "[topology]\nkind = \"graphml\"\nfile = \"other\"\nbuffer = \"9 packets\"\n",
            format!("<a></{secret}>\n"),
        ),
        (
            "[topology]\nkind = \"graphml\"\nfile = \"other\"\nbuffer = \"9 packets\"\n",
            format!("<a>&{secret};</a>\n"),
        ),
    ] {
        let scratch = Scratch::new();
        scratch.write("s.toml", table.as_bytes());
        scratch.write("other", text.as_bytes());
        let run = scratch.run(&["run", "s.toml"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.err.contains("other:1:") && !run.err.contains(&secret[..21]), "{}", run.err);
    }
}

#[cfg(unix)]
#[test]
fn commands_read_regular_files_only() {
    let scratch = Scratch::new();
    let pipe = scratch.path().join("pipe.pcap");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for (arguments, what) in [
        (&["run", "pipe.pcap"][..], "a pipe"),
        (&["compare", "pipe.pcap"], "a pipe"),
        (&["compare", "/dev/zero"], "a device"),
        (&["log", "pipe.pcap"], "a pipe"),
        (&["log", "/dev/zero"], "a device"),
        (&["reproduce", "all", "--results", "/dev/zero"], "a device"),
    ] {
        let run = scratch.run(arguments);
        assert_eq!((run.code, &*run.out), (2, ""), "{arguments:?}");
        assert!(
            run.err.contains(&format!("cannot be read: it is {what}; expected a regular file")),
            "{}",
            run.err
        );
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    }
}
