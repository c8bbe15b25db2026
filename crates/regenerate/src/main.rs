//! Writes every generated file of the repository, or with `--check` fails if one is stale: `tools/regenerate` builds and runs it.

mod algorithms;
mod header;
mod picture;
mod plots;
mod stub;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rayon::prelude::*;

/// A generated file: its path below the repository, and its present content.
type File = (String, Vec<u8>);

type Made = Result<Vec<File>, Box<dyn Error + Send + Sync>>;

/// Where the generators read.
struct Repository {
    root: PathBuf,
    /// Folder of this program, which has the command and the extension module of the same build.
    built: PathBuf,
    /// Whether stale files are written. Otherwise nothing is.
    writes: bool,
}

impl Repository {
    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn text(&self, name: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
        Ok(fs::read_to_string(self.path(name)).map_err(|error| format!("{name}: {error}"))?)
    }

    /// A file with one content.
    fn whole(name: &str, content: String) -> Made {
        Ok(vec![(name.into(), content.into())])
    }

    /// A page of which parts are generated.
    fn refreshed(&self, name: &str, refresh: impl Fn(&str) -> String) -> Made {
        Self::whole(name, refresh(&self.text(name)?))
    }
}

/// Every generator. Those that take long are first.
const GENERATORS: [fn(&Repository) -> Made; 14] = [
    plots::plots,
    picture::picture,
    stub::stub,
    |_| Repository::whole("crates/contract/include/firstflight.h", header::header()?),
    algorithms::algorithms,
    |_| {
        use firstflight_document::schema::schema_text;
        use firstflight_scenario::schema::schema;
        Repository::whole("docs/scenario.schema.json", schema_text(&schema()))
    },
    |it| it.refreshed("docs/scenarios.md", firstflight_scenario::reference::refresh),
    |it| it.refreshed("docs/gateway-configuration.md", firstflight_gateway::configuration::refresh),
    |_| Repository::whole("docs/results.md", firstflight_results::reference::page()),
    |_| Repository::whole("docs/deploy.md", firstflight_compare::deploy::page()),
    |_| Repository::whole("docs/grid.schema.json", firstflight_sweep::schema_text()),
    |it| it.refreshed("docs/sweeps.md", firstflight_sweep::refresh),
    |_| Repository::whole("docs/commands.md", firstflight_cli::reference()),
    |it| {
        let (begin, table) = ("<!-- fields -->\n", firstflight_bpf::view::table());
        let page = it.text("docs/bpf.md")?;
        let (before, _) = page.split_once(begin).ok_or("docs/bpf.md lacks <!-- fields -->")?;
        let bpf = ("docs/bpf.md".into(), format!("{before}{begin}{table}").into());
        Ok(vec![bpf, ("docs/reliability.md".into(), firstflight_fuzz_targets::page::made()?.into())])
    },
];

fn main() -> ExitCode {
    let writes = match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [] => true,
        [word] if word == "--check" => false,
        words => {
            eprintln!("regenerate: {}: expected nothing, or --check", words.join(" "));
            return ExitCode::from(2);
        }
    };
    match stale(writes) {
        Ok(files) if writes => {
            files.iter().for_each(|name| println!("{name} is new"));
            ExitCode::SUCCESS
        }
        Ok(files) if files.is_empty() => ExitCode::SUCCESS,
        Ok(files) => {
            files.iter().for_each(|name| eprintln!("{name} is stale; expected: make regenerate"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("regenerate: {error}");
            ExitCode::from(2)
        }
    }
}

/// Names of the files that are stale, or were and have been written.
fn stale(writes: bool) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let built = std::env::current_exe()?.parent().ok_or("this program has no folder")?.to_owned();
    let repository = Repository { root, built, writes };
    let made: Vec<Vec<File>> =
        GENERATORS.par_iter().map(|generator| generator(&repository)).collect::<Result<_, _>>()?;
    let mut stale = vec![];
    for (name, content) in made.into_iter().flatten() {
        let path = repository.path(&name);
        if fs::read(&path).is_ok_and(|old| old == content) {
            continue;
        }
        if writes {
            fs::write(&path, content).map_err(|error| format!("{name}: {error}"))?;
        }
        stale.push(name);
    }
    Ok(stale)
}
