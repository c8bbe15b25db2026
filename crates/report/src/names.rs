//! Scheme names as shown: short where they share their avoidance, and always with the same colour.

use firstflight_study::results::CompareReport;

use crate::format::printable;

/// The schemes of a comparison, in the order they were asked for.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    schemes: Vec<Name>,
    /// The avoidance that all of them share and that the short names leave out.
    pub(crate) shared: Option<String>,
}

/// One scheme.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    /// Without the shared avoidance, printable.
    pub(crate) short: String,
    /// 0 for the baseline, which is drawn in grey; the others from 1.
    pub(crate) colour: usize,
    label: String,
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
        let shared = shared_avoidance(&labels);
        let mut next = 0;
        let schemes = labels.into_iter().map(|label| {
            let is_baseline = comparison.baseline.as_ref() == Some(&label);
            next += usize::from(!is_baseline);
            let short = match &shared {
                Some(last) => &label[..label.len() - last.len() - 1],
                None => &label,
            };
            Name { short: printable(short), colour: if is_baseline { 0 } else { next }, label }
        });
        Self { schemes: schemes.collect(), shared: shared.as_deref().map(printable) }
    }

    /// Position of `label`, which has a result or a trace and therefore is here.
    pub(crate) fn index(&self, label: &str) -> usize {
        self.schemes.iter().position(|n| n.label == label).expect("every label shown was collected")
    }

    pub(crate) fn get(&self, label: &str) -> &Name {
        &self.schemes[self.index(label)]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Name> {
        self.schemes.iter()
    }
}

/// The label after the last `+` of every scheme, if it is the same one and something is left before it.
///
/// `hystart++` ends in `+` itself, so the separator is the last `+` that a label follows.
fn shared_avoidance(schemes: &[String]) -> Option<String> {
    let (head, last) = schemes.first()?.rsplit_once('+')?;
    let suffix = format!("+{last}");
    let shared = !head.is_empty()
        && !last.is_empty()
        && schemes.iter().all(|s| s.len() > suffix.len() && s.ends_with(&suffix));
    shared.then(|| last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[&str]) -> Vec<String> {
        labels.iter().map(|&l| l.to_owned()).collect()
    }

    #[test]
    fn names_leave_out_the_avoidance_only_where_all_share_it() {
        let shared = |l: &[&str]| shared_avoidance(&labels(l));
        assert_eq!(shared(&["slow-start+cubic", "careful-resume+hystart+++cubic"]), Some("cubic".into()));
        assert_eq!(shared(&["slow-start+cubic", "slow-start+reno"]), None);
        assert_eq!(shared(&["slow-start+cubic", "bbr"]), None);
        assert_eq!(shared(&["bbr"]), None);
        assert_eq!(shared(&["hystart++"]), None);
        assert_eq!(shared(&[]), None);
    }
}
