//! Rules of the stacks around their controllers: what a controller is told, and when its window may grow.

use firstflight_scenario::scheme::BUILT_IN;
use firstflight_scenario::{Profile, SchemeSpec};
use firstflight_schemes::registry::AnyPhase;

/// Rule by which acknowledged bytes enlarge no window because the sender did not use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Underused {
    /// There is none.
    Grows,
    /// The sender has no more data.
    NoData,
    /// neqo 80ca01ee, `classic_cc.rs`: an acknowledgement counts if a packet of it left before the first packet that was sent while
    /// less than half the window was in flight (in slow start), or two datagrams less than the window (after it). The controller is not told of the others.
    Neqo,
    /// s2n-quic-core 0.91.0, `recovery/cubic.rs`: the window is at most twice the largest amount in flight since the last loss in slow start, one and a half times
    /// after it; nothing counts after a packet that left while the window had room for more than three datagrams, and in slow start for half of it.
    S2n,
}

/// Rules of a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Of one acknowledgement, losses are told before delivered packets.
    pub(crate) lost_first: bool,
    /// Each delivered packet is a call.
    pub(crate) each_packet: bool,
    /// Growth of an unused window.
    pub(crate) underused: Underused,
    /// A packet belongs to a recovery if it left at its beginning or before (by time), and not by its number alone.
    pub(crate) by_time: bool,
    /// A round begins with a packet that left when the last packet before the round had left, or later; not with the next packet.
    pub(crate) rounds_by_time: bool,
    /// Delivered packets are told with the round trip of the acknowledgement before.
    pub(crate) last_rtt: bool,
    /// The flow begins as if a recovery had begun at time 0, where the vector's clock begins with the connection.
    pub(crate) begins_recovering: bool,
    /// Initial window, bytes; ten datagrams where it is zero.
    pub(crate) initial_window: u64,
}

/// Rules of RFC 9002.
pub(crate) const RULES: Rules = Rules {
    lost_first: true,
    each_packet: false,
    underused: Underused::NoData,
    by_time: false,
    rounds_by_time: false,
    last_rtt: false,
    begins_recovering: false,
    initial_window: 0,
};

/// quinn-proto 0.11.19, `connection/mod.rs`: packets one by one, then losses.
const QUINN: Rules = Rules { lost_first: false, each_packet: true, by_time: true, last_rtt: true, ..RULES };
/// tquic 1.6.0, `connection/recovery.rs`: its argument `app_limited` is always false.
const TQUIC: Rules = Rules {
    lost_first: false,
    each_packet: true,
    underused: Underused::Grows,
    by_time: true,
    last_rtt: true,
    ..RULES
};

/// quicly b11d3634, `lib/quicly.c`: a call for each acknowledgement and each lost packet; nothing counts unless the window limited the sender.
const QUICLY: Rules = Rules { initial_window: 14_720, ..RULES };

/// A scheme of another project, and the chain that it is held against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The project's word, the beginning of a vector's scheme.
    pub(crate) theirs: &'static str,
    /// Chain of this program.
    pub(crate) ours: &'static str,
    /// Parameters of the chain's schemes: label, name, value in a scenario's notation.
    pub(crate) parameters: &'static [(&'static str, &'static str, &'static str)],
    /// Rules of the stack.
    pub(crate) rules: Rules,
    /// The words of the start-up in the vectors' states.
    pub(crate) start: &'static [&'static str],
    /// Bytes by which windows may differ in the start-up.
    pub(crate) start_bytes: u64,
    /// Windows after the start-up are compared: the avoidance here has the project's rule.
    pub(crate) later: bool,
}

/// Schemes whose vectors can be compared; of two that fit, the longer word.
pub(crate) const KNOWN: &[Known] = &[
    Known {
        theirs: "neqo-classic",
        ours: "slow-start+cubic",
        parameters: &[("cubic", "rules", "neqo")],
        rules: Rules { underused: Underused::Neqo, ..RULES },
        start: &["SlowStart"],
        start_bytes: 0,
        later: true,
    },
    Known {
        theirs: "neqo-hystart-unpaced",
        ours: "hystart+++cubic",
        parameters: &[("hystart++", "rules", "neqo"), ("cubic", "rules", "neqo")],
        rules: Rules { underused: Underused::Neqo, ..RULES },
        start: &["SlowStart"],
        start_bytes: 0,
        later: true,
    },
    Known {
        theirs: "neqo-hystart-paced",
        ours: "hystart+++cubic",
        parameters: &[("hystart++", "rules", "neqo"), ("hystart++", "l", "0"), ("cubic", "rules", "neqo")],
        rules: Rules { underused: Underused::Neqo, ..RULES },
        start: &["SlowStart"],
        start_bytes: 0,
        later: true,
    },
    Known {
        theirs: "neqo-hystart-entrythresh",
        ours: "hystart+++cubic",
        parameters: &[
            ("hystart++", "rules", "neqo"),
            ("hystart++", "css_baseline", "entry-threshold"),
            ("cubic", "rules", "neqo"),
        ],
        rules: Rules { underused: Underused::Neqo, ..RULES },
        start: &["SlowStart"],
        start_bytes: 0,
        later: true,
    },
    Known {
        theirs: "neqo-search",
        ours: "search+cubic",
        parameters: &[("cubic", "rules", "neqo")],
        rules: Rules { underused: Underused::Neqo, ..RULES },
        start: &["SlowStart"],
        start_bytes: 0,
        later: true,
    },
    Known {
        theirs: "quicly-rapid",
        ours: "rapid-start+reno",
        parameters: &[("rapid-start", "variant", "quicly")],
        rules: QUICLY,
        // The first recovery is a part of the scheme.
        start: &["slow_start", "slow_start_3x", "recovery"],
        // Bytes: the factors of quicly are in floating point.
        start_bytes: 2,
        later: false,
    },
    Known {
        theirs: "quicly-reno",
        ours: "slow-start+reno",
        parameters: &[],
        rules: QUICLY,
        start: &["slow_start"],
        start_bytes: 0,
        later: false,
    },
    Known {
        theirs: "quicly-cubic",
        ours: "slow-start+cubic",
        parameters: &[],
        // cc-cubic.c does not look at the limit.
        rules: Rules { underused: Underused::Grows, ..QUICLY },
        start: &["slow_start"],
        start_bytes: 0,
        later: false,
    },
    Known {
        theirs: "quinn-newreno",
        ours: "slow-start+reno",
        parameters: &[],
        rules: Rules { begins_recovering: true, ..QUINN },
        start: &["slow_start"],
        start_bytes: 0,
        later: true,
    },
    Known {
        theirs: "quinn-cubic",
        ours: "slow-start+cubic",
        parameters: &[("cubic", "rules", "quinn")],
        rules: QUINN,
        start: &["slow_start"],
        start_bytes: 0,
        later: true,
    },
    Known {
        theirs: "s2n-cubic",
        ours: "hystart+++cubic",
        parameters: &[
            ("hystart++", "rules", "s2n-quic"),
            ("hystart++", "css_rounds", "0"),
            ("hystart++", "l", "0"),
            ("cubic", "rules", "s2n-quic"),
        ],
        rules: Rules { underused: Underused::S2n, by_time: true, rounds_by_time: true, ..RULES },
        start: &["slow_start"],
        start_bytes: 0,
        later: true,
    },
    Known {
        theirs: "tquic-cubic",
        ours: "hystart+++cubic",
        parameters: &[("hystart++", "rules", "tquic"), ("hystart++", "l", "64"), ("cubic", "rules", "tquic")],
        rules: TQUIC,
        start: &["slow_start"],
        start_bytes: 0,
        later: true,
    },
];

impl Known {
    /// The chain with its parameters, such as `slow-start+cubic (cubic.rules = neqo)`.
    pub(crate) fn name(&self) -> String {
        let parameters: Vec<String> =
            self.parameters.iter().map(|(label, name, value)| format!("{label}.{name} = {value}")).collect();
        match &parameters[..] {
            [] => self.ours.to_owned(),
            some => format!("{} ({})", self.ours, some.join(", ")),
        }
    }

    /// Labels of the chain's schemes.
    pub(crate) fn labels(&self) -> impl Iterator<Item = String> + use<> {
        let spec = SchemeSpec::parse_on(self.ours, BUILT_IN, Profile::Rfc).ok();
        let labels: Vec<String> =
            spec.iter().flat_map(|spec| spec.phases()).map(|phase| phase.label().to_owned()).collect();
        labels.into_iter()
    }

    /// The phases of the chain.
    ///
    /// # Errors
    /// The reason if the program has no such scheme or parameter.
    pub(crate) fn phases(&self) -> Result<Vec<AnyPhase>, String> {
        let spec =
            SchemeSpec::parse_on(self.ours, BUILT_IN, Profile::Rfc).map_err(|error| error.to_string())?;
        let mut phases = spec.build();
        for &(label, name, word) in self.parameters {
            let phase = phases.iter_mut().find(|phase| phase.info().label == label);
            let param = phase.and_then(|phase| {
                let param = phase.info().params.iter().find(|param| param.name == name)?;
                Some((phase, param))
            });
            let (phase, param) = param.ok_or_else(|| format!("{label} has no parameter {name}"))?;
            let value = param.kind.named(word);
            phase
                .set(name, value.ok_or_else(|| format!("{label}.{name} takes no {word}"))?)
                .map_err(|error| format!("{error:?}"))?;
        }
        Ok(phases)
    }
}
