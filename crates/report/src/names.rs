//! Display names and colours of schemes. A name leaves out the avoidance scheme that all chains share.

use firstflight_results::CompareReport;

use crate::format::{list, printable};

/// Sign between the names of schemes that did the same.
pub(crate) const SAME: &str = " = ";

/// The schemes of a comparison, in the order of the request.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    schemes: Vec<Name>,
    /// Avoidance scheme that all chains share and that [`Name::short`] leaves out.
    shared: Option<String>,
}

/// Display name of one scheme.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    /// Label without the shared avoidance scheme, and after ` = ` those of the schemes that did the same; printable.
    pub(crate) short: String,
    /// The first of these labels.
    pub(crate) own: String,
    /// 0 for the scheme from which differences are shown, which is drawn in grey; 1 and up for the other schemes.
    pub(crate) colour: usize,
    label: String,
}

impl Name {
    /// The whole label.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }
}

impl Names {
    pub(crate) fn of(report: &CompareReport) -> Self {
        let comparison = &report.comparison;
        let mut labels = comparison.schemes.clone();
        let shown =
            comparison.results.iter().map(|r| &r.scheme).chain(report.traces.iter().map(|t| &t.scheme));
        for label in shown {
            if !labels.contains(label) {
                labels.push(label.clone());
            }
        }
        let same = &comparison.same;
        let every: Vec<String> = labels.iter().chain(same.iter().flatten()).cloned().collect();
        let shared = shared_avoidance(&every);
        let mut next = 0;
        let schemes = labels.into_iter().map(|label| {
            let is_reference = comparison.reference() == Some(&label);
            next += usize::from(!is_reference);
            let short = |label: &str| short(label, shared.as_deref());
            let own = short(&label);
            let equal = same.iter().filter(|group| group.contains(&label)).flatten();
            let equal = equal.filter(|other| **other != label).map(|other| short(other));
            let joined: Vec<String> = std::iter::once(own.clone()).chain(equal).collect();
            Name { short: joined.join(SAME), own, colour: if is_reference { 0 } else { next }, label }
        });
        Self { schemes: schemes.collect(), shared: shared.as_deref().map(printable) }
    }

    /// Sentence that names the avoidance scheme left out of the short names; `None` if the names are complete.
    pub(crate) fn shared_avoidance_note(&self) -> Option<String> {
        let avoidance = self.shared.as_ref()?;
        let standalone: Vec<_> =
            self.iter().filter(|n| !parts(&n.label).0.contains('+')).map(|n| n.short.clone()).collect();
        let except =
            if standalone.is_empty() { String::new() } else { format!(" except {}", list(&standalone)) };
        Some(format!("After start-up, every scheme{except} continues with {avoidance}."))
    }

    /// Position of `label`, which must have a result or a trace.
    pub(crate) fn index(&self, label: &str) -> usize {
        self.schemes.iter().position(|n| n.label == label).expect("every label shown was collected")
    }

    pub(crate) fn get(&self, label: &str) -> &Name {
        &self.schemes[self.index(label)]
    }

    /// Short name of a scheme, also of one that is not shown.
    pub(crate) fn short(&self, label: &str) -> String {
        match self.schemes.iter().find(|name| name.label == label) {
            Some(name) => name.own.clone(),
            None => short(label, self.shared.as_deref()),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.schemes.iter()
    }
}

/// Avoidance scheme of every chain, if all chains have the same one. Labels without `+` are standalone schemes, which
/// have none. `None` if a shortened chain would read like another label.
///
/// `hystart++` ends in `+` itself, so the separator is the last `+` of a chain.
fn shared_avoidance(labels: &[String]) -> Option<String> {
    let chains: Vec<(&str, &str, &str)> = labels
        .iter()
        .filter_map(|label| {
            let (chain, settings) = parts(label);
            chain.rsplit_once('+').map(|(startup, avoidance)| (startup, avoidance, settings))
        })
        .collect();
    let &(_, avoidance, _) = chains.first()?;
    let shared = !avoidance.is_empty()
        && chains.iter().all(|&(startup, last, settings)| {
            let short = format!("{startup}{settings}");
            !startup.is_empty() && last == avoidance && labels.iter().all(|label| *label != short)
        });
    shared.then(|| avoidance.to_owned())
}

/// A label without the shared avoidance scheme; printable.
fn short(label: &str, shared: Option<&str>) -> String {
    let (chain, settings) = parts(label);
    let suffix = shared.map(|avoidance| format!("+{avoidance}")).unwrap_or_default();
    printable(&format!("{}{settings}", chain.strip_suffix(&suffix).unwrap_or(chain)))
}

/// Chain of a label and its settings, which begin with `@` and may be missing.
fn parts(label: &str) -> (&str, &str) {
    label.split_at(label.find('@').unwrap_or(label.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|&l| l.to_owned()).collect()
    }

    #[test]
    fn a_scheme_that_is_not_shown_has_a_short_name_too() {
        let names = Names { schemes: vec![], shared: Some("cubic".into()) };
        assert_eq!(names.short("hystart-linux+cubic@iw30"), "hystart-linux@iw30");
        assert_eq!(names.short("bbr"), "bbr");
    }

    #[test]
    fn names_leave_out_the_avoidance_scheme_only_if_all_chains_share_it() {
        let shared = |l: &[&str]| shared_avoidance(&labels(l));
        assert_eq!(shared(&["slow-start+cubic", "careful-resume+hystart+++cubic"]), Some("cubic".into()));
        assert_eq!(shared(&["slow-start+cubic", "slow-start+cubic@iw30+paced"]), Some("cubic".into()));
        assert_eq!(shared(&["slow-start+cubic", "slow-start+reno"]), None);
        assert_eq!(shared(&["slow-start+cubic", "bbr"]), Some("cubic".into()));
        assert_eq!(shared(&["slow-start+cubic", "slow-start"]), None);
        assert_eq!(
            shared(&["slow-start+cubic", "slow-start+cubic@iw60+paced", "bbr@paced"]),
            Some("cubic".into())
        );
        assert_eq!(shared(&["slow-start+cubic@iw60", "slow-start@iw60"]), None);
        assert_eq!(shared(&["bbr"]), None);
        assert_eq!(shared(&["hystart++"]), None);
        assert_eq!(shared(&[]), None);
    }
}
