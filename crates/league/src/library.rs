//! Reader of a league: the one built in, or a folder of the same form.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use firstflight_document::file::read_text;
use firstflight_document::{Error, Problem, nearest};
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::trace::place_trace;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../league");

/// No file of a league is longer, bytes.
const LONGEST: u64 = 4 << 20;

/// All starts and scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct League {
    /// Version of the league: `2026.1`. Another set of scenarios is another version.
    pub version: String,
    /// Name of the start with which the others are compared.
    pub reference: String,
    /// Starts by name.
    pub starts: BTreeMap<String, Start>,
    /// Scenarios by name.
    pub scenarios: BTreeMap<String, Scenario>,
    /// Texts of the traces by file name.
    pub traces: BTreeMap<String, String>,
}

/// `league.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    version: String,
    reference: String,
}

/// A start: a file of `starts/`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Title, in a few words.
    pub title: String,
    /// Version of the text or of the program that is meant.
    pub version: String,
    /// Origin: a paper, Linux, a modern text, or a stack as it ships.
    pub family: Family,
    /// Page of `docs/algorithms/` with the rule, without `.md`.
    pub page: String,
    /// Names of the only scenarios on which the start can run; it is not in the standing then. Absent: all.
    #[serde(default)]
    pub only: Option<Vec<String>>,
    /// Keys of the `[[flow]]` that has the start.
    pub flow: toml::Table,
}

impl Start {
    /// Whether the start runs on a scenario.
    pub fn runs_on(&self, scenario: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == scenario))
    }
}

/// Origin of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Linux, as it is and with other settings.
    Linux,
    /// Papers up to 2011.
    Paper,
    /// Drafts, RFCs and papers of the last years.
    Modern,
    /// Stacks as they ship.
    Stack,
}

impl Family {
    /// The word of the files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Paper => "paper",
            Self::Modern => "modern",
            Self::Stack => "stack",
        }
    }
}

/// A scenario: a file of `scenarios/`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Title, in a few words.
    pub title: String,
    /// Reason why the scenario is in the league.
    pub reason: String,
    /// Criteria of RFC 9743 that the scenario speaks to.
    pub criteria: Vec<String>,
    /// Quantity in which starts differ here.
    pub measure: Measure,
    /// Whether the times count in the standing.
    #[serde(default = "yes")]
    pub ranked: bool,
    /// Whether the sizes are a population of connections, of which a share is limited by the start.
    #[serde(default)]
    pub population: bool,
    /// Key of a factor whose values are shown apart.
    #[serde(default)]
    pub by: Option<String>,
    /// Names of further flows that have the start.
    #[serde(default)]
    pub also: Vec<String>,
    /// The grid, as `firstflight sweep` reads one. The flow `transfer` gets the start.
    pub grid: toml::Table,
}

/// Quantity in which starts differ on a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Time of the transfer.
    Time,
    /// Time of the last of several transfers on the connection.
    Rounds,
    /// Data that other flows lose for each byte of the transfer, beside a transfer of one byte.
    Displaced,
    /// Time of requests beside the transfer, over that beside a transfer of one byte.
    Requests,
    /// Time of another transfer that comes later, over that beside the reference.
    Newcomer,
    /// Time of the slower of two equal transfers over that of the faster.
    Twins,
    /// Data that the flow delivers, over that of the reference.
    Delivered,
}

const fn yes() -> bool {
    true
}

impl League {
    /// The league of this version of the program.
    ///
    /// # Errors
    /// None: a test reads it.
    pub fn built_in() -> Result<Self, Error> {
        let mut texts = BTreeMap::new();
        collect(&BUILT_IN, &mut texts);
        Self::of(&texts)
    }

    /// The league in a folder.
    ///
    /// # Errors
    /// If a file cannot be read, or is no file of a league.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let mut texts = BTreeMap::new();
        let mut read = |path: &Path, name: String| {
            texts.insert(name, text_in(path)?);
            Ok::<_, Error>(())
        };
        read(&folder.join("league.toml"), "league.toml".into())?;
        for part in ["starts", "scenarios", "traces"] {
            let place = folder.join(part);
            if part == "traces" && !place.exists() {
                continue;
            }
            for (path, name) in files_in(&place)? {
                read(&path, format!("{part}/{name}"))?;
            }
        }
        Self::of(&texts)
    }

    /// Adds the scenarios of a folder, its files `NAME.toml`. A trace that such a file names is read from its path, seen from the folder.
    /// The version then says that the scenarios are not those of the league alone.
    ///
    /// # Errors
    /// If the folder has no scenario, a scenario has the name of another one, or a file cannot be read or is no scenario.
    pub fn add_scenarios(&mut self, folder: &Path) -> Result<(), Error> {
        let mut added = false;
        for (path, file) in files_in(folder)? {
            let Some(name) = file.strip_suffix(".toml") else { continue };
            let place = path.display().to_string();
            if self.scenarios.contains_key(name) {
                return Err(Error::invalid(format!("the league has a scenario {name} already"))
                    .in_file(&place, None)
                    .expecting("another name of the file"));
            }
            let mut scenario: Scenario = read(&place, &text_in(&path)?)?;
            place_trace(&mut scenario.grid, |trace| text_in(&folder.join(trace)))?;
            self.scenarios.insert(name.into(), scenario);
            added = true;
        }
        if !added {
            return Err(Error::invalid("the folder has no scenario")
                .in_file(&folder.display().to_string(), None)
                .expecting("files NAME.toml"));
        }
        self.version += " with own scenarios";
        Ok(())
    }

    fn of(texts: &BTreeMap<String, String>) -> Result<Self, Error> {
        let text = |name: &str| texts.get(name).map_or("", String::as_str);
        let About { version, reference } = read("league.toml", text("league.toml"))?;
        let league = Self {
            version,
            reference,
            starts: part(texts, "starts/")?,
            scenarios: part(texts, "scenarios/")?,
            traces: texts
                .iter()
                .filter_map(|(name, text)| Some((name.strip_prefix("traces/")?.into(), text.clone())))
                .collect(),
        };
        for (name, start) in &league.starts {
            let unknown = |it: &&String| !league.scenarios.contains_key(*it);
            if let Some(wrong) = start.only.iter().flatten().find(unknown) {
                let names = || league.scenarios.keys().map(String::as_str);
                return Err(Error::unknown_name("scenario", wrong, names())
                    .in_file(&format!("starts/{name}.toml"), None)
                    .at_key("only"));
            }
        }
        if !league.starts.contains_key(&league.reference) {
            let near = nearest(&league.reference, league.starts.keys().map(String::as_str));
            return Err(Error::unknown_name(
                "start",
                &league.reference,
                league.starts.keys().map(String::as_str),
            )
            .near(near)
            .in_file("league.toml", None)
            .at_key("reference"));
        }
        Ok(league)
    }
}

/// The text of a file.
fn text_in(path: &Path) -> Result<String, Error> {
    let unreadable = |why| Error::new(Problem::Unreadable(why)).in_file(&path.display().to_string(), None);
    read_text(path, LONGEST).map_err(unreadable)
}

/// Paths and names of the files of a folder, ascending by name; hidden ones are left out.
fn files_in(folder: &Path) -> Result<Vec<(PathBuf, String)>, Error> {
    let failed = |error: std::io::Error| {
        Error::new(Problem::Unreadable(error.to_string())).in_file(&folder.display().to_string(), None)
    };
    let mut files = vec![];
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            files.push((path, name));
        }
    }
    files.sort();
    Ok(files)
}

/// The files of a part of the league, by their names without `.toml`.
fn part<T: DeserializeOwned>(
    texts: &BTreeMap<String, String>,
    part: &str,
) -> Result<BTreeMap<String, T>, Error> {
    let named = texts.iter().filter_map(|(file, text)| {
        let name = file.strip_prefix(part)?.strip_suffix(".toml")?;
        Some((name, file, text))
    });
    named.map(|(name, file, text)| Ok((name.to_owned(), read(file, text)?))).collect()
}

fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Error::invalid(error.message()).in_file(file, Some((line, 1)))
    })
}

fn collect(folder: &Dir<'_>, texts: &mut BTreeMap<String, String>) {
    for file in folder.files() {
        let (name, text) = (file.path().to_string_lossy(), file.contents_utf8().unwrap_or_default());
        texts.insert(name.into_owned(), text.into());
    }
    folder.dirs().for_each(|folder| collect(folder, texts));
}
