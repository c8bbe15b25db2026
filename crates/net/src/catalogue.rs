//! Catalogue of the queueing disciplines that a link can have, each with its source and a one-line summary.

/// Kind of a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It queues, drops or marks packets.
    Queue,
    /// It also sends a rate or window signal to the senders.
    Router,
}

impl Role {
    /// Word used in results.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Router => "router",
        }
    }
}

/// Description of one discipline.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    /// Stable label, also the `kind` in a scenario.
    pub label: &'static str,
    /// Kind of the discipline.
    pub role: Role,
    /// Paper and section, or RFC.
    pub source: &'static str,
    /// One sentence for listings.
    pub summary: &'static str,
}

const fn queue(label: &'static str, source: &'static str, summary: &'static str) -> Discipline {
    Discipline { label, role: Role::Queue, source, summary }
}

const fn router(label: &'static str, source: &'static str, summary: &'static str) -> Discipline {
    Discipline { label, role: Role::Router, source, summary }
}

/// Every discipline, in listing order.
pub const DISCIPLINES: &[Discipline] = &[
    queue("drop-tail", "RFC 7567, section 2", "first in, first out; packets that do not fit are dropped"),
    queue(
        "red",
        "Floyd, Jacobson, IEEE/ACM ToN 1(4), 1993; gentle: Floyd, 2000",
        "drops or marks at random as the average queue grows",
    ),
    queue(
        "choke",
        "Pan, Prabhakar, Psounis, INFOCOM 2000, section II",
        "RED; an arrival of the same flow as a random queued packet is dropped with it",
    ),
    queue("codel", "RFC 8289", "drops or marks when packets have waited too long throughout an interval"),
    queue("fq-codel", "RFC 8290", "a queue for each flow, served in turn, each under CoDel"),
    queue(
        "priority",
        "Padmanabhan, Katz, Globecom Internet Mini-Conference, 1998",
        "drop-tail that drops droppable packets first",
    ),
    queue(
        "policer",
        "RFC 2697, section 3; Flach and others, SIGCOMM 2016",
        "drops packets above a rate and a burst, in front of drop-tail",
    ),
    router(
        "quick-start",
        "RFC 4782; ns-2.35, algorithm 3",
        "grants the rates that packets request, up to the spare capacity of the link",
    ),
    router(
        "xcp",
        "Katabi, Handley, Rohrs, SIGCOMM 2002, section 3.5",
        "writes a window change for the sender into every packet",
    ),
    router(
        "vcp",
        "Xia, Subramanian, Stoica, Kalyanaraman, SIGCOMM 2005, sections 3 and 4",
        "writes the load of its link into two bits of every packet",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_has_its_section_on_the_page() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/queues.md");
        let text = std::fs::read_to_string(page).expect("the page of queues");
        let sections =
            text.lines().filter_map(|line| line.strip_prefix("## ")).filter(|name| *name != "References");
        let queues = DISCIPLINES.iter().filter(|info| info.role == Role::Queue).map(|info| info.label);
        assert_eq!(sections.collect::<Vec<_>>(), queues.collect::<Vec<_>>());
    }
}
