//! Runs of one scenario.

use std::fmt;

use firstflight_contract::Nanos;
use firstflight_document::Error;
use firstflight_hosts::host::Host;
use firstflight_hosts::progress::{Progress, Silent};
use firstflight_hosts::run::{self, Made, RunOptions};
use firstflight_hosts::simulator::Simulator;
use firstflight_hosts::trace::record::Recording;
use firstflight_results::{RunResult, SampleRow};
use firstflight_scenario::Loaded;

/// Runs a scenario once in the simulator, under its own seed.
///
/// # Errors
/// [`Error`] if the scenario asks for more than the simulator has.
///
/// # Examples
///
/// See the [crate's documentation](crate).
pub fn run(scenario: impl Into<Loaded>) -> Result<RunResult, Error> {
    Run::of(scenario).execute()
}

/// A scenario that is to be run: under its own seed, once, in the simulator, unless set otherwise.
///
/// # Examples
///
/// ```
/// use firstflight::{Run, Scenario};
///
/// let scenario = Scenario::from_text(
///     r#"
///     [path]
///     rate = "10 Mbit/s"
///     rtt = "50 ms"
///     buffer = "20 packets"
///     loss = 0.01
///     [[flow]]
///     size = "300 KB"
///     "#,
/// )?;
/// let result = Run::of(scenario).replications(5).seed(7).execute()?;
/// let means = result.means.expect("more than one replication");
/// assert_eq!(means.seeds, [7, 8, 9, 10, 11]);
/// # Ok::<(), firstflight::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Run<'a> {
    loaded: Loaded,
    options: RunOptions,
    host: &'a dyn Host,
    progress: &'a dyn Progress,
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { loaded, options, host, .. } = self;
        f.debug_struct("Run")
            .field("scenario", &loaded.scenario)
            .field("options", options)
            .field("host", &host.name())
            .finish_non_exhaustive()
    }
}

impl<'a> Run<'a> {
    /// A scenario that is to be run.
    pub fn of(scenario: impl Into<Loaded>) -> Self {
        Self { loaded: scenario.into(), options: RunOptions::default(), host: &Simulator, progress: &Silent }
    }

    /// Number of replications, each under the next seed; zero counts as one.
    pub fn replications(mut self, count: u32) -> Self {
        self.options.runs = count;
        self
    }

    /// Seed of the first replication, in place of the scenario's.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = Some(seed);
        self
    }

    /// Interval of the recorded deliveries, since each flow's start; zero counts as one nanosecond. The default is a
    /// second.
    pub fn grid(mut self, interval: Nanos) -> Self {
        self.options.grid = interval.max(Nanos(1));
        self
    }

    /// Limit of the memory that all runs and their results may take, bytes; the default is [`memory::DEFAULT`](crate::memory::DEFAULT). It decides
    /// whether the runs are made, and changes no result.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.options.memory = bytes;
        self
    }

    /// Most threads; the default is one for each core. Several replications have a thread each. One replication uses several
    /// where its network has parts, or groups of links, that gain by threads. The results do not depend on it.
    pub fn threads(mut self, most: usize) -> Self {
        self.options.threads = most.max(1);
        self
    }

    /// Whether the threads of a single run are timed: [`Made::timings`]. The results do not depend on it.
    pub fn timings(mut self, timed: bool) -> Self {
        self.options.timings = timed;
        self
    }

    /// The host that runs the scenario.
    pub fn host(mut self, host: &'a dyn Host) -> Self {
        self.host = host;
        self
    }

    /// The observer of progress: one step a replication.
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Checks that the memory of all replications is within its limit, together with that of [`Run::samples`] and
    /// [`Run::record`] if these are to follow. Nothing is run.
    ///
    /// # Errors
    /// As [`Run::execute`].
    pub fn check(&self, samples: bool, record: bool) -> Result<(), Error> {
        run::admit(self.host, &self.loaded, &self.observed(samples, record))
    }

    /// Runs the scenario. It uses all cores with the feature `threads`, unless [`Run::threads`] sets fewer; the results do not depend on it.
    ///
    /// # Errors
    /// [`Error`] if the scenario asks for more than the host has, or the runs take more memory than the limit.
    pub fn execute(&self) -> Result<RunResult, Error> {
        Ok(self.execute_observed(false, false)?.result)
    }

    /// Runs the scenario, and observes the first replication in the same run: its flows over time as [`Run::samples`], its packets as
    /// [`Run::record`].
    ///
    /// # Errors
    /// As [`Run::execute`].
    pub fn execute_observed(&self, samples: bool, record: bool) -> Result<Made, Error> {
        run::run(self.host, &self.loaded, &self.observed(samples, record), self.progress)
    }

    fn observed(&self, samples: bool, packets: bool) -> RunOptions {
        RunOptions { samples, packets, ..self.options }
    }

    /// Time series of every flow of the first replication: window, threshold, flight, queue, delivered bytes.
    ///
    /// # Errors
    /// As [`Run::execute`].
    pub fn samples(&self) -> Result<Vec<SampleRow>, Error> {
        let options = RunOptions { runs: 1, ..self.observed(true, false) };
        Ok(run::run(self.host, &self.loaded, &options, &Silent)?.samples)
    }

    /// Every packet and register of the first replication, some 150 bytes a packet.
    ///
    /// # Errors
    /// As [`Run::execute`].
    pub fn record(&self) -> Result<Recording, Error> {
        run::trace(self.host, &self.loaded, &self.options)
    }
}
