//! The way to have a candidate today: the commands and options of stacks that are deployed.
//!
//! `docs/deploy.md` names the version or the measurement behind each.

use firstflight_scenario::{Candidate, Profile, Settings, Threshold};

use crate::present::present;

/// Stack that has a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stack {
    /// The Linux kernel, for every application.
    Linux,
    /// The Linux kernel, for the sockets of one program.
    LinuxSocket,
    /// HAProxy, for the TCP connections that it accepts.
    HaproxyTcp,
    /// HAProxy, for the QUIC connections that it accepts.
    HaproxyQuic,
    /// quiche, of Cloudflare.
    Quiche,
    /// MsQuic, of Microsoft.
    Msquic,
    /// quinn.
    Quinn,
}

/// Commands or options by which one stack gets one scheme.
struct Way {
    /// Label of the scheme.
    scheme: &'static str,
    stack: Stack,
    commands: &'static str,
}

const fn way(scheme: &'static str, stack: Stack, commands: &'static str) -> Way {
    Way { scheme, stack, commands }
}

/// Every known way. A scheme that is not here is in no deployed stack.
const WAYS: &[Way] = &[
    way("hystart-linux+cubic", Stack::Linux, "sysctl -w net.ipv4.tcp_congestion_control=cubic"),
    way(
        "hystart-linux+cubic",
        Stack::LinuxSocket,
        "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"cubic\", 5)",
    ),
    way("hystart-linux+cubic", Stack::HaproxyTcp, "bind :443 cc cubic"),
    way(
        "slow-start+cubic",
        Stack::Linux,
        "sysctl -w net.ipv4.tcp_congestion_control=cubic; echo 0 > /sys/module/tcp_cubic/parameters/hystart",
    ),
    way("slow-start+cubic", Stack::HaproxyQuic, "quic-cc-algo cubic"),
    way(
        "slow-start+cubic",
        Stack::Msquic,
        "CongestionControlAlgorithm=QUIC_CONGESTION_CONTROL_ALGORITHM_CUBIC; HyStartEnabled=FALSE",
    ),
    way("slow-start+cubic", Stack::Quiche, "set_cc_algorithm_name(\"cubic\"); enable_hystart(false)"),
    way("slow-start+cubic", Stack::Quinn, "CubicConfig::default()"),
    way("slow-start+reno", Stack::Linux, "sysctl -w net.ipv4.tcp_congestion_control=reno"),
    way("slow-start+reno", Stack::LinuxSocket, "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"reno\", 4)"),
    way("slow-start+reno", Stack::HaproxyTcp, "bind :443 cc reno"),
    way("slow-start+reno", Stack::HaproxyQuic, "quic-cc-algo newreno"),
    way("slow-start+reno", Stack::Quiche, "set_cc_algorithm_name(\"reno\"); enable_hystart(false)"),
    way("slow-start+reno", Stack::Quinn, "NewRenoConfig::default()"),
    way("hystart+++cubic", Stack::Quiche, "set_cc_algorithm_name(\"cubic\"); enable_hystart(true)"),
    way(
        "hystart+++cubic",
        Stack::Msquic,
        "CongestionControlAlgorithm=QUIC_CONGESTION_CONTROL_ALGORITHM_CUBIC; HyStartEnabled=TRUE",
    ),
    way("hystart+++cubic", Stack::HaproxyQuic, "quic-cc-algo cubic; tune.quic.fe.cc.hystart on"),
    way("hystart+++reno", Stack::Quiche, "set_cc_algorithm_name(\"reno\"); enable_hystart(true)"),
    way("bbr", Stack::Linux, "modprobe tcp_bbr; sysctl -w net.ipv4.tcp_congestion_control=bbr"),
    way("bbr", Stack::LinuxSocket, "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"bbr\", 3)"),
    way("bbr", Stack::HaproxyTcp, "bind :443 cc bbr"),
];

/// Datagram for which quinn's initial window counts bytes (`BASE_DATAGRAM_SIZE`).
const QUINN_DATAGRAM: u64 = 1200;

impl Stack {
    fn name(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::LinuxSocket => "one Linux socket",
            Self::HaproxyTcp => "HAProxy, TCP",
            Self::HaproxyQuic => "HAProxy, QUIC",
            Self::Quiche => "quiche",
            Self::Msquic => "MsQuic",
            Self::Quinn => "quinn",
        }
    }

    fn is_quic(self) -> bool {
        matches!(self, Self::HaproxyQuic | Self::Quiche | Self::Msquic | Self::Quinn)
    }

    /// The commands for `settings` besides those of the scheme; `None` if the stack cannot have them.
    fn settings(self, scheme: &str, settings: Settings, routes: &[Route]) -> Option<Vec<String>> {
        match self {
            Self::Linux => linux(scheme, settings, routes),
            // Settings of the whole machine stand under Linux.
            Self::LinuxSocket | Self::HaproxyTcp => (settings == Settings::default()).then(Vec::new),
            _ if settings.ssthresh.is_some() || settings.keeps_window => None,
            _ => self.quic(settings),
        }
    }

    /// Initial window and pacing of a QUIC stack, whose connections are paced unless that is turned off.
    fn quic(self, settings: Settings) -> Option<Vec<String>> {
        let Settings { initial_window, paced, .. } = settings;
        let mut commands = vec![];
        match (self, initial_window) {
            (_, None) => {}
            (Self::Quiche, Some(packets)) => {
                commands.push(format!("set_initial_congestion_window_packets({packets})"));
            }
            (Self::Msquic, Some(packets)) => commands.push(format!("InitialWindowPackets={packets}")),
            (Self::Quinn, Some(packets)) => {
                commands.push(format!(".initial_window({})", packets.checked_mul(QUINN_DATAGRAM)?));
            }
            _ => return None,
        }
        match (self, paced) {
            (_, true) => {}
            (Self::Quiche, false) => commands.push("enable_pacing(false)".into()),
            (Self::Msquic, false) => commands.push("PacingEnabled=FALSE".into()),
            (Self::HaproxyQuic, false) => commands.push("tune.quic.fe.tx.pacing off".into()),
            _ => return None,
        }
        Some(commands)
    }
}

/// Prints the first default route as `ip route` takes it: that refuses the word `lock` after `rto_min`, which it prints itself
/// (`findings/ip-route-refuses-its-own-line.sh`).
const DEFAULT_ROUTE: &str = "ip route show default|sed 's/_min lock/_min/;q'";

/// A route of the server, and the path behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// Network of clients, as `ip route` takes it; `None` for the default route.
    pub(crate) to: Option<String>,
    /// Bandwidth-delay product of its path, packets.
    pub(crate) bdp: u64,
}

impl Route {
    /// The command that gives a route metrics. A network without a route of its own gets that of the default route.
    fn command(&self, metrics: &str) -> String {
        match &self.to {
            None => format!("ip route change $({DEFAULT_ROUTE}) {metrics}"),
            Some(to) => {
                format!("ip route replace {to} $({DEFAULT_ROUTE} | cut -d ' ' -f 2-) {metrics}")
            }
        }
    }
}

/// Settings of the Linux kernel: for every connection over the default route, or, where they depend on the path, for each
/// of `routes`.
fn linux(scheme: &str, settings: Settings, routes: &[Route]) -> Option<Vec<String>> {
    let Settings { initial_window, ssthresh, paced, pace: _, keeps_window } = settings;
    // BBR sets an infinite threshold when a connection opens.
    if ssthresh.is_some() && scheme == "bbr" {
        return None;
    }
    let mut commands = vec![];
    if ssthresh.is_some() {
        commands.push("sysctl -w net.ipv4.tcp_no_ssthresh_metrics_save=0".to_owned());
    }
    let metrics = |bdp: u64| {
        let window = initial_window.map(|packets| format!("initcwnd {packets}"));
        let threshold = ssthresh.map(|threshold| format!("ssthresh lock {}", threshold.packets(bdp)));
        window.into_iter().chain(threshold).collect::<Vec<_>>().join(" ")
    };
    if ssthresh == Some(Threshold::Bdp) {
        commands.extend(routes.iter().map(|route| route.command(&metrics(route.bdp))));
    } else if initial_window.is_some() || ssthresh.is_some() {
        commands.push(Route { to: None, bdp: 0 }.command(&metrics(0)));
    }
    if paced {
        commands.push("tc qdisc replace dev DEVICE root fq".into());
    }
    if keeps_window {
        commands.push("sysctl -w net.ipv4.tcp_slow_start_after_idle=0".into());
    }
    Some(commands)
}

/// Commands or options by which the candidate is had today, one text for each stack, on a path with a bandwidth-delay product
/// of `bdp` packets. Empty if no deployed stack has it. A candidate of a QUIC stack is had in stacks of
/// QUIC only.
pub(crate) fn how(candidate: &Candidate, bdp: u64, profile: Profile) -> Vec<String> {
    how_on(candidate, &[Route { to: None, bdp }], profile)
}

/// The same on several routes, at least one: settings that depend on the path are made for each.
pub(crate) fn how_on(candidate: &Candidate, routes: &[Route], profile: Profile) -> Vec<String> {
    let Candidate { scheme, settings } = candidate;
    let (quic, paces) = (profile.stack().is_quic(), profile.stack().rules.always_paces());
    let settings = Settings { paced: settings.paced || paces, ..*settings };
    let label = scheme.label();
    // Parameters that are not the scheme's own are of no stack. The pace of a first window is of no option: the gateway sets it.
    if settings.pace.is_some() || scheme.phases().iter().any(|phase| !phase.params().is_empty()) {
        return vec![];
    }
    let ways = WAYS.iter().filter(|way| way.scheme == label && (way.stack.is_quic() || !quic));
    ways.filter_map(|way| {
        let more = way.stack.settings(&label, settings, routes)?;
        let commands = std::iter::once(way.commands.to_owned()).chain(more).collect::<Vec<_>>();
        // A method of the configuration before it.
        Some(format!("{}: {}", way.stack.name(), commands.join("; ").replace("; .", ".")))
    })
    .collect()
}

/// Commands or options by which a server changes from the default of its stack to the candidate, one after another; `None` if that
/// stack cannot have the candidate. Profiles that are no single stack (`rfc`, `ns2`), or whose options are not known, have the ways of all.
pub(crate) fn change(candidate: &Candidate, routes: &[Route], profile: Profile) -> Option<Vec<String>> {
    let stack = match profile {
        Profile::Linux => Stack::Linux,
        Profile::Quinn => Stack::Quinn,
        _ => {
            let all = how_on(candidate, routes, profile);
            return (!all.is_empty()).then_some(all);
        }
    };
    let prefix = format!("{}: ", stack.name());
    let all = how_on(candidate, routes, profile);
    let own = all.iter().find_map(|way| way.strip_prefix(&prefix))?;
    let of_scheme = WAYS.iter().find(|way| way.stack == stack && way.scheme == candidate.scheme.label())?;
    // The stack has the scheme already.
    let same = stack == Stack::Linux && candidate.scheme.label() == present(profile).label();
    let own = if same { own.strip_prefix(of_scheme.commands).unwrap_or(own) } else { own };
    Some(own.split("; ").filter(|command| !command.is_empty()).map(String::from).collect())
}

/// Whether a deployed stack has the candidate.
pub fn deployable(candidate: &Candidate, profile: Profile) -> bool {
    !how(candidate, 1, profile).is_empty()
}

/// Labels of the schemes that a deployed stack has, each once, in the order of the table.
pub(super) fn deployed() -> Vec<&'static str> {
    let mut labels: Vec<&str> = vec![];
    for way in WAYS {
        if !labels.contains(&way.scheme) {
            labels.push(way.scheme);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_of_the_path_is_set_on_the_route_to_each_network() {
        let candidate = Candidate::parse("hystart-linux+cubic@ssthresh=bdp").expect("a candidate");
        let routes = [("203.0.113.0/24", 66), ("2001:db8:1::/48", 7)];
        let routes = routes.map(|(to, bdp)| Route { to: Some(to.into()), bdp });
        let linux = how_on(&candidate, &routes, Profile::Linux).swap_remove(0);
        for route in ["ip route replace 203.0.113.0/24 ", "ip route replace 2001:db8:1::/48 "] {
            assert!(linux.contains(route), "{linux}");
        }
        assert!(linux.contains(" ssthresh lock 66; ") && linux.ends_with(" ssthresh lock 7"), "{linux}");
        // An initial window is the same on every path.
        let window = Candidate::parse("hystart-linux+cubic@iw30").expect("a candidate");
        assert_eq!(how_on(&window, &routes, Profile::Linux), how(&window, 66, Profile::Linux));
    }

    fn had(text: &str) -> Vec<String> {
        how(&Candidate::parse(text).expect(text), 66, Profile::Linux)
    }

    #[test]
    fn every_way_is_of_a_scheme_that_can_be_compared() {
        for label in deployed() {
            let candidate = Candidate::parse(label).expect(label);
            assert_eq!(candidate.label(), label);
            assert!(deployable(&candidate, Profile::Linux), "{label}");
        }
    }

    #[test]
    fn settings_of_linux_are_one_route_and_one_discipline() {
        assert_eq!(had("hystart-linux+cubic")[0], "Linux: sysctl -w net.ipv4.tcp_congestion_control=cubic");
        assert_eq!(
            had("hystart-linux+cubic@iw60+ssthresh=bdp+paced+idle=keep"),
            ["Linux: sysctl -w net.ipv4.tcp_congestion_control=cubic; \
              sysctl -w net.ipv4.tcp_no_ssthresh_metrics_save=0; \
              ip route change $(ip route show default|sed 's/_min lock/_min/;q') initcwnd 60 ssthresh lock 66; \
              tc qdisc replace dev DEVICE root fq; sysctl -w net.ipv4.tcp_slow_start_after_idle=0"]
        );
        // The options of a socket have no initial window.
        assert_eq!(had("bbr@iw30").len(), 1);
        assert!(had("bbr@ssthresh=50").is_empty(), "BBR has no threshold");
    }

    #[test]
    fn a_quic_stack_paces_unless_it_is_told_not_to() {
        let of = |text: &str, stack: &str| had(text).into_iter().find(|way| way.starts_with(stack));
        assert_eq!(
            of("hystart+++cubic@iw30+paced", "quiche").as_deref(),
            Some(
                "quiche: set_cc_algorithm_name(\"cubic\"); enable_hystart(true); set_initial_congestion_window_packets(30)"
            )
        );
        assert!(of("hystart+++cubic", "quiche").expect("a way").ends_with("enable_pacing(false)"));
        assert_eq!(
            of("slow-start+cubic@iw20+paced", "quinn").as_deref(),
            Some("quinn: CubicConfig::default().initial_window(24000)")
        );
        assert_eq!(of("slow-start+cubic@iw20", "quinn"), None, "quinn always paces");
        let ours = how(&Candidate::parse("slow-start+cubic@iw20").expect("a candidate"), 66, Profile::Quinn);
        assert_eq!(ours.len(), 3, "{ours:?}: quinn, quiche and MsQuic; HAProxy has no option for the window");
        assert!(ours.contains(&"quinn: CubicConfig::default().initial_window(24000)".to_owned()), "{ours:?}");
        assert_eq!(of("hystart+++cubic@iw30+paced", "HAProxy"), None, "no option for the initial window");
        assert_eq!(of("hystart+++cubic@ssthresh=9+paced", "MsQuic"), None);
    }

    #[test]
    fn a_scheme_of_the_literature_is_in_no_stack() {
        for text in
            ["jump-start+cubic", "adaptive-start+cubic", "slow-start+westwood", "hybrid-slow-start+cubic"]
        {
            assert!(had(text).is_empty(), "{text}");
        }
    }
}
