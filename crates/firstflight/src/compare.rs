//! Comparisons of start-up schemes.

use std::borrow::Cow;
use std::fmt;

use firstflight_compare::{Input, Limits, Request, Statistic};
use firstflight_document::Error;
use firstflight_document::quantity::parse_bytes;
use firstflight_hosts::host::Host;
use firstflight_hosts::progress::{Progress, Silent};
use firstflight_hosts::simulator::Simulator;
use firstflight_hosts::trace::record::Recording;
use firstflight_results::CompareReport;
use firstflight_scenario::{Candidate, Profile, Scenario};
use firstflight_schemes::catalogue::Schemes;

/// A comparison of the usual start-up schemes on a path, a scenario, a preset or a capture.
///
/// # Examples
///
/// ```
/// use firstflight::{Input, compare};
///
/// let report = compare(Input::preset("cable")?)
///     .schemes(["slow-start+cubic", "jump-start+cubic"])?
///     .sizes(["300 KB"])?
///     .execute()?;
/// // The results are ranked within each size, the fastest first.
/// let [fastest, slower] = &report.comparison.results[..] else { panic!("two schemes, one size") };
/// assert!(fastest.completion_s.unwrap().median <= slower.completion_s.unwrap().median);
/// # Ok::<(), firstflight::Error>(())
/// ```
pub fn compare<'a>(input: impl Into<Input>) -> Compare<'a> {
    Compare {
        request: Request::of(input),
        catalogue: Schemes::built_in(),
        host: &Simulator,
        progress: &Silent,
    }
}

/// A transfer size in bytes: a quantity such as `300 KB`; the space before the unit is optional.
///
/// # Errors
/// [`Error`] if the text is no quantity of bytes, or the size is zero or above 1 TB.
pub fn parse_size(text: &str) -> Result<u64, Error> {
    let wrong = |why: &str| Err(Error::invalid(why).expecting("a size such as \"300 KB\""));
    match parse_bytes(text)? {
        0 => wrong("zero bytes"),
        bytes if bytes > LARGEST => wrong("more than 1 TB, the largest size that is simulated"),
        bytes => Ok(bytes),
    }
}

/// Largest transfer, bytes: the simulator numbers segments in 32 bits.
const LARGEST: u64 = 1_000_000_000_000;

/// A comparison that is to be made; [`compare`] begins one.
#[derive(Clone)]
#[must_use]
pub struct Compare<'a> {
    request: Request,
    catalogue: Schemes,
    host: &'a dyn Host,
    progress: &'a dyn Progress,
}

impl fmt::Debug for Compare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, catalogue, host, .. } = self;
        f.debug_struct("Compare")
            .field("request", request)
            .field("catalogue", catalogue)
            .field("host", &host.name())
            .finish_non_exhaustive()
    }
}

impl<'a> Compare<'a> {
    /// The catalogue in which [`Compare::schemes`] looks up labels: the built-in schemes and schemes of your own. Set it
    /// before the schemes.
    pub fn catalogue(mut self, catalogue: Schemes) -> Self {
        self.catalogue = catalogue;
        self
    }

    /// The schemes to compare, in place of the usual ones: chains of labels such as `hystart+++cubic`, and settings in which
    /// the stack differs behind an `@`, such as `hystart-linux+cubic@iw30+paced`. An avoidance scheme alone, such as `cubic`, is what
    /// the stack has under this name: set the profile before the schemes.
    ///
    /// # Errors
    /// [`Error`] if a label is not in the catalogue, the labels do not make a chain, or there is no such setting.
    pub fn schemes(mut self, chains: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, Error> {
        let profile = self.request.input.profile(self.request.profile);
        let parse = |chain: &str| Candidate::parse_on(chain, &self.catalogue, profile);
        self.request.schemes =
            chains.into_iter().map(|chain| parse(chain.as_ref())).collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// The transfer sizes, in place of 30 KB, 300 KB and 3 MB: quantities such as `"300 KB"`. In the answer all count alike; the usual ones
    /// count as often as a capture has transfers of about their size.
    ///
    /// # Errors
    /// [`Error`] if a text is not a quantity of bytes.
    pub fn sizes(mut self, sizes: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, Error> {
        self.request.sizes =
            sizes.into_iter().map(|size| parse_size(size.as_ref())).collect::<Result<_, _>>()?;
        self.request.weighs_by_capture = false;
        Ok(self)
    }

    /// The schemes to compare, with their settings, in place of the usual ones.
    pub fn candidates(mut self, candidates: Vec<Candidate>) -> Self {
        self.request.schemes = candidates;
        self
    }

    /// The transfer sizes, bytes, in place of 30 KB, 300 KB and 3 MB.
    pub fn transfers(mut self, bytes: Vec<u64>) -> Self {
        self.request.sizes = bytes;
        self.request.weighs_by_capture = false;
        self
    }

    /// The command line and the revision of the program, for the provenance of the results.
    pub fn provenance(mut self, command: String, revision: String) -> Self {
        (self.request.command, self.request.revision) = (command, revision);
        self
    }

    /// The stack that runs the schemes; the default is [`Profile::Linux`]. The first flow of a scenario has its own.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.request.profile = profile;
        self
    }

    /// Replications of each scheme at each size where the path is random or not known exactly; the default is 30. On a
    /// path without randomness one replication is made.
    pub fn replications(mut self, count: u32) -> Self {
        self.request.runs = count;
        self
    }

    /// Seed of every random stream; the default is 1. Every scheme meets the same randomness.
    pub fn seed(mut self, seed: u64) -> Self {
        self.request.seed = seed;
        self
    }

    /// Candidate paths of each kind with which the search for the paths that explain a capture begins; the default is 160.
    /// Fewer make the comparison faster and its weights of the paths less certain.
    pub fn path_candidates(mut self, count: u32) -> Self {
        self.request.candidates = count.max(1);
        self
    }

    /// Compares only what the stack of the profile has: the other usual schemes are left out, and another scheme is refused.
    pub fn deployable(mut self, only: bool) -> Self {
        self.request.deployable = only;
        self
    }

    /// Whether the harm to others that share the bottleneck is measured; the default is yes. Without it no limit of harm
    /// holds.
    pub fn harm(mut self, measured: bool) -> Self {
        self.request.harm = measured;
        self
    }

    /// Limits of what a recommended candidate may cost. The default is what the stack's own scheme costs, and a tenth more.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.request.limits = limits;
        self
    }

    /// Statistic of the times by which candidates are chosen, over all paths that a capture leaves possible; the default is the geometric mean.
    pub fn by(mut self, statistic: Statistic) -> Self {
        self.request.by = statistic;
        self
    }

    /// Limit of the memory that all runs and their results may take, bytes; the default is [`memory::DEFAULT`](crate::memory::DEFAULT). It decides
    /// whether the comparison is made, and changes no result.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.request.memory = bytes;
        self
    }

    /// The host that runs the transfers.
    pub fn host(mut self, host: &'a dyn Host) -> Self {
        self.host = host;
        self
    }

    /// The observer of progress: one step a run.
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Makes the comparison. Runs use all cores with the feature `threads`; the results do not depend on it.
    ///
    /// # Errors
    /// [`Error`] if the path is not known in full, a scheme cannot run on it, or the comparison takes more memory than the
    /// limit.
    pub fn execute(&self) -> Result<CompareReport, Error> {
        firstflight_compare::compare(self.host, &self.complete(), self.progress)
    }

    /// Number of networks of clients, each answered by itself and together as a mix, that a capture holds; 0 if the comparison
    /// is of a single path. Then [`Progress::stopped`] ends the comparison after the networks that are answered.
    pub fn networks(&self) -> usize {
        firstflight_compare::networks(&self.request)
    }

    /// Checks that the memory of [`Compare::recordings`] is within the limit, before the comparison is made.
    ///
    /// # Errors
    /// As [`Compare::execute`].
    pub fn check_recordings(&self) -> Result<(), Error> {
        firstflight_compare::admit_recordings(self.host, &self.complete())
    }

    /// Every packet and register of the replication nearest the median of each scheme and size, in the order of the
    /// results of `report`, and of the re-run of each captured connection. `report` is the answer of
    /// [`Compare::execute`].
    ///
    /// # Errors
    /// As [`Compare::execute`].
    pub fn recordings(&self, report: &CompareReport) -> Result<Vec<Recording>, Error> {
        firstflight_compare::recordings(self.host, &self.complete(), report)
    }

    /// Scenario and seed of the replication that trace number `place` of `report` shows. `report` is the answer of
    /// [`Compare::execute`].
    ///
    /// # Errors
    /// As [`Compare::execute`], and if there is no such trace.
    pub fn shown_run(&self, report: &CompareReport, place: usize) -> Result<(Scenario, u64), Error> {
        firstflight_compare::shown_run(self.host, &self.complete(), report, place)
    }

    /// The request, with the usual schemes if none are set.
    fn complete(&self) -> Cow<'_, Request> {
        let request = &self.request;
        if !request.schemes.is_empty() {
            return Cow::Borrowed(request);
        }
        let schemes = firstflight_compare::default_candidates(
            &request.input,
            request.profile,
            self.host,
            request.deployable,
        );
        Cow::Owned(Request { schemes, ..request.clone() })
    }
}

/// A word of a command line, quoted for a shell where the word needs quotes.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+,:=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_shell_syntax_are_quoted() {
        let words = ["slow-start+cubic", "40 Mbit/s", "it's", "", "$(x)"].map(shell_word);
        assert_eq!(words, ["slow-start+cubic", "'40 Mbit/s'", "'it'\\''s'", "''", "'$(x)'"]);
    }
}
