//! A comparison in which every external text tries to inject markup.

#![allow(dead_code, reason = "each test file uses only some of it")]

use firstflight_results::{CompareReport, Risk};

use crate::fixture;

/// Texts that leave a code span, a table cell, an attribute, an element or a line, or control a terminal.
pub(crate) const TEXTS: [&str; 8] = [
    "</script><script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\">",
    "` <img src=x onerror=window.pwned=1> ``` <svg onload=window.pwned=1> `",
    "]]> --> </style><style>@import 'x'</style></title></svg><iframe src=x>",
    "[a](javascript:window.pwned=1) ![b](http://192.0.2.1/x.png) <http://192.0.2.1/>",
    "a\\](javascript:window.pwned=1) \\[b\\](x) | c | `|`",
    "\n\n# heading\n\n[x]: javascript:window.pwned=1\n\n<script>window.pwned=1</script>\n\n[x] ![x]\n",
    "' onload='window.pwned=1' style=\"position:fixed\" & &lt;b&gt; &#60;script&#62;",
    "\u{202e}\u{2066}\u{1b}[2J\u{0}\u{7}\u{9b}\u{85}\u{feff}\u{fffe}",
];

/// [`fixture::from_capture`] with `text` as every external text.
pub(crate) fn hostile(text: &str) -> CompareReport {
    let mut report = fixture::from_capture();
    let comparison = &mut report.comparison;
    let external = text;
    let text = || external.to_owned();
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
    let renamed = |scheme: &mut String| *scheme = scheme.replace("jump-start", external);
    comparison.schemes.iter_mut().for_each(renamed);
    comparison.results.iter_mut().for_each(|r| renamed(&mut r.scheme));
    for one in &mut comparison.recommended {
        one.scheme.iter_mut().for_each(renamed);
        one.why = text();
    }
    for result in &mut comparison.results {
        result.risks = vec![Risk { what: text(), probability: 0.07, completion_s: 4.3 }];
    }
    report.samples.iter_mut().for_each(|s| renamed(&mut s.scheme));
    report.traces.iter_mut().for_each(|t| renamed(&mut t.scheme));
    report
}
