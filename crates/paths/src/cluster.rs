//! Connections that share a bottleneck, and what they know together.

use std::sync::Arc;

use firstflight_contract::Nanos;

use crate::averages::{Average, Reports, Sampled};
use crate::intervals::Intervals;
use crate::recent::{Closed, Recent};
use crate::roster::{Connection, Key, Roster};
use crate::settings::{Drops, Settings};
use crate::{Destination, Sample, Transfer};
use firstflight_schemes::startup::miss::{self, Bursts};

/// Bytes. No window that is reported counts for more: a million connections at it do not overflow a sum.
const MAX_WINDOW: u64 = 1 << 40;

/// Connections that share a bottleneck, live and recently closed.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Shared by all clusters of a memory.
    settings: Arc<Settings>,
    roster: Roster,
    /// Drop events of all connections: `T` of Yu and Newman, section 4.
    drops: Intervals,
    recent: Recent,
    sampled: Option<Box<Sampled>>,
    reports: Option<Box<Reports>>,
}

impl Cluster {
    /// One that knows nothing yet and will keep what `settings` say.
    ///
    /// # Panics
    /// If a time in them is zero or a window is no multiple of its parts; [`Policy::new`](crate::Policy::new) lets no
    /// such settings arise.
    pub fn new(settings: Settings) -> Self {
        settings.check().expect("settings that can be kept");
        Self::with(Arc::new(settings))
    }

    /// The same with settings that were checked and that others share.
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

    /// Without a live connection: it knows nothing any more. It gives no key again that it gave before, and keeps its
    /// room, for the next is about to need it.
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

    /// What it keeps.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A connection begins; `first` is its state at that moment, a plan already followed.
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
            // ns-2's TcpAgent::reset(): half the initial window.
            awnd: cwnd as f64 / 2.0,
            drops: Intervals::default(),
            mss: transfer.mss,
            avoiding: first.avoiding,
            lossy: false,
        })
    }

    /// An ACK of new data was processed. A key whose connection is closed is ignored, here and below.
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
            connection.seen = sample.now;
        }
    }

    /// A loss or mark episode began; `cwnd` is the window before its reduction.
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
        if bursts == Bursts::Connection || !burst(&self.drops) {
            self.drops.note(now, lambda);
        }
        // SPAND: one segment less than the window in which congestion avoidance met a loss.
        if avoiding {
            self.report(now, cwnd.min(MAX_WINDOW).saturating_sub(mss), srtt);
        }
    }

    /// A transfer is complete; the connection stays and may carry another.
    pub fn done(&mut self, key: Key, now: Nanos) {
        let Some(connection) = self.roster.get_mut(key) else { return };
        let (cwnd, srtt) = (connection.cwnd, connection.srtt);
        if !core::mem::take(&mut connection.lossy) {
            // SPAND: where the transfer met no loss, the window it ended with.
            self.report(now, cwnd, srtt);
        }
    }

    /// A connection ends.
    pub fn close(&mut self, key: Key, now: Nanos) {
        self.sample_until(now);
        self.done(key, now);
        if let Some(connection) = self.roster.remove(key) {
            let Connection { destination, cwnd, ssthresh, srtt, .. } = connection;
            let closed = Closed { destination, at: now, cwnd, ssthresh, srtt };
            self.recent.note(closed, self.settings.destinations);
        }
    }

    fn report(&mut self, now: Nanos, cwnd: u64, srtt: Nanos) {
        // A connection that never had an RTT never had an ACK: it knows nothing of the path.
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

/// What policies read.
impl Cluster {
    /// Whether it has no live connection.
    pub fn is_empty(&self) -> bool {
        self.roster.is_empty()
    }

    /// How many connections are in congestion avoidance: `L` of equation (2).
    pub fn avoiding(&self) -> u32 {
        self.roster.count(true)
    }

    /// How many are in slow start: `M` of section 3.
    pub fn starting(&self) -> u32 {
        self.roster.count(false)
    }

    /// The sum of the windows of those in slow start, bytes: `S` of equation (2).
    pub fn starting_cwnd(&self) -> u64 {
        self.roster.cwnd(false)
    }

    /// The sum of the windows of those in congestion avoidance, bytes.
    pub fn avoiding_cwnd(&self) -> u64 {
        self.roster.cwnd(true)
    }

    /// The oldest connection in congestion avoidance.
    pub fn oldest_avoiding(&self) -> Option<&Connection> {
        self.roster.oldest(true)
    }

    /// The oldest connection in slow start.
    pub fn oldest_starting(&self) -> Option<&Connection> {
        self.roster.oldest(false)
    }

    /// A live connection.
    pub fn connection(&self, key: Key) -> Option<&Connection> {
        self.roster.get(key)
    }

    /// The live connections, in no order that means anything.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.roster.iter()
    }

    /// Drop events of all connections.
    pub fn drops(&self) -> &Intervals {
        &self.drops
    }

    /// What the last connection to this destination left.
    pub fn closed(&self, destination: Destination) -> Option<&Closed> {
        self.recent.of(destination)
    }

    /// The sampled average of all windows; [`None`] before the first, and without [`Settings::sampling`].
    pub fn sampled(&self, now: Nanos) -> Option<Average> {
        let (count, cwnd) = totals(&self.roster);
        self.sampled.as_ref()?.average(self.settings.sampling.as_ref()?, now, count, cwnd)
    }

    /// What reports say; [`None`] where there are none that count, and without [`Settings::reporting`].
    pub fn reported(&self, now: Nanos) -> Option<Average> {
        self.reports.as_ref()?.average(self.settings.reporting.as_ref()?, now)
    }
}

fn totals(roster: &Roster) -> (u64, u64) {
    let count = u64::from(roster.count(true)) + u64::from(roster.count(false));
    (count, roster.cwnd(true).saturating_add(roster.cwnd(false)))
}
