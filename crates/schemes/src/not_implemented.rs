//! What the papers and their field name and the registry does not have, with the reason: for listings.

/// Something that is named somewhere and is not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unimplemented {
    /// Its label, if one is reserved for it, or its name.
    pub name: &'static str,
    /// Who names or specifies it.
    pub source: &'static str,
    /// What it is, and why it is not here.
    pub why: &'static str,
}

/// Schemes that are to be built, under labels that are reserved for them.
pub const PLANNED: &[Unimplemented] = &[
    Unimplemented {
        name: "rapid-start",
        source: "draft-kazuho-ccwg-rapid-start",
        why: "the initial window paced over a round trip, then growth by three while no queue is seen",
    },
    Unimplemented {
        name: "search",
        source: "draft-chung-ccwg-search",
        why: "slow start that stops when deliveries fall behind what was sent a round trip before",
    },
    Unimplemented {
        name: "suss",
        source: "Arghavani et al., SIGCOMM 2024",
        why: "slow start that quadruples where it foresees that doubling will go on",
    },
    Unimplemented {
        name: "careful-resume",
        source: "draft-ietf-tsvwg-careful-resume",
        why: "a jump to half of a window saved from an earlier connection, validated by its ACKs",
    },
    Unimplemented {
        name: "paced-chirping",
        source: "Misund, Briscoe, 2019",
        why: "trains of packets at rising rates whose delays tell the rate available",
    },
    Unimplemented {
        name: "halfback",
        source: "Li, Dong, Godfrey, CoNEXT 2015",
        why: "a short transfer paced over one round trip, then sent again from its end as ACKs come",
    },
];

/// What is only named, and will not be built from what is known of it.
pub const NOT_IMPLEMENTED: &[Unimplemented] = &[
    Unimplemented {
        name: "Internet tomography",
        source: "Yu, Newman 2011, section 6",
        why: "finds the links that paths share from probes to many receivers; named without a method, and dismissed there for the number of probes",
    },
    Unimplemented {
        name: "FlowMate",
        source: "Yu, Newman 2011, section 6",
        why: "groups connections by what the kernel sees of their packets; named without its rule",
    },
    Unimplemented {
        name: "detecting shared congestion",
        source: "Rubenstein, Kurose, Towsley, SIGMETRICS 2000; in the references of Zhang, Qiu, Keshav",
        why: "compares losses and delays of two flows to tell whether they share a bottleneck; cited without its tests",
    },
    Unimplemented {
        name: "bandwidth measurement by probes",
        source: "Bolot, Paxson, Kang, Melander, Strauss, Dovrolis; in Yu, Newman 2011, section 2",
        why: "tools that send traffic of their own; cited as measurements, and no start of a connection is made of them",
    },
    Unimplemented {
        name: "AIMD, MIMD, EIMD",
        source: "Liu, thesis, chapters 2 and 4",
        why: "classes rather than schemes; reno, scalable and exp are the members that are specified",
    },
    Unimplemented {
        name: "SIMD and the binomial controls",
        source: "Jin, Guo, Matta, Bestavros, ICNP 2001; in the references of Liu's thesis",
        why: "cited without rule or constants",
    },
    Unimplemented {
        name: "SSthreshless Start",
        source: "citations of it",
        why: "takes the bottleneck's backlog, read from the RTT, in place of a threshold; no text with its constants was found",
    },
    Unimplemented { name: "StarTCP", source: "citations of it", why: "no description was found" },
    Unimplemented {
        name: "DiffStart",
        source: "its abstract, 2014",
        why: "foresees congestion and grows linearly from then on; no text with its rule was found",
    },
];
