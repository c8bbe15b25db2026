//! README's picture, which shows the present results of `make run`.
//!
//! Pixels differ between versions of Chromium and fonts, so the picture is not compared. The file beside it records the
//! printed results from which it was made, and its digest.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::{Made, Repository};

/// The capture of `make run`.
const CAPTURE: &str = "crates/capture/testdata/p1-reno-1000KB.pcap";

/// Width and height of the picture, pixels.
const SIZE: [u32; 2] = [1000, 1250];

/// Style sheet that hides all sections except the answer and the plots over time, of whose values the legend remains.
const HIDDEN: &str = "<style>.skip,.top,#ranking,#by-size,#captured,#path,#caveats,#provenance,footer,\
    #over-time .scroll,#over-time .note,#readout tr:has(input:not(:checked)),#readout thead,#readout caption,#readout td{display:none!important}\
    #readout tbody{display:flex;flex-wrap:wrap;gap:0 1.2rem}section{margin-bottom:1.2rem}h1{margin-top:1rem}</style>";
/// Start of the page's policy, which forbids added style sheets and is replaced by [`HIDDEN`].
const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\"";

const PICTURE: &str = "docs/images/report.png";

/// The record. A stale picture is taken once more, if files are written; it is new, too, if it was missing.
pub(crate) fn picture(repository: &Repository) -> Made {
    let folder = repository.built.join("regenerate-picture");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let results = results(repository, &folder)?;
    let name = "docs/images/report.txt";
    let shown = |picture: &[u8]| recorded(picture, &results);
    let mut picture = fs::read(repository.path(PICTURE)).unwrap_or_default();
    if repository.writes && repository.text(name).ok() != Some(shown(&picture)) {
        take(&folder, &repository.path(PICTURE))?;
        picture = fs::read(repository.path(PICTURE))?;
    }
    fs::remove_dir_all(&folder)?;
    Repository::whole(name, shown(&picture))
}

/// Runs the command of `make run` in a folder. Returns the printed path, answer and tables, without the legend and the file names.
fn results(repository: &Repository, folder: &Path) -> Result<String, Box<dyn Error + Send + Sync>> {
    let program = repository.built.join("firstflight");
    let mut command = Command::new(&program);
    command.arg("compare").arg(repository.path(CAPTURE)).args(["--out", "out"]).current_dir(folder);
    let run = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let out = String::from_utf8(run.stdout)?;
    let paragraphs: Vec<&str> = out.split("\n\n").collect();
    let ([results @ .., _legend, _files], true) = (&paragraphs[..], run.status.success()) else {
        return Err(format!("{command:?}: {out}{}", String::from_utf8_lossy(&run.stderr)).into());
    };
    Ok(results.join("\n\n") + "\n")
}

/// Content of the record for a picture with these bytes.
fn recorded(picture: &[u8], results: &str) -> String {
    let digest: String = Sha256::digest(picture).iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "report.png shows these results of `firstflight compare {CAPTURE}`.\n\
         `make regenerate` writes both files. SHA-256 of report.png: {digest}\n\n{results}"
    )
}

/// Takes the picture of the page in a folder.
fn take(folder: &Path, picture: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let page = folder.join("out/report.html");
    let html = fs::read_to_string(&page)?;
    let (head, rest) = html.split_once(POLICY).ok_or("the page has no policy")?;
    let (_, rest) = rest.split_once('>').ok_or("the policy of the page does not end")?;
    let html = format!("{head}{HIDDEN}{rest}").replacen("lang=\"en\"", "lang=\"en\" data-theme=\"light\"", 1);
    fs::write(&page, html)?;
    let [width, height] = SIZE;
    let status = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--hide-scrollbars"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
        .args(["--disable-sync", "--disable-dev-shm-usage", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()))
        .status()
        .map_err(|error| format!("chromium: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("chromium: {status}").into()) }
}
