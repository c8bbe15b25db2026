//! Meaning of a scenario where its file does not state it.

use firstflight_contract::Nanos;
use firstflight_document::Problem;
use firstflight_scenario::*;

fn flow(size: &str, lines: &str) -> FlowGroup {
    let text = format!(
        "duration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 s\"\nbuffer = \"1 BDP\"\n\
         [packet]\nsize = \"{size}\"\n[[flow]]\n{lines}\n"
    );
    parse(&text, "meaning.toml").unwrap().scenario.flows.remove(0)
}

#[test]
fn the_initial_window_of_the_rfc_profile_is_that_of_rfc_6928() {
    // min (10*MSS, max (2*MSS, 14600)), with 40 bytes of headers
    for (size, window) in [("1500 B", 14_600), ("1000 B", 9_600), ("1540 B", 14_600), ("9000 B", 17_920)] {
        assert_eq!(flow(size, "profile = \"rfc\"").initial_window, window, "{size}");
    }
    assert_eq!(flow("1500 B", "profile = \"ns2\"").initial_window, 1460);
    // Linux's is ten segments whatever their size; 1500 less 52 bytes of headers are 1448.
    assert_eq!(flow("1500 B", "profile = \"linux\"").initial_window, 14_480);
    assert_eq!(flow("9000 B", "profile = \"linux\"").initial_window, 89_480);
}

#[test]
fn a_key_overrides_its_profile_and_nothing_else() {
    let plain = flow("1500 B", "profile = \"ns2\"");
    let sack = flow("1500 B", "profile = \"ns2\"\nrecovery = \"sack\"");
    assert_eq!(sack, FlowGroup { recovery: Recovery::Sack, ..plain });
}

#[test]
fn byte_counting_is_either_way_where_it_is_given_and_linux_counts_everything_where_it_is_not() {
    let growth = |lines: &str| flow("1500 B", lines).growth;
    assert_eq!(growth("profile = \"linux\""), Growth::AllAcked);
    assert_eq!(growth("profile = \"linux\"\nbyte_counting = false"), Growth::PerAck);
    assert_eq!(growth("profile = \"rfc\""), Growth::PerAck);
    assert_eq!(growth("profile = \"rfc\"\nbyte_counting = true"), Growth::ByteCounting);
}

#[test]
fn acks_are_as_large_as_the_headers_of_the_profile_unless_the_packet_table_says_otherwise() {
    let packet = Packet { size: 1500, ack_size: None };
    assert_eq!([Profile::Rfc, Profile::Ns2, Profile::Linux].map(|p| packet.ack(p)), [40, 40, 52]);
    assert_eq!([Profile::Rfc, Profile::Ns2, Profile::Linux].map(|p| packet.payload(p)), [1460, 1460, 1448]);
    assert_eq!(Packet { ack_size: Some(64), ..packet }.ack(Profile::Linux), 64);
}

#[test]
fn parameters_reach_the_scheme_and_several_schemes_make_a_chain() {
    let with = |startup: &str| flow("1500 B", &format!("startup = {startup}\navoidance = \"reno\"")).scheme;
    let chain = with("[\"hystart++\", { kind = \"limited-slow-start\", max_ssthresh = \"50 packets\" }]");
    assert_eq!(chain.label(), "hystart+++limited-slow-start+reno");
    assert_eq!(chain.startup(), "hystart+++limited-slow-start");
    assert_eq!(with("\"hystart+++limited-slow-start\"").label(), chain.label());
    assert_ne!(with("\"hystart+++limited-slow-start\""), chain);
    assert_eq!(chain.build().len(), 3);
}

#[test]
fn a_scenario_without_flows_is_a_path_for_others_to_use() {
    let text = "[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 s\"\nbuffer = \"1 BDP\"\n";
    let scenario = parse(text, "path.toml").unwrap().scenario;
    assert_eq!((scenario.duration, scenario.flows.len(), scenario.seed), (None, 0, 1));
    let error = parse(&format!("{text}[[udp]]\nrate = \"1 Mbit/s\"\n"), "path.toml").unwrap_err();
    assert_eq!(error.problem, Problem::Missing);
    assert_eq!(error.place.key, "duration");
}

#[test]
fn the_same_experiment_has_the_same_hash_however_it_is_written() {
    let hash = |text: &str| parse(text, "").unwrap().scenario.hash();
    let short = "[path]\nrate = \"40 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"1 BDP\"\n[packet]\nsize = \"1000 B\"\n\
                 [[flow]]\nsize = \"2 packets\"\n";
    let long = "seed = 1\npacket.size = \"1 KB\"\n[[flow]]\nsize = \"1.92 KB\"\ncount = 1\nname = \"flow0\"\n\
                recovery = \"sack\"\n[path]\nbuffer = \"500 packets\" # 40e6 * 0.1 / 8000\nloss = 0\n\
                rate = \"0.04 Gbit/s\"\nrtt = \"0.1 s\"\naccess_rate = \"400 Mbit/s\"\n";
    assert_eq!(hash(short), hash(long));
    assert_ne!(hash(short), hash(&short.replace("100 ms", "101 ms")));
}

#[test]
fn a_host_refuses_what_it_cannot_do_where_the_file_says_it() {
    let text = "[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 s\"\nbuffer = \"1 BDP\"\n\n[[flow]]\nsize = \"1 MB\"\n  recovery = \"tahoe\"\n";
    let places = parse(text, "host.toml").unwrap().places;
    assert_eq!(
        places.refuse("flow[0].recovery", "the kernel has no Tahoe").to_string(),
        "host.toml:8:14: flow[0].recovery = \"tahoe\": the kernel has no Tahoe"
    );
    // A value set by the profile has no place of its own; its place is that of the table.
    assert_eq!(
        places.refuse("flow[0].handshake", "the kernel always shakes hands").to_string(),
        "host.toml:6:1: flow[0].handshake: the kernel always shakes hands"
    );
    assert_eq!(places.refuse("udp[3].rate", "no").to_string(), "host.toml: udp[3].rate: no");
}

#[test]
fn a_file_that_is_missing_too_long_or_not_text_is_refused_by_name() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let refused = |name: &str, content: Option<&[u8]>| {
        let path = folder.join(name);
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let message = load(&path).unwrap_err().to_string();
        message.strip_prefix(&path.display().to_string()).map(String::from)
    };
    let missing = refused("there-is-no-such-file.toml", None).unwrap();
    assert!(missing.starts_with(": cannot be read: No such file"), "{missing}");
    assert_eq!(
        refused("binary.toml", Some(&[0xff, 0xfe])).unwrap(),
        ": cannot be read: it is not UTF-8 text"
    );
    let long = vec![b'#'; limits::FILE as usize + 1];
    let too_long = ": cannot be read: it is longer than the limit of 4194304 bytes";
    assert_eq!(refused("long.toml", Some(&long)).unwrap(), too_long);
}

#[test]
fn start_times_are_data() {
    let start = |text: &str| flow("1500 B", &format!("start = {text}")).start;
    assert_eq!(start("\"1.5 s\""), Start::At(Nanos::from_millis(1500)));
    assert_eq!(start("{ every = \"50 ms\" }"), Start::Every(Nanos::from_millis(50)));
}
