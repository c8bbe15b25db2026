//! Pages of the reproduction of papers: Markdown with pictures, and the same as one HTML file.

mod evidence_plot;
mod html;
mod markdown;
mod overview;
mod page;
mod plot;
mod readings;
mod summary;
mod table;
mod words;

use std::collections::BTreeMap;

use firstflight_reproduce::evidence::{Evidence, Measurements};
use firstflight_reproduce::judge::{Bench, Judged};
use firstflight_reproduce::library::Library;

pub use evidence_plot::picture_of;
pub use html::html;
pub use readings::{readings_file, readings_json, readings_page, readings_stem};

/// Name of the first page.
pub const FIRST: &str = "README.md";

/// Name of the page of words.
pub const WORDS: &str = "words.md";
/// End of the names of pages that have the lines of a paper one by one.
pub const LINES: &str = "-lines.md";
/// The picture of all lines.
const OVERVIEW: &str = "images/overview.svg";
/// File of all verdicts.
pub const VERDICTS: &str = "verdicts.json";

/// Pages and pictures, by name: [`FIRST`], [`WORDS`], `<paper>.md`, `<paper>-lines.md` and `images/<paper>-<figure>.svg`.
///
/// # Errors
/// If a figure or table names an unknown metric, axis or point.
pub fn pages(
    library: &Library,
    evidence: &Evidence,
    judged: &[Judged],
) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    files.insert(FIRST.to_owned(), summary::page(library, evidence, judged));
    files.insert(WORDS.to_owned(), words::page(library, judged));
    files.insert(OVERVIEW.to_owned(), overview::svg(library, &summary::counted(judged)));
    let nothing = Measurements::default();
    for paper in &library.papers {
        let ours = evidence.papers.get(&paper.folder).unwrap_or(&nothing);
        let bench = Bench::of(paper, ours).map_err(|why| format!("{}: {why}", paper.folder))?;
        for figure in
            paper.figures.iter().filter(|figure| figure.shown && measured(ours, plot::experiments(figure)))
        {
            let name = picture(&paper.folder, &figure.id);
            let svg =
                plot::svg(figure, &bench).map_err(|why| format!("{}, {}: {why}", paper.folder, figure.id))?;
            files.insert(name, svg);
        }
        let page = page::page(library, paper, ours, &bench, judged)
            .map_err(|why| format!("{}: {why}", paper.folder))?;
        files.insert(format!("{}.md", paper.folder), page);
        files.insert(format!("{}{LINES}", paper.folder), page::lines(library, paper, ours, judged));
    }
    Ok(files)
}

/// Folder of pictures, within the folder of the pages.
pub const IMAGES: &str = "images";
/// File of all measured values.
pub const RESULTS: &str = "results.json";

/// Content of [`RESULTS`], one line per experiment for readable diffs.
pub fn results(evidence: &Evidence) -> String {
    let text = serde_json::to_string(evidence).expect("texts and numbers");
    text.replace("{\"definition\":", "\n{\"definition\":") + "\n"
}

/// Content of [`VERDICTS`], one line per line of the target list for readable diffs.
pub fn verdicts(judged: &[Judged]) -> String {
    let rows: Vec<String> =
        judged.iter().map(|row| serde_json::to_string(row).expect("texts and numbers")).collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

/// File of a figure's picture.
fn picture(folder: &str, id: &str) -> String {
    format!("{IMAGES}/{folder}-{id}.svg")
}

/// Whether all these experiments were run.
fn measured<'a>(ours: &Measurements, mut names: impl Iterator<Item = &'a str>) -> bool {
    names.all(|name| ours.experiments.contains_key(name))
}
