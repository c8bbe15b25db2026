//! Reader of papers: those built in, or those of a folder of the same form.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use firstflight_document::file::read_text;
use firstflight_document::nearest;
use firstflight_sweep::wrong;
use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::PaperError;
use crate::claim::Claim;
use crate::experiment::Experiment;
use crate::figure::{Figure, Table};
use crate::readings::Readings;
use crate::target::{self, Target};
use crate::words::Words;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../papers");

/// All papers, and the target list.
#[derive(Clone, Debug)]
pub struct Library {
    /// Papers, in the order of their folders' names.
    pub papers: Vec<Paper>,
    /// The target list.
    pub targets: Vec<Target>,
    /// Words and tolerances.
    pub words: Words,
}

/// One paper.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Name of its folder.
    pub folder: String,
    /// Title, authors, year.
    pub about: About,
    /// Notes on the reproduction, in Markdown: the files `README*.md`, joined.
    pub text: String,
    /// Scenario texts by file name.
    pub scenarios: BTreeMap<String, String>,
    /// Experiments by name.
    pub experiments: BTreeMap<String, Experiment>,
    /// Claims, in the order of the files.
    pub claims: Vec<Claim>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Values that ns-2 measures.
    pub ns2: Vec<Ns2>,
    /// Tables of joint choices of what the paper leaves open, by their part: "" of `readings.toml`, `exp` of
    /// `readings-exp.toml`.
    pub readings: BTreeMap<String, Readings>,
}

/// `paper.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Short name: `AS`.
    pub key: String,
    /// Title.
    pub title: String,
    /// Authors.
    pub authors: String,
    /// Year of publication.
    pub year: u32,
    /// Conference, journal or university.
    pub venue: String,
    /// Subject, in one sentence.
    pub about: String,
    /// Reason, if the paper's own values are lost and others were assumed: its lines are counted apart.
    #[serde(default)]
    pub assumed: Option<String>,
    /// Summary of the reproduction: what holds, what does not, what the paper must have done. Paragraphs of Markdown.
    #[serde(default)]
    pub summary: Vec<String>,
    /// Values that were fitted to numbers of the paper.
    #[serde(default)]
    pub fitted: Vec<Fitted>,
    /// Reasons for which lines have no value of ns-2.
    #[serde(default)]
    pub without_ns2: Vec<WithoutNs2>,
}

/// A `[[without_ns2]]` of `paper.toml`: lines none of whose statements has a value of ns-2.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithoutNs2 {
    /// Ids of the lines.
    pub lines: Vec<String>,
    /// The reason.
    pub reason: String,
}

/// A `[[fitted]]` of `paper.toml`: a value that the paper does not state, chosen so that a number comes out.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// The value.
    pub value: String,
    /// Lines that it was fitted to.
    pub to: Vec<String>,
    /// Lines that use it, beside those.
    #[serde(default)]
    pub used_by: Vec<String>,
}

/// A `[[measured]]` of `ns2.toml`: a command, and the values that it measured in ns-2.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ns2 {
    /// The command for the shell. `$N` stands for the seed, `arrivals-$N.txt` for the connections of the run here with this seed.
    pub command: String,
    /// The values are means over the seeds 1 to this. `None` of a command without seeds.
    pub seeds: Option<NonZeroU32>,
    /// Remarks.
    #[serde(default)]
    pub about: String,
    /// The values.
    pub cells: Vec<Ns2Cells>,
}

impl Ns2 {
    /// The command as a line for the shell, which runs it with each seed.
    pub fn shell(&self) -> String {
        match self.seeds {
            Some(seeds) => format!("for N in $(seq {seeds}); do {}; done", self.command),
            None => self.command.clone(),
        }
    }

    /// Seeds whose connections ns-2 replays: 1 to this. `None` if it draws connections of its own, or none.
    pub fn replayed(&self) -> Option<u32> {
        self.seeds.map(NonZeroU32::get).filter(|_| self.command.contains("arrivals-$N.txt"))
    }
}

/// Values of a metric in ns-2.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ns2Cells {
    /// `experiment.metric`.
    pub metric: String,
    /// Points of all axes but one, or of all.
    #[serde(default)]
    pub at: Vec<String>,
    /// Values along the open axis, or one value.
    pub values: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    #[serde(default)]
    claim: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    #[serde(default)]
    figure: Vec<Figure>,
    #[serde(default)]
    table: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ns2Values {
    #[serde(default)]
    measured: Vec<Ns2>,
}

impl Library {
    /// The papers that are built in.
    ///
    /// # Errors
    /// The first error in a file; tests hold that there is none.
    pub fn built_in() -> Result<Self, PaperError> {
        let mut files = BTreeMap::new();
        collect(&BUILT_IN, &mut files);
        Self::of(&files)
    }

    /// The papers in a folder of the same form.
    ///
    /// # Errors
    /// If a file cannot be read, or the first error in a file.
    pub fn open(folder: &Path) -> Result<Self, PaperError> {
        let mut files = BTreeMap::new();
        read_folder(folder, folder, &mut files)?;
        Self::of(&files)
    }

    /// Reads papers from texts, by path.
    fn of(files: &BTreeMap<String, String>) -> Result<Self, PaperError> {
        let list = "targets.psv";
        let text = files.get(list).ok_or_else(|| wrong(list, "no such file"))?;
        let targets = target::parse(text, list)?;
        // A folder of one's own needs no table.
        let words = "words.toml";
        let words: Words = match files.contains_key(words) {
            true => read(files, words)?,
            false => {
                let text = BUILT_IN.get_file(words).and_then(include_dir::File::contents_utf8);
                read(&BTreeMap::from([(words.to_owned(), text.unwrap_or_default().to_owned())]), words)?
            }
        };
        words.check().map_err(|why| wrong("words.toml", why))?;
        let folders = files.keys().filter_map(|path| path.strip_suffix("/paper.toml"));
        let papers: Vec<Paper> = folders.map(|folder| paper(folder, files)).collect::<Result<_, _>>()?;
        let mut library = Self { papers, targets, words };
        library.check()?;
        Ok(library)
    }

    /// The claim of a line of the target list, with its paper.
    pub fn claim(&self, id: &str) -> Option<(&Paper, &Claim)> {
        let of = |paper: &'_ Paper| paper.claims.iter().position(|claim| claim.id == id);
        self.papers.iter().find_map(|paper| of(paper).map(|index| (paper, &paper.claims[index])))
    }

    /// Checks that every claim has a line of its own, and that the experiments of the claim exist. Sets what the words of a
    /// claim allow.
    fn check(&mut self) -> Result<(), PaperError> {
        for target in &self.targets {
            let count = self
                .papers
                .iter()
                .flat_map(|paper| &paper.claims)
                .filter(|claim| claim.id == target.id)
                .count();
            if count > 1 {
                let place = format!("targets.psv: {}", target.id);
                return Err(wrong(place, format!("{count} claims")).expecting("1"));
            }
        }
        for paper in &self.papers {
            paper.readings.iter().try_for_each(|(part, readings)| readings.check(paper, part))?;
        }
        for paper in &mut self.papers {
            let file = format!("{}/claims.toml", paper.folder);
            for fitted in &paper.about.fitted {
                let mut lines = fitted.to.iter().chain(&fitted.used_by);
                if let Some(id) = lines.find(|id| paper.claims.iter().all(|claim| claim.id != **id)) {
                    let place = format!("{}/paper.toml: fitted: {}", paper.folder, fitted.value);
                    return Err(wrong(place, format!("no claim of the paper has the id {id}")));
                }
            }
            for claim in &mut paper.claims {
                let place = format!("{file}: {}", claim.id);
                claim.learn(&self.words).map_err(|why| wrong(&place, why))?;
                let mut ids = self.targets.iter().map(|target| target.id.as_str());
                if !ids.clone().any(|id| id == claim.id) {
                    let error = wrong(place, "no line of targets.psv has this id");
                    return Err(error.near(nearest(&claim.id, ids.by_ref())));
                }
                for name in claim.experiments() {
                    if !paper.experiments.contains_key(name) {
                        let known: Vec<&str> = paper.experiments.keys().map(String::as_str).collect();
                        return Err(wrong(place, format!("there is no experiment \"{name}\""))
                            .expecting(known.join(", "))
                            .near(nearest(name, known)));
                    }
                }
            }
        }
        Ok(())
    }
}

fn collect(dir: &Dir<'_>, files: &mut BTreeMap<String, String>) {
    for file in dir.files() {
        if let Some(text) = file.contents_utf8() {
            files.insert(file.path().to_string_lossy().replace('\\', "/"), text.into());
        }
    }
    dir.dirs().for_each(|inner| collect(inner, files));
}

/// Largest file of a paper, bytes.
const LARGEST: u64 = 4 << 20;

fn read_folder(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) -> Result<(), PaperError> {
    let failed = |path: &Path, error: std::io::Error| wrong(path.display().to_string(), error.to_string());
    let entries = std::fs::read_dir(folder).map_err(|error| failed(folder, error))?;
    for entry in entries {
        let path = entry.map_err(|error| failed(folder, error))?.path();
        if path.is_dir() {
            read_folder(root, &path, files)?;
            continue;
        }
        let wanted = path.extension().is_some_and(|e| ["toml", "md", "psv"].iter().any(|known| e == *known));
        if wanted {
            let text = read_text(&path, LARGEST).map_err(|why| wrong(path.display().to_string(), why))?;
            let name = path.strip_prefix(root).expect("it is inside").to_string_lossy().replace('\\', "/");
            files.insert(name, text);
        }
    }
    Ok(())
}

fn paper(folder: &str, files: &BTreeMap<String, String>) -> Result<Paper, PaperError> {
    let mut paper = Paper {
        folder: folder.into(),
        about: read(files, &format!("{folder}/paper.toml"))?,
        text: String::new(),
        scenarios: BTreeMap::new(),
        experiments: BTreeMap::new(),
        claims: vec![],
        figures: vec![],
        tables: vec![],
        ns2: vec![],
        readings: BTreeMap::new(),
    };
    let prefix = format!("{folder}/");
    for path in files.keys().filter(|path| path.starts_with(&prefix)) {
        let name = &path[prefix.len()..];
        match name.split_once('/') {
            Some(("scenarios", file)) => {
                paper.scenarios.insert(file.into(), files[path].clone());
            }
            Some(("experiments", file)) => {
                let name = file.trim_end_matches(".toml").to_owned();
                paper.experiments.insert(name, read(files, path)?);
            }
            Some(_) => {}
            None if is(name, "claims") => paper.claims.extend(read::<Claims>(files, path)?.claim),
            None if is(name, "figures") => {
                let Figures { figure, table } = read(files, path)?;
                paper.figures.extend(figure);
                paper.tables.extend(table);
            }
            None if is(name, "ns2") => paper.ns2.extend(read::<Ns2Values>(files, path)?.measured),
            None if is(name, "readings") => {
                let part = name["readings".len()..].trim_end_matches(".toml").trim_start_matches('-');
                paper.readings.insert(part.to_owned(), read(files, path)?);
            }
            None => {}
        }
    }
    // Shorter names first: README.md comes before README-exp.md, although "-" sorts before ".".
    let mut texts: Vec<&String> = files
        .keys()
        .filter(|path| path.starts_with(&format!("{prefix}README")) && path.ends_with(".md"))
        .collect();
    texts.sort_by_key(|path| path.len());
    paper.text = texts.iter().map(|path| files[*path].trim_end()).collect::<Vec<_>>().join("\n\n");
    Ok(paper)
}

/// Whether a file is `<stem>.toml` or `<stem>-<part>.toml`.
fn is(name: &str, stem: &str) -> bool {
    name.strip_suffix(".toml")
        .and_then(|name| name.strip_prefix(stem))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn read<T: DeserializeOwned>(files: &BTreeMap<String, String>, path: &str) -> Result<T, PaperError> {
    let text = files.get(path).ok_or_else(|| wrong(path, "no such file"))?;
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        wrong(format!("{path}:{line}"), error.message())
    })
}
