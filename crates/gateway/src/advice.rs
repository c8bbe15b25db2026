//! A plan for those who do not let the gateway act: what to give to a route, to the kernel, and to servers of QUIC.

use core::fmt;

use crate::plan::Plan;
use crate::settings::STOCK;

/// Largest first window that may leave without pacing, segments. Measured on Linux 6.18, 8 Mbit/s, 50 ms, a queue of
/// 30 kB: 34 segments without pacing were later than the stack's own window, with pacing a third sooner.
pub const UNPACED: u32 = 16;
/// Bytes of a datagram by which QUIC stacks count their initial window (RFC 9000, section 14).
const DATAGRAM: u32 = 1200;

/// Snippets for a plan. `Display` writes them as a text, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// For each way, its name and the commands or settings.
    pub ways: Vec<(&'static str, String)>,
}

impl Advice {
    /// The snippets for a plan. `DEVICE` and `GATEWAY` in them stand for the interface and the next hop of the route.
    pub fn of(plan: &Plan) -> Self {
        let Plan { prefix, window, ssthresh, .. } = *plan;
        let family = if prefix.is_v4() { "" } else { "-6 " };
        let route = |window: u32| {
            let threshold = ssthresh.map_or(String::new(), |ssthresh| format!(" ssthresh lock {ssthresh}"));
            format!("ip {family}route replace {prefix} via GATEWAY dev DEVICE initcwnd {window}{threshold}")
        };
        let mut ways = vec![("route, without pacing", route(window.min(UNPACED)))];
        if window > UNPACED {
            let paced = format!("tc qdisc replace dev DEVICE root fq; {}", route(window));
            ways.push(("route, with pacing", paced));
        }
        if ssthresh.is_some() {
            // Linux 6.18 ignores the threshold of a route without it (docs/deploy.md).
            ways.push((
                "sysctl, for the threshold",
                "sysctl -w net.ipv4.tcp_no_ssthresh_metrics_save=0".into(),
            ));
        }
        if window > STOCK {
            let idle = "sysctl -w net.ipv4.tcp_slow_start_after_idle=0";
            ways.push(("sysctl, to keep the window after idle times", idle.into()));
        }
        // These stacks have one initial window for all of their connections.
        ways.extend([
            ("quiche, for all connections", format!("set_initial_congestion_window_packets({window})")),
            ("MsQuic, for all connections", format!("InitialWindowPackets={window}")),
            (
                "quinn, for all connections",
                format!("CubicConfig::default().initial_window({})", window * DATAGRAM),
            ),
        ]);
        Self { ways }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ways.iter().try_for_each(|(way, text)| writeln!(f, "{way}: {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstflight_contract::Nanos;

    fn plan(prefix: &str, window: u32, ssthresh: Option<u32>) -> Plan {
        let prefix = prefix.parse().expect("a prefix");
        Plan {
            prefix,
            window,
            ssthresh,
            path: 34,
            paced: false,
            rtt: (Nanos::ZERO, Nanos::NEVER),
            expires: Nanos::NEVER,
            holdout: 50,
        }
    }

    #[test]
    fn a_window_above_sixteen_needs_pacing_on_a_route() {
        let advice = Advice::of(&plan("192.0.2.0/24", 34, None)).to_string();
        let lines: Vec<_> = advice.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "route, without pacing: ip route replace 192.0.2.0/24 via GATEWAY dev DEVICE initcwnd 16",
                "route, with pacing: tc qdisc replace dev DEVICE root fq; ip route replace 192.0.2.0/24 via GATEWAY dev DEVICE \
                 initcwnd 34"
            ]
        );
        assert!(
            advice.contains("InitialWindowPackets=34\n") && advice.contains("initial_window(40800)\n"),
            "{advice}"
        );
        assert_eq!(Advice::of(&plan("192.0.2.0/24", 16, None)).ways.len(), lines.len() - 1);
    }

    #[test]
    fn a_threshold_needs_a_lock_and_a_sysctl() {
        let advice = Advice::of(&plan("2001:db8::/48", 12, Some(40))).to_string();
        assert!(advice.starts_with("route, without pacing: ip -6 route replace 2001:db8::/48 "), "{advice}");
        assert!(advice.contains("initcwnd 12 ssthresh lock 40\n"), "{advice}");
        assert!(advice.contains("tcp_no_ssthresh_metrics_save=0\n"), "{advice}");
    }
}
