//! Pages with pictures: their style, and pictures that share one document.

use std::collections::BTreeSet;

/// Style: the colours of the report, wide tables with their own scroll bar.
pub(crate) const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
background:light-dark(#fff,#14171c);color:light-dark(#1a1d23,#e6e8ec)}a{color:light-dark(#0068a8,#62b6f0)}\
table{display:block;overflow-x:auto;border-collapse:collapse;font-size:13px}th,td{padding:.25rem .6rem;text-align:left;\
vertical-align:top;border-bottom:1px solid light-dark(#dcdfe5,#343a45)}.n{text-align:right}code{font-size:.92em}pre{overflow-x:auto}\
svg{max-width:100%;height:auto}@media(max-width:700px){p:has(>svg){overflow-x:auto}p>svg{max-width:none}}h2{margin-top:2.5rem}section{border-top:4px solid light-dark(#dcdfe5,#343a45);margin-top:3rem}";

/// The style sheets of the pictures in a body, each once. Text of results has no element, because it is escaped.
pub(crate) fn styles(body: &str) -> impl Iterator<Item = &str> {
    let sheets = body.split("<style>").skip(1).filter_map(|rest| rest.split("</style>").next());
    sheets.collect::<BTreeSet<_>>().into_iter()
}

/// A picture whose ids begin with `own`: those in the pictures of one document must be unique.
pub(crate) fn embedded(svg: &str, own: &str) -> String {
    svg.replace("id=\"k", &format!("id=\"{own}k")).replace("url(#k", &format!("url(#{own}k"))
}
