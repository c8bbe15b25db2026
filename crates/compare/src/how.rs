//! Ways to have a candidate today, in the stack of a profile.
//!
//! TCP is the kernel's, and its ways are here. A stack of QUIC declares its options in its profile.

use firstflight_scenario::{Candidate, Options, Profile, SchemeSpec, Settings, Threshold};

/// Place at which a scheme of the Linux kernel is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The machine, for every application.
    Machine,
    /// The sockets of one program.
    Socket,
    /// HAProxy, for the TCP connections that it accepts.
    Haproxy,
}

/// Commands or options by which Linux gets one scheme.
struct Way {
    /// Label of the scheme.
    scheme: &'static str,
    place: Place,
    commands: &'static str,
}

const fn way(scheme: &'static str, place: Place, commands: &'static str) -> Way {
    Way { scheme, place, commands }
}

/// Every known way. A scheme that is not here is in no release of Linux.
const LINUX: &[Way] = &[
    way("hystart-linux+cubic", Place::Machine, "sysctl -w net.ipv4.tcp_congestion_control=cubic"),
    way("hystart-linux+cubic", Place::Socket, "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"cubic\", 5)"),
    way("hystart-linux+cubic", Place::Haproxy, "bind :443 cc cubic"),
    way(
        "slow-start+cubic",
        Place::Machine,
        "sysctl -w net.ipv4.tcp_congestion_control=cubic; echo 0 > /sys/module/tcp_cubic/parameters/hystart",
    ),
    way("slow-start+reno", Place::Machine, "sysctl -w net.ipv4.tcp_congestion_control=reno"),
    way("slow-start+reno", Place::Socket, "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"reno\", 4)"),
    way("slow-start+reno", Place::Haproxy, "bind :443 cc reno"),
    way("bbr", Place::Machine, "modprobe tcp_bbr; sysctl -w net.ipv4.tcp_congestion_control=bbr"),
    way("bbr", Place::Socket, "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"bbr\", 3)"),
    way("bbr", Place::Haproxy, "bind :443 cc bbr"),
];

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::Machine => "Linux",
            Self::Socket => "one Linux socket",
            Self::Haproxy => "HAProxy, TCP",
        }
    }

    /// The commands for `settings` besides those of the scheme; `None` if they cannot be had there.
    fn settings(self, scheme: &str, settings: Settings, routes: &[Route]) -> Option<Vec<String>> {
        match self {
            Self::Machine => linux(scheme, settings, routes),
            // Settings of the whole machine stand under Linux.
            Self::Socket | Self::Haproxy => (settings == Settings::default()).then(Vec::new),
        }
    }
}

/// A way to have a candidate: the place, the commands for the scheme, and those for the settings.
struct Had {
    place: &'static str,
    scheme: Vec<String>,
    settings: Vec<String>,
}

impl Had {
    fn text(&self) -> String {
        let all: Vec<&str> = self.scheme.iter().chain(&self.settings).map(String::as_str).collect();
        let what = if all.is_empty() { "its default".into() } else { all.join("; ") };
        format!("{}: {what}", self.place)
    }
}

fn split(commands: &str) -> Vec<String> {
    commands.split("; ").filter(|command| !command.is_empty()).map(String::from).collect()
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
    let Settings { initial_window, ssthresh, paced, pace: _, keeps_window, buffer } = settings;
    // BBR sets an infinite threshold when a connection opens. The buffer of a socket grows by itself.
    if ssthresh.is_some() && scheme == "bbr" || buffer.is_some() {
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

/// The way of a stack that has options of its own; `None` if it cannot have the candidate.
fn by_options(options: &Options, candidate: &Candidate) -> Option<Had> {
    let Settings { initial_window, ssthresh, paced, pace: _, keeps_window, buffer } = candidate.settings;
    // A stack of QUIC keeps its window, paces as it does, and has no threshold to set.
    if ssthresh.is_some() || paced || keeps_window {
        return None;
    }
    let label = candidate.scheme.label();
    let (_, chain) = options.chains.iter().find(|(own, _)| *own == label)?;
    let (mut scheme, mut settings) = (split(chain), vec![]);
    if let Some(packets) = initial_window {
        let option = options.initial_window?(packets);
        match (option.strip_prefix('.'), scheme.last_mut()) {
            // A method of the configuration of the scheme.
            (Some(_), Some(last)) => {
                let builds = last.strip_suffix(".build()").map(String::from);
                *last = match builds {
                    Some(builder) => format!("{builder}{option}.build()"),
                    None => format!("{last}{option}"),
                };
                settings.append(&mut scheme);
            }
            _ => settings.push(option),
        }
    }
    if let Some(bytes) = buffer {
        settings.push(options.send_buffer?(bytes));
    }
    Some(Had { place: options.stack, scheme, settings })
}

/// Every way to have a candidate in the stack of a profile, on several routes, at least one: settings that depend on the path are made
/// for each. Profiles that are no stack of today (`rfc`, `ns2`) have the ways of Linux.
fn ways(candidate: &Candidate, routes: &[Route], profile: Profile) -> Vec<Had> {
    let Candidate { scheme, settings } = candidate;
    // Parameters that are not the scheme's own are of no stack. The pace of a first window is of no option: the gateway sets it.
    if settings.pace.is_some() || scheme.phases().iter().any(|phase| !phase.params().is_empty()) {
        return vec![];
    }
    let stack = profile.stack();
    if stack.is_quic() {
        return by_options(&stack.options, candidate).into_iter().collect();
    }
    let label = scheme.label();
    let ways = LINUX.iter().filter(|way| way.scheme == label);
    let had = ways.filter_map(|way| {
        let settings = way.place.settings(&label, *settings, routes)?;
        Some(Had { place: way.place.name(), scheme: split(way.commands), settings })
    });
    had.collect()
}

/// Commands or options by which the candidate is had today, one text for each place, on a path with a bandwidth-delay product
/// of `bdp` packets. Empty if the stack of the profile cannot have it.
pub(crate) fn how(candidate: &Candidate, bdp: u64, profile: Profile) -> Vec<String> {
    how_on(candidate, &[Route { to: None, bdp }], profile)
}

/// The same on several routes.
pub(crate) fn how_on(candidate: &Candidate, routes: &[Route], profile: Profile) -> Vec<String> {
    ways(candidate, routes, profile).iter().map(Had::text).collect()
}

/// Commands or options by which a server changes from the scheme `present` in its stack to the candidate, one after another; `None` if that
/// stack cannot have the candidate.
pub(crate) fn change(
    candidate: &Candidate,
    routes: &[Route],
    (profile, present): (Profile, &SchemeSpec),
) -> Option<Vec<String>> {
    let Had { scheme, settings, .. } = ways(candidate, routes, profile).into_iter().next()?;
    // Profiles that are no stack of today have no default that Linux would have.
    let stack = profile.stack();
    let of_today = stack.is_quic() || profile == Profile::Linux;
    let has_it = of_today && candidate.scheme == *present;
    Some(if has_it { settings } else { scheme.into_iter().chain(settings).collect() })
}

/// Whether the stack of a profile can have the candidate.
pub fn deployable(candidate: &Candidate, profile: Profile) -> bool {
    !how(candidate, 1, profile).is_empty()
}

/// Labels of the schemes that Linux has, each once, in the order of the table.
pub(super) fn deployed() -> Vec<&'static str> {
    let mut labels: Vec<&str> = vec![];
    for way in LINUX {
        if !labels.contains(&way.scheme) {
            labels.push(way.scheme);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::present;

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
    fn a_stack_of_quic_has_its_own_options_alone() {
        let of = |text: &str, profile: Profile| how(&Candidate::parse(text).expect(text), 66, profile);
        for (text, profile, way) in [
            (
                "hystart+++cubic@iw30",
                Profile::Quiche,
                "quiche 0.30: set_cc_algorithm_name(\"cubic\"); enable_hystart(true); set_initial_congestion_window_packets(30)",
            ),
            (
                "slow-start+cubic@iw20",
                Profile::Quinn,
                "quinn 0.11: CubicConfig::default().initial_window(24000)",
            ),
            (
                "hystart+++cubic@iw20",
                Profile::S2nQuic,
                "s2n-quic 1.91: cubic::Builder::default().with_initial_congestion_window(24000).build()",
            ),
            ("slow-start+reno@buffer=1MB", Profile::Nginx126, "nginx 1.26: http3_stream_buffer_size 1000000"),
            (
                "slow-start+cubic@buffer=1MB",
                Profile::Haproxy30,
                "HAProxy 3.0: quic-cc-algo cubic; tune.quic.frontend.conn-tx-buffers.limit 62",
            ),
            ("hystart-linux+cubic", Profile::QuicGo, "quic-go 0.65: its default"),
        ] {
            assert_eq!(of(text, profile), [way]);
        }
        for (text, profile) in [
            ("hystart+++cubic@paced", Profile::Quiche),
            ("hystart-linux+cubic@iw20", Profile::QuicGo),
            ("slow-start+reno@iw20", Profile::Nginx126),
            ("slow-start+cubic@ssthresh=9", Profile::Quinn),
            ("slow-start+cubic@buffer=1MB", Profile::Quinn),
            ("hystart-linux+cubic", Profile::Quiche),
            ("hystart-linux+cubic@buffer=1MB", Profile::Linux),
        ] {
            assert!(of(text, profile).is_empty(), "{text} of {}", profile.word());
        }
    }

    #[test]
    fn every_option_of_a_stack_is_of_a_chain_that_can_be_compared() {
        for profile in Profile::ALL {
            let options = &profile.stack().options;
            assert_eq!(options.chains.is_empty(), !profile.stack().is_quic(), "{}", profile.word());
            for (label, _) in options.chains {
                let candidate = Candidate::parse(label).expect(label);
                assert_eq!(candidate.label(), *label);
            }
            let own = present(*profile).label();
            assert!(
                !profile.stack().is_quic() || options.chains.iter().any(|(label, _)| *label == own),
                "{own}"
            );
        }
    }

    #[test]
    fn a_change_leaves_out_what_the_server_has_already() {
        let routes = [Route { to: None, bdp: 66 }];
        let of = |text: &str, profile: Profile| {
            change(&Candidate::parse(text).expect(text), &routes, (profile, &present(profile)))
        };
        assert_eq!(
            of("hystart+++cubic@iw30", Profile::Quiche),
            Some(vec!["set_initial_congestion_window_packets(30)".into()])
        );
        assert_eq!(
            of("slow-start+cubic@iw20", Profile::Quinn),
            Some(vec!["CubicConfig::default().initial_window(24000)".into()])
        );
        assert_eq!(
            of("slow-start+reno@buffer=1MB", Profile::Nginx126),
            Some(vec!["http3_stream_buffer_size 1000000".into()])
        );
        assert_eq!(of("hystart-linux+cubic", Profile::Linux), Some(vec![]));
        assert_eq!(of("bbr", Profile::Linux).map(|commands| commands.len()), Some(2));
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
