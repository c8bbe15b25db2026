//! Schemes that papers or drafts name and that the registry does not have, with the reason; for listings.

/// A scheme that is not implemented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unimplemented {
    /// Reserved label, or the name in the source.
    pub name: &'static str,
    /// Paper, draft or other text that names or specifies it.
    pub source: &'static str,
    /// Its rule, or the reason why it is not implemented.
    pub why: &'static str,
}

/// Planned schemes, under reserved labels.
pub const PLANNED: &[Unimplemented] = &[
    Unimplemented {
        name: "paced-chirping",
        source: "Misund, Briscoe, 2019",
        why: "trains of packets at rising rates, whose delays measure the available rate; a scheme here sets one pacing rate, and sees one RTT an ACK, where a train needs a gap and a delay for each packet",
    },
    Unimplemented {
        name: "halfback",
        source: "Li, Dong, Godfrey, CoNEXT 2015",
        why: "a short transfer paced over one round trip, then retransmitted from its end as ACKs arrive; no host here retransmits what is not lost, and the text with its bounds was not found",
    },
];

/// Schemes whose published text does not suffice to implement them.
pub const NOT_IMPLEMENTED: &[Unimplemented] = &[
    Unimplemented {
        name: "Internet tomography",
        source: "Yu, Newman 2011, section 6",
        why: "infers the links that paths share from probes to many receivers; named without a method, and rejected there for the number of probes",
    },
    Unimplemented {
        name: "FlowMate",
        source: "Yu, Newman 2011, section 6",
        why: "groups connections by observations of their packets in the kernel; named without its rule",
    },
    Unimplemented {
        name: "detecting shared congestion",
        source: "Rubenstein, Kurose, Towsley, SIGMETRICS 2000; in the references of Zhang, Qiu, Keshav",
        why: "compares losses and delays of two flows to decide whether they share a bottleneck; cited without its tests",
    },
    Unimplemented {
        name: "bandwidth measurement by probes",
        source: "Bolot, Paxson, Kang, Melander, Strauss, Dovrolis; in Yu, Newman 2011, section 2",
        why: "tools that send probe traffic; cited as measurements, not as start-up schemes",
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
        why: "uses the bottleneck's backlog, estimated from the RTT, in place of a threshold; no text with its constants was found",
    },
    Unimplemented { name: "StarTCP", source: "citations of it", why: "no description was found" },
    Unimplemented {
        name: "DiffStart",
        source: "its abstract, 2014",
        why: "predicts congestion and grows linearly from then on; no text with its rule was found",
    },
];
