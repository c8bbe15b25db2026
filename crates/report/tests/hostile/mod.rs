//! A comparison in which every external text tries to inject markup.

use firstflight_results::CompareReport;

use crate::fixture;

/// Text that would run a script, end the data or break a table if it were inserted unescaped.
pub(crate) const HOSTILE: &str =
    r#"</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><!-- '"&<b>"#;

/// [`fixture::from_capture`] with [`HOSTILE`] as every external text.
pub(crate) fn hostile() -> CompareReport {
    let mut report = fixture::from_capture();
    let comparison = &mut report.comparison;
    let text = || HOSTILE.to_owned();
    comparison.title = text();
    comparison.path.inferred_from = Some(text());
    comparison.path.receiver = Some(text());
    for estimate in &mut comparison.path.estimates {
        estimate.how = text();
        estimate.word = estimate.word.as_ref().map(|_| text());
    }
    for connection in &mut comparison.connections {
        (connection.name, connection.scheme, connection.startup) = (text(), text(), text());
    }
    comparison.warnings = vec![text()];
    let provenance = &mut comparison.provenance;
    (provenance.scenario, provenance.command, provenance.revision) = (text(), text(), text());
    provenance.inputs[0].name = text();
    let renamed = |scheme: &mut String| *scheme = scheme.replace("jump-start", HOSTILE);
    comparison.schemes.iter_mut().for_each(renamed);
    comparison.results.iter_mut().for_each(|r| renamed(&mut r.scheme));
    report.samples.iter_mut().for_each(|s| renamed(&mut s.scheme));
    report.traces.iter_mut().for_each(|t| renamed(&mut t.scheme));
    report
}
