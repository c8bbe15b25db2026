//! Accuracy of transfer times forecast from captures, compared with the times of a Linux kernel:
//!
//! ```text
//! cargo run --release -p research-forecasts --bin truth_table -- DIR… [--paths NAME,…] [--captured KB,…] [--sample N]
//!     [--together N,…] [--explained N] [--components NAME,…] [--true-path | --forecasts] [--advice | --fastest] [--brief]
//!     [--markdown FILE]
//! ```
//!
//! DIR contains captures named `path-control-size.pcap` or `….pcap.gz`, and further repeats `path-control-size-1.pcap`;
//! `truth.csv` is in DIR or its parent. Without options every transfer measured on a path is forecast from every capture
//! of that path. `--paths` takes only these paths. `--captured` takes only captures of these sizes, `--sample` at most N of each path: one of each transfer,
//! by turns of its first and its later repeats. `--together` forecasts from N captures of a path at once: each with those
//! that follow in the order of control and size. Several numbers give one table, with a row for each path and number. `compare`
//! explains the three connections with most data; `--explained` sets another number. `--components` shows what the ranges of single captures consist of. `--true-path` simulates the true path instead, where it is a constant rate with a drop-tail queue, which
//! separates errors of the model from errors of the inference. `--forecasts` prints each forecast beside the kernel's transfers, and
//! no other table. `--advice` prints the gains of the starts that are recommended, forecast
//! and on the kernel, with the default limits of loss and harm, `--fastest` without limits; controls in `truth.csv` have settings then, as
//! `cubic@iw30+paced`. `--brief` omits single captures, starts and sizes. `--markdown` writes the
//! tables into the block of FILE that is marked as generated; with `--together`, its table into a block of its own, and another one for
//! several numbers.

mod advice;
mod controls;
mod floor;
mod forecast;
mod kinds;
mod score;
mod scores;
mod text;
mod truth;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use firstflight_compare::{Breadth, Explanation, Limits};
use indicatif::{ProgressBar, ProgressStyle};

use controls::{Ask, Controls};
use research_forecasts::block;

use forecast::{from_capture, on_true_path};
use truth::{Transfer, TruePath};

/// Command-line options.
struct Options {
    folders: Vec<PathBuf>,
    /// Names of the paths; empty for all.
    paths: Vec<String>,
    /// Sizes of the captures, bytes; empty for all.
    captured: Vec<u64>,
    /// Most captures of each path.
    sample: Option<usize>,
    /// Numbers of captures that are read as one.
    together: Vec<usize>,
    /// Most connections that are explained together.
    explained: usize,
    /// Names of captures, without their endings, whose ranges are taken apart.
    components: Vec<String>,
    true_path: bool,
    forecasts: bool,
    /// Limits of the advice, if that is asked for.
    advice: Option<Limits>,
    brief: bool,
    markdown: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = options(std::env::args().skip(1)).and_then(|options| {
        let text = tables(&options)?;
        match &options.markdown {
            Some(file) => block::write(file, begin(&options), &text),
            None => {
                print!("{text}");
                Ok(())
            }
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        folders: vec![],
        paths: vec![],
        captured: vec![],
        sample: None,
        together: vec![1],
        explained: Explanation::TOGETHER,
        components: vec![],
        true_path: false,
        forecasts: false,
        advice: None,
        brief: false,
        markdown: None,
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--captured" => options.captured = sizes(words.next())?,
            "--paths" => options.paths = list(words.next()).ok_or("--paths: expected names, as v1,v4")?,
            "--sample" => {
                let number = number(words.next().as_deref());
                options.sample = Some(number.ok_or("--sample: expected a number of captures")?);
            }
            "--together" => {
                let numbers = list(words.next()).unwrap_or_default();
                let numbers: Option<Vec<usize>> = numbers.iter().map(|word| number(Some(word))).collect();
                let ascending =
                    |numbers: &Vec<usize>| !numbers.is_empty() && numbers.is_sorted_by(|a, b| a < b);
                let numbers = numbers.filter(ascending);
                options.together =
                    numbers.ok_or("--together: expected ascending numbers of captures, as 1,3,6")?;
            }
            "--explained" => {
                let number = number(words.next().as_deref()).filter(|number| *number <= Explanation::MOST);
                let why =
                    format!("--explained: expected a number of connections up to {}", Explanation::MOST);
                options.explained = number.ok_or(why)?;
            }
            "--components" => {
                let names = list(words.next());
                options.components = names
                    .ok_or("--components: expected names of captures, as p2-bbr-1000KB,v3-reno-1000KB")?;
            }
            "--true-path" => options.true_path = true,
            "--forecasts" => options.forecasts = true,
            "--advice" => options.advice = Some(Limits::default()),
            "--fastest" => options.advice = Some(Limits { fastest: true, ..Limits::default() }),
            "--brief" => options.brief = true,
            "--markdown" => {
                let file = words.next().ok_or("--markdown: expected a file with a generated block")?;
                options.markdown = Some(file.into());
            }
            flag if flag.starts_with('-') => {
                return Err(format!(
                    "{flag}: expected folders, --paths NAME,…, --captured KB,…, --sample N, --together N,…, \
                     --explained N, --components NAME,…, --true-path, --forecasts, --advice, --fastest, --brief, --markdown FILE"
                ));
            }
            folder => options.folders.push(folder.into()),
        }
    }
    if options.folders.is_empty() {
        return Err("expected a folder with captures and truth.csv".into());
    }
    if options.forecasts && options.markdown.is_some() {
        return Err("--forecasts: has no block in a page; expected no --markdown".into());
    }
    Ok(options)
}

/// A number above zero.
fn number(word: Option<&str>) -> Option<usize> {
    word?.parse().ok().filter(|number| *number > 0)
}

/// The words of a list.
fn list(list: Option<String>) -> Option<Vec<String>> {
    Some(list?.split(',').map(str::to_owned).collect())
}

/// Sizes in bytes from a list in KB.
fn sizes(list: Option<String>) -> Result<Vec<u64>, String> {
    let parsed = |size: &str| size.parse::<u64>().ok().map(|size| 1000 * size);
    let sizes = list.as_deref().map(|list| list.split(',').map(parsed).collect::<Option<Vec<u64>>>());
    sizes.flatten().ok_or_else(|| "--captured: expected sizes in KB, as 1000,3000".into())
}

fn tables(options: &Options) -> Result<String, String> {
    let paths = options.folders.iter().map(|folder| truth::read(folder));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?.concat();
    if let Some(name) = options.paths.iter().find(|name| paths.iter().all(|path| path.name != **name)) {
        return Err(format!("--paths: {name} is not in truth.csv"));
    }
    paths.retain(|path| options.paths.is_empty() || options.paths.contains(&path.name));
    let controls = Controls::of(paths.iter());
    let true_paths =
        || paths.iter().filter_map(|path| Some((path, on_true_path(path, &controls)?))).collect::<Vec<_>>();
    if options.true_path {
        return Ok(text::true_path(&true_paths(), &controls));
    }
    if !options.components.is_empty() {
        return components(&paths, &controls, &options.components);
    }
    let of_number = |together| paths.iter().map(move |path| chosen(path, options, together));
    let chosen = options.together.iter().copied().flat_map(of_number);
    let chosen = chosen.collect::<Result<Vec<_>, _>>()?.concat();
    let bar = bar(chosen.len());
    let mut captures = vec![];
    // One after the other: each has all cores, and its time is that of a user.
    for (path, transfer, files) in chosen {
        captures.push(from_capture(
            path,
            transfer,
            &files,
            &controls,
            Ask { advice: options.advice, together: options.explained, ..Ask::TIMES },
        ));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if options.advice.is_some() {
        return Ok(advice::tables(&captures, &controls, options.brief));
    }
    if options.forecasts {
        return Ok(text::forecasts(&captures));
    }
    Ok(match options.together[..] {
        [1] => text::whole(&captures, &paths, &true_paths(), &controls, options.brief),
        _ => text::together(&captures),
    })
}

/// The components of the ranges of these captures.
fn components(paths: &[TruePath], controls: &Controls, names: &[String]) -> Result<String, String> {
    let find = |name: &String| {
        let files = paths.iter().flat_map(|path| {
            let of = move |one: &'_ Transfer| -> Vec<PathBuf> { one.captures.clone() };
            path.transfers.iter().flat_map(move |one| of(one).into_iter().map(move |file| (path, one, file)))
        });
        let mut named = files.filter(|(.., file)| text::stem(file) == *name);
        named.next().ok_or_else(|| format!("--components: no capture {name}"))
    };
    let found = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let bar = bar(3 * found.len());
    let mut rows = vec![];
    for (path, transfer, file) in &found {
        rows.push([Breadth::Path, Breadth::Kind, Breadth::All].map(|breadth| {
            let forecast = from_capture(path, transfer, &[file], controls, Ask { breadth, ..Ask::TIMES });
            bar.inc(1);
            forecast
        }));
    }
    bar.finish_and_clear();
    Ok(text::components(&rows))
}

/// A path, one of its captured transfers, and the captures from which to forecast: the first is of that transfer.
type Chosen<'a> = (&'a TruePath, &'a Transfer, Vec<&'a Path>);

/// The captures of a path that the options ask for, so many together.
fn chosen<'a>(path: &'a TruePath, options: &Options, together: usize) -> Result<Vec<Chosen<'a>>, String> {
    let wanted =
        |transfer: &&Transfer| options.captured.is_empty() || options.captured.contains(&transfer.bytes);
    let transfers = path.transfers.iter().filter(wanted);
    let captured: Vec<&Transfer> = transfers.filter(|one| !one.captures.is_empty()).collect();
    let most: usize = captured.iter().map(|one| one.captures.len()).sum();
    if most == 0 {
        return Ok(vec![]);
    }
    if together > most {
        return Err(format!("--together {together}: {} has {most} such captures", path.name));
    }
    // The repeats of a transfer take turns.
    let file = |place: usize, repeat: usize| {
        let one = captured[place % captured.len()];
        one.captures[repeat % one.captures.len()].as_path()
    };
    let each = |(place, repeat): (usize, usize)| {
        let files = (0..together).map(|more| file(place + more, repeat + more)).collect();
        (path, captured[place], files)
    };
    let Some(sample) = options.sample else {
        let repeats = |place: usize| (0..captured[place].captures.len()).map(move |repeat| (place, repeat));
        return Ok((0..captured.len()).flat_map(repeats).map(each).collect());
    };
    let count = sample.min(captured.len());
    Ok((0..count).map(|index| each((index * captured.len() / count, index))).collect())
}

/// Progress bar over captures, if standard error is a terminal.
fn bar(captures: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("captures {wide_bar} {pos}/{len}, {eta} left");
    ProgressBar::new(captures as u64).with_style(style.expect("the template is right"))
}

/// First line of the block of the tables that the options ask for.
fn begin(options: &Options) -> &'static str {
    match options {
        Options { advice: Some(Limits { fastest: true, .. }), .. } => {
            "<!-- generated: truth_table --fastest -->"
        }
        Options { advice: Some(_), .. } => "<!-- generated: truth_table --advice -->",
        Options { together, .. } if together[..] == [1] => "<!-- generated: truth_table -->",
        Options { together, .. } if together.len() > 1 => {
            "<!-- generated: truth_table --together, by number -->"
        }
        _ => "<!-- generated: truth_table --together -->",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str) -> Result<Options, String> {
        options(words.split(' ').map(str::to_owned))
    }

    #[test]
    fn numbers_of_captures_ascend_and_several_have_a_block_of_their_own() {
        let block = |words: &str| {
            let options = asked(words).expect("options");
            (options.together.clone(), begin(&options))
        };
        assert_eq!(block("DIR"), (vec![1], "<!-- generated: truth_table -->"));
        assert_eq!(block("DIR --together 3"), (vec![3], "<!-- generated: truth_table --together -->"));
        let several = (vec![1, 3, 10], "<!-- generated: truth_table --together, by number -->");
        assert_eq!(block("DIR --together 1,3,10"), several);
        for wrong in ["", "0", "3,1", "2,2", "1,x"] {
            let why = asked(&format!("DIR --together {wrong}")).err().expect("refused");
            assert!(why.starts_with("--together: expected ascending numbers"), "{why}");
        }
    }

    #[test]
    fn no_more_connections_are_explained_than_can_be() {
        assert_eq!(asked("DIR").expect("options").explained, 3);
        assert_eq!(asked("DIR --explained 18").expect("options").explained, 18);
        assert!(asked("DIR --explained 19").is_err_and(|why| why.ends_with("up to 18")));
    }

    #[test]
    fn as_many_captures_as_asked_for_are_read_as_one_or_refused() {
        let transfer = |control: &str, captures: &[&str]| Transfer {
            control: control.into(),
            bytes: 300_000,
            repeats_ms: vec![1.0, 2.0],
            first_ms: 1.0,
            captures: captures.iter().map(PathBuf::from).collect(),
        };
        let path = TruePath {
            name: "v1".into(),
            rate_mbit_s: None,
            rtt_ms: 40.0,
            buffer_packets: None,
            transfers: vec![
                transfer("bbr", &["b", "b1"]),
                transfer("cubic", &["c", "c1"]),
                transfer("reno", &["r", "r1"]),
            ],
        };
        let files = |number: usize| {
            let sets = chosen(&path, &asked("DIR --sample 2").expect("options"), number)?;
            let files = |(_, _, files): Chosen<'_>| files.iter().map(|it| it.display().to_string()).collect();
            Ok::<Vec<Vec<String>>, String>(sets.into_iter().map(files).collect())
        };
        // Two of three transfers, the second set with the second repeats; repeats take turns.
        assert_eq!(files(1), Ok(vec![vec!["b".into()], vec!["c1".into()]]));
        assert_eq!(files(4).expect("sets")[0], ["b", "c1", "r", "b1"]);
        let mut all = files(6).expect("sets").remove(1);
        all.sort_unstable();
        assert_eq!(all, ["b", "b1", "c", "c1", "r", "r1"]);
        assert_eq!(files(7), Err("--together 7: v1 has 6 such captures".into()));
    }
}
