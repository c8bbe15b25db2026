//! Memory of the path for the connections of a cluster: every connection reports, and those whose schemes follow a plan
//! ask for one before they begin, and before they go on after an idle time.

use crate::config::Network;
use crate::sender::Sender;
use firstflight_contract::Nanos;
use firstflight_paths::{Cluster, Destination, Key, Policy, Sample, Transfer};
use std::collections::BTreeMap;

/// Stage of a connection's life.
#[derive(Clone, Copy, Debug, Default)]
enum Life {
    #[default]
    Unborn,
    /// The connection is live; its cluster keeps it under this key.
    Live(Key),
    Over,
}

/// State of one connection.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Its cluster, if that is remembered at all.
    cluster: Option<usize>,
    destination: Destination,
    policy: Option<Policy>,
    life: Life,
    /// Its window when it last began to act, bytes.
    cwnd: u64,
    /// Amounts reported so far: segments delivered, congestion episodes, transfers.
    delivered: u64,
    episodes: u64,
    transfers: usize,
}

/// The clusters of a run whose memory a connection uses.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    clusters: Vec<Cluster>,
    /// One for each flow.
    members: Vec<Member>,
}

impl Memory {
    /// The clusters of `network`, nothing known yet.
    pub(super) fn of(network: &Network) -> Self {
        let mut policies: BTreeMap<u32, Vec<Policy>> = BTreeMap::new();
        for sharing in network.flows.iter().map(|flow| flow.sharing) {
            if let Some(policy) = sharing.policy {
                policies.entry(sharing.cluster).or_default().push(policy);
            }
        }
        let numbers: Vec<u32> = policies.keys().copied().collect();
        let settings = |policies| Policy::settings_for(policies);
        let clusters = policies.values().map(|policies| {
            Cluster::new(settings(policies).expect("a network's policies agree in each cluster"))
        });
        let members = network.flows.iter().map(|flow| Member {
            cluster: numbers.binary_search(&flow.sharing.cluster).ok(),
            destination: Destination(flow.sharing.destination.into()),
            policy: flow.sharing.policy,
            ..Member::default()
        });
        Self { clusters: clusters.collect(), members: members.collect() }
    }

    /// A flow is about to act at `at`: if it is about to begin a transfer, it gets its plan.
    pub(super) fn advise(&mut self, at: u64, flow: usize, sender: &mut Sender) {
        let member = &mut self.members[flow];
        member.cwnd = sender.chain.control.cwnd;
        let (Some(cluster), Some(policy)) = (member.cluster, member.policy) else { return };
        if let Some((rtt, bytes)) = sender.next_transfer(at) {
            let mss = sender.mss() as u32;
            let transfer =
                Transfer { now: Nanos(at), destination: member.destination, rtt: Nanos(rtt), bytes, mss };
            sender.plan = policy.plan(&self.clusters[cluster], &transfer);
        }
    }

    /// A flow has acted at `at`: its cluster receives the changes.
    pub(super) fn report(&mut self, at: u64, flow: usize, sender: &Sender) {
        let member = &mut self.members[flow];
        let Some(cluster) = member.cluster.filter(|_| sender.established) else { return };
        let cluster = &mut self.clusters[cluster];
        let (now, control) = (Nanos(at), &sender.chain.control);
        let sample = Sample {
            now,
            cwnd: control.cwnd,
            ssthresh: control.ssthresh,
            srtt: Nanos(sender.rto.srtt()),
            min_rtt: Nanos(sender.known_min_rtt()),
            avoiding: sender.chain.in_avoidance() && control.cwnd >= control.ssthresh,
        };
        let key = match member.life {
            Life::Live(key) => key,
            Life::Over => return,
            Life::Unborn => {
                let (rtt, bytes, mss) = (sample.srtt, sender.app.write_bytes(), sender.mss() as u32);
                let transfer = Transfer { now, destination: member.destination, rtt, bytes, mss };
                member.life = Life::Live(cluster.open(&transfer, &sample));
                return;
            }
        };
        let stats = sender.stats();
        if std::mem::replace(&mut member.episodes, stats.episodes) < stats.episodes {
            cluster.lost(key, now, member.cwnd);
        }
        if std::mem::replace(&mut member.delivered, sender.delivered) < sender.delivered {
            cluster.observe(key, &sample);
        }
        let transfers = sender.app().completions().len();
        if sender.finished() {
            cluster.close(key, now);
            member.life = Life::Over;
        } else if std::mem::replace(&mut member.transfers, transfers) < transfers {
            cluster.done(key, now);
        }
    }
}

impl Sender {
    /// If a transfer may begin with the event at `at`: the RTT known then, zero if none is, and its payload bytes,
    /// `u64::MAX` without end.
    fn next_transfer(&self, at: u64) -> Option<(u64, u64)> {
        let rtt = if self.established {
            if self.app_at > at {
                return None;
            }
            self.rto.srtt()
        } else if self.stack.handshake && !self.rto.backed_off() {
            // The arriving packet can only be the answer to the SYN.
            self.since_syn(at)
        } else {
            0
        };
        Some((rtt, self.app.write_bytes()))
    }
}
