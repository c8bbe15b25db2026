//! A cluster: connections that share a bottleneck, and their common measurements.

use std::sync::Arc;

use firstflight_contract::Nanos;

use crate::averages::{Average, Reports, Sampled};
use crate::intervals::Intervals;
use crate::recent::{Closed, Recent};
use crate::roster::{Connection, Key, Roster};
use crate::settings::{Drops, Settings};
use crate::{Destination, Sample, Transfer};
use firstflight_schemes::startup::miss::{self, Bursts};

/// Bytes. Larger reported windows are clamped to this, so that a million connections cannot overflow a sum.
const MAX_WINDOW: u64 = 1 << 40;

/// Connections that share a bottleneck, live and recently closed.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cluster {
    /// Shared by all clusters of a memory; a saved cluster gets those of the memory that restores it.
    #[cfg_attr(feature = "serde", serde(skip))]
    settings: Arc<Settings>,
    roster: Roster,
    /// Drop events of all connections: `T` of Yu and Newman, section 4.
    drops: Intervals,
    recent: Recent,
    sampled: Option<Box<Sampled>>,
    reports: Option<Box<Reports>>,
}

impl Cluster {
    /// Creates an empty cluster that keeps the measurements in `settings`.
    ///
    /// # Panics
    /// If a time in them is zero or a window is not a multiple of its parts; [`Policy::new`](crate::Policy::new) never
    /// returns such settings.
    pub fn new(settings: Settings) -> Self {
        settings.check().expect("valid settings");
        Self::with(Arc::new(settings))
    }

    /// Creates a cluster with checked settings that it shares with others.
    pub(crate) fn with(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            roster: Roster::new(),
            drops: Intervals::default(),
            recent: Recent::default(),
            sampled: None,
            reports: None,
        }
    }

    /// Resets a cluster without live connections. It never reuses a key, and keeps its allocations for its
    /// next use.
    pub(crate) fn forget(&mut self) {
        self.drops = Intervals::default();
        self.recent.forget();
        if let Some(sampled) = &mut self.sampled {
            sampled.forget();
        }
        if let Some(reports) = &mut self.reports {
            reports.forget();
        }
    }

    /// Settings of the cluster.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Adds a connection; `first` is its state at its start, after following a plan.
    pub fn open(&mut self, transfer: &Transfer, first: &Sample) -> Key {
        if self.settings.sampling.is_some() {
            self.sampled.get_or_insert_default();
        }
        self.sample_until(transfer.now);
        let cwnd = first.cwnd.min(MAX_WINDOW);
        self.roster.insert(Connection {
            destination: transfer.destination,
            opened: transfer.now,
            seen: transfer.now,
            cwnd,
            ssthresh: first.ssthresh,
            srtt: first.srtt,
            min_rtt: first.min_rtt,
            // ns-2's TcpAgent::reset(): half the initial window.
            awnd: cwnd as f64 / 2.0,
            drops: Intervals::default(),
            mss: transfer.mss,
            avoiding: first.avoiding,
            lossy: false,
        })
    }

    /// Updates a connection after an ACK of new data. This and the methods below ignore the key of a closed
    /// connection.
    pub fn observe(&mut self, key: Key, sample: &Sample) {
        self.sample_until(sample.now);
        let sample = Sample { cwnd: sample.cwnd.min(MAX_WINDOW), ..*sample };
        let alpha = self.settings.alpha;
        if let Some(connection) = self.roster.observe(key, &sample) {
            if let Some(alpha) = alpha {
                // Yu and Newman, section 3: awnd <- (1 - alpha) awnd + alpha cwnd.
                connection.awnd = (1.0 - alpha) * connection.awnd + alpha * sample.cwnd as f64;
            }
            connection.ssthresh = sample.ssthresh;
            connection.srtt = sample.srtt;
            connection.min_rtt = sample.min_rtt;
            connection.seen = sample.now;
        }
    }

    /// Records the start of a loss or mark episode; `cwnd` is the window before the reduction.
    pub fn lost(&mut self, key: Key, now: Nanos, cwnd: u64) {
        let Some(connection) = self.roster.get_mut(key) else { return };
        let (srtt, mss, avoiding) = (connection.srtt, u64::from(connection.mss), connection.avoiding);
        let burst = |drops: &Intervals| drops.last().is_some_and(|last| now < last.saturating_add(srtt));
        if burst(&connection.drops) {
            return;
        }
        let Drops { lambda, theta, bursts } =
            self.settings.drops.unwrap_or_else(|| (&miss::Parameters::default()).into());
        connection.drops.note(now, theta);
        connection.lossy = true;
        let (destination, opened) = (connection.destination, connection.opened);
        if bursts == Bursts::Connection || !burst(&self.drops) {
            self.drops.note(now, lambda);
        }
        if !avoiding {
            self.recent.overrun(destination, opened);
        }
        // SPAND: one segment less than the window at which congestion avoidance met a loss.
        if avoiding {
            self.report(now, cwnd.min(MAX_WINDOW).saturating_sub(mss), srtt);
        }
    }

    /// Records the end of a transfer; the connection stays and may carry another one.
    pub fn done(&mut self, key: Key, now: Nanos) {
        let Some(connection) = self.roster.get_mut(key) else { return };
        let (cwnd, srtt) = (connection.cwnd, connection.srtt);
        if !core::mem::take(&mut connection.lossy) {
            // SPAND: the final window of a transfer without loss.
            self.report(now, cwnd, srtt);
        }
    }

    /// Removes a connection.
    pub fn close(&mut self, key: Key, now: Nanos) {
        self.sample_until(now);
        self.done(key, now);
        if let Some(connection) = self.roster.remove(key) {
            let Connection { destination, cwnd, ssthresh, srtt, min_rtt, .. } = connection;
            let closed = Closed { destination, at: now, cwnd, ssthresh, srtt, min_rtt, overrun: false };
            self.recent.note(closed, self.settings.destinations);
        }
    }

    /// Whether its parts are of the kind that its settings ask for, and its links are sound.
    #[cfg(feature = "serde")]
    pub(crate) fn restored(mut self, settings: &Arc<Settings>) -> Option<Self> {
        self.settings = Arc::clone(settings);
        let fits = match (&self.reports, &settings.reporting) {
            (Some(reports), Some(reporting)) => reports.fits(reporting),
            (Some(_), None) => false,
            (None, _) => true,
        };
        let sampled = self.sampled.is_none() || settings.sampling.is_some();
        (fits && sampled && self.roster.is_sound()).then_some(self)
    }

    fn report(&mut self, now: Nanos, cwnd: u64, srtt: Nanos) {
        // A connection without an RTT never received an ACK and has measured nothing.
        if let Some(settings) = &self.settings.reporting
            && srtt > Nanos::ZERO
        {
            let reports = self.reports.get_or_insert_with(|| Box::new(Reports::new(settings)));
            reports.note(settings, now, cwnd, srtt);
        }
    }

    #[inline]
    fn sample_until(&mut self, now: Nanos) {
        if let (Some(sampled), Some(settings)) = (&mut self.sampled, &self.settings.sampling) {
            let (count, cwnd) = totals(&self.roster);
            sampled.advance(settings, now, count, cwnd);
        }
    }
}

/// State that policies read.
impl Cluster {
    /// Whether the cluster has no live connection.
    pub fn is_empty(&self) -> bool {
        self.roster.is_empty()
    }

    /// Number of connections in congestion avoidance: `L` of equation (2).
    pub fn avoiding(&self) -> u32 {
        self.roster.count(true)
    }

    /// Number of connections in slow start: `M` of section 3.
    pub fn starting(&self) -> u32 {
        self.roster.count(false)
    }

    /// Sum of the windows in slow start, bytes: `S` of equation (2).
    pub fn starting_cwnd(&self) -> u64 {
        self.roster.cwnd(false)
    }

    /// Sum of the windows in congestion avoidance, bytes.
    pub fn avoiding_cwnd(&self) -> u64 {
        self.roster.cwnd(true)
    }

    /// Oldest connection in congestion avoidance.
    pub fn oldest_avoiding(&self) -> Option<&Connection> {
        self.roster.oldest(true)
    }

    /// Oldest connection in slow start.
    pub fn oldest_starting(&self) -> Option<&Connection> {
        self.roster.oldest(false)
    }

    /// A live connection.
    pub fn connection(&self, key: Key) -> Option<&Connection> {
        self.roster.get(key)
    }

    /// Live connections, in arbitrary order.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.roster.iter()
    }

    /// Drop events of all connections.
    pub fn drops(&self) -> &Intervals {
        &self.drops
    }

    /// State that the last connection to this destination had at its end.
    pub fn closed(&self, destination: Destination) -> Option<&Closed> {
        self.recent.of(destination)
    }

    /// Destination of the remembered connection that ended last; [`None`] without [`Settings::destinations`].
    pub fn newest(&self) -> Option<Destination> {
        self.recent.newest().map(|closed| closed.destination)
    }

    /// Sampled average of all windows; [`None`] before the first, and without [`Settings::sampling`].
    pub fn sampled(&self, now: Nanos) -> Option<Average> {
        let (count, cwnd) = totals(&self.roster);
        self.sampled.as_ref()?.average(self.settings.sampling.as_ref()?, now, count, cwnd)
    }

    /// Average of the reports; [`None`] if no report counts, and without [`Settings::reporting`].
    pub fn reported(&self, now: Nanos) -> Option<Average> {
        self.reports.as_ref()?.average(self.settings.reporting.as_ref()?, now)
    }
}

fn totals(roster: &Roster) -> (u64, u64) {
    let count = u64::from(roster.count(true)) + u64::from(roster.count(false));
    (count, roster.cwnd(true).saturating_add(roster.cwnd(false)))
}
