//! Keys that a server of another program does not honour. Its sender is the program's own: a key of the stack has the default of the profile, or is
//! refused.

use std::collections::BTreeMap;

use firstflight_hosts::host::Refusal;
use firstflight_hosts::network::place;
use firstflight_scenario::{Direction, Endpoints, FlowGroup, Profile, Scenario, Source};

use crate::answers::{RealStack, of_network};
use crate::quic;
use crate::tun::MTU;

/// Keys of `[[flow]]` that a server honours: those that say when a client asks, and for how much.
const HONOURED: [&str; 7] = ["name", "profile", "count", "start", "size", "receive_window", "extra_rtt"];

/// Refuses the first key that asks for more than the server `name` and the emulator have.
pub(super) fn check(name: &str, scenario: &Scenario) -> Result<(), Refusal> {
    // The emulator is that of the kernel's runs.
    of_network(RealStack::Kernel, scenario)?;
    let refuse = |key: &str, why: String| Err(Refusal { key: key.into(), why });
    if scenario.packet.size != MTU as u32 {
        return refuse("packet.size", format!("{name} chooses its datagrams; expected \"{MTU} B\""));
    }
    if scenario.packet.ack_size.is_some() {
        return refuse("packet.ack_size", "the size of an ACK is that of quinn's packet".into());
    }
    for (index, group) in scenario.flows.iter().enumerate() {
        let place = place(scenario, index);
        if let Some((key, why)) = of_group(name, scenario, group) {
            return refuse(&format!("{place}.{key}"), why);
        }
    }
    Ok(())
}

/// The first key of a flow that the server does not honour, and the reason.
fn of_group(name: &str, scenario: &Scenario, group: &FlowGroup) -> Option<(String, String)> {
    let own = |key: &str, why: &str| Some((key.to_owned(), why.to_owned()));
    match group.source {
        Source::Flow => {}
        Source::Telnet(_) => return own("interval", "only [[flow]] runs on a server"),
        Source::Web(_) => return own("pages", "only [[flow]] runs on a server"),
    }
    if !group.profile.stack().is_quic()
        && let Err(why) = quic::profile(group.profile)
    {
        return own("profile", &why);
    }
    if group.size.is_none() {
        return own("size", "a response of a server has a size; expected an amount");
    }
    if group.endpoints != Endpoints::Path(Direction::Forward) {
        return own("direction", "the server is at the near end; expected \"forward\"");
    }
    if group.handshake != group.profile.stack().handshake {
        return own("handshake", "a QUIC connection has a handshake");
    }
    let usual = usual(group.profile);
    let given = keys(scenario, &group.name);
    let differs = given.into_iter().find(|(key, value)| {
        !HONOURED.contains(&key.as_str()) && usual.get(key).is_none_or(|usual| usual != value)
    });
    differs.map(|(key, _)| {
        let expected = match usual.get(&key) {
            Some(usual) => format!("the default of the profile, {usual}"),
            None => "a flow without it".into(),
        };
        (key, format!("{name} sends by its own settings; expected {expected}"))
    })
}

/// The canonical lines of a profile's defaults.
fn usual(profile: Profile) -> BTreeMap<String, String> {
    let text = format!(
        "[path]\nrate = \"10 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1 BDP\"\n[[flow]]\nname = \"usual\"\nprofile = \"{}\"\nsize = \"1 B\"\n",
        profile.word()
    );
    let loaded = firstflight_scenario::parse(&text, "usual").expect("a flow of every profile is valid");
    keys(&loaded.scenario, "usual")
}

/// The canonical lines of the flow with this name.
fn keys(scenario: &Scenario, name: &str) -> BTreeMap<String, String> {
    let text = scenario.to_toml();
    let named = format!("name = \"{name}\"");
    let mut tables =
        text.split("\n[[flow]]\n").skip(1).map(|table| table.split("\n[").next().unwrap_or(table));
    let table = tables.find(|table| table.lines().any(|line| line == named)).unwrap_or_default();
    let pairs = table.lines().filter_map(|line| line.split_once(" = "));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key that the server refuses in a transfer with these lines.
    fn refused(lines: &str) -> Option<String> {
        let text = format!(
            "duration = \"9 s\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1 BDP\"\n[[flow]]\nname = \"one\"\n{lines}\n"
        );
        let scenario = firstflight_scenario::parse(&text, "test.toml").expect(lines).scenario;
        check("nginx", &scenario).err().map(|refusal| refusal.key.replace("flow[0].", ""))
    }

    #[test]
    fn a_server_honours_when_and_how_much_and_refuses_each_key_of_the_stack() {
        let quic = |more: &str| refused(&format!("profile = \"quiche\"\nsize = \"100 KB\"\n{more}"));
        for honoured in [
            "",
            "count = 3\nstart = { every = \"1 s\" }",
            "receive_window = \"1 MB\"",
            "extra_rtt = \"5 ms\"",
            "avoidance = \"cubic\"",
            "initial_window = \"10 packets\"",
        ] {
            assert_eq!(quic(honoured), None, "{honoured}");
        }
        for (line, key) in [
            ("startup = \"slow-start\"", "startup"),
            ("avoidance = \"reno\"", "avoidance"),
            ("initial_window = \"20 packets\"", "initial_window"),
            ("initial_ssthresh = \"20 packets\"", "initial_ssthresh"),
            ("initial_receive_window = \"20 KB\"", "initial_receive_window"),
            ("send_buffer = \"1 MB\"", "send_buffer"),
            ("receiver = \"ack-every-packet\"", "receiver"),
            ("delayed_ack_timer = \"200 ms\"", "delayed_ack_timer"),
            ("receiver_reads = \"256 KB\"", "receiver_reads"),
            ("min_rto = \"1 s\"", "min_rto"),
            ("idle_restart = \"restart\"", "idle_restart"),
            ("direction = \"reverse\"", "direction"),
            ("lifetime = \"1 s\"", "lifetime"),
            ("parallel = 2", "parallel"),
            ("rounds = { count = 2, idle = \"1 s\" }", "rounds"),
            ("cluster = \"one\"", "cluster"),
            ("handshake = false", "handshake"),
        ] {
            assert_eq!(quic(line).as_deref(), Some(key), "{line}");
        }
        assert_eq!(refused("profile = \"quiche\"\n[[udp]]\nrate = \"1 Mbit/s\"").as_deref(), Some("size"));
        assert_eq!(refused("profile = \"ns2\"\nsize = \"1 KB\"").as_deref(), Some("profile"));
        assert_eq!(refused("size = \"1 KB\""), None);
    }
}
