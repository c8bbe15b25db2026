//! Parts made by an array of SLURM jobs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use firstflight::Progress;
use firstflight_contract::Nanos;
use firstflight_document::quantity::parse_time;
use firstflight_document::quoted;
use firstflight_document::seconds::Seconds;
use firstflight_hosts::progress::Silent;

use super::{Work, jobs};
use crate::failure::{Failure, wrong_at};
use crate::keys::option;
use crate::output::complain;
use crate::progress::Bar;
use firstflight::parse_share as share;

/// Largest number of jobs: SLURM's own limit, MaxArraySize, is 1001 unless the cluster has another.
const JOBS: usize = 1000;
/// Time between two looks at the dataset.
const LOOK: Duration = Duration::from_millis(500);

/// Cost of starting a job, and its limit.
pub(super) struct Starting {
    /// Time that SLURM takes, seconds.
    dispatch: f64,
    /// Largest share of a job's time.
    overhead: f64,
}

impl Starting {
    /// The values of `--dispatch` and `--overhead`.
    pub(super) fn read(dispatch: &str, overhead: &str) -> Result<Self, Failure> {
        let place = || option("dispatch", Some(&quoted(dispatch)));
        let Nanos(nanos) = parse_time(dispatch).map_err(|error| {
            wrong_at(place(), &error.problem)
                .expecting("a time such as \"1 s\"")
                .near(error.nearest.as_deref())
        })?;
        let share = share(overhead).filter(|share| *share > 0.0 && *share < 1.0);
        let overhead = share.ok_or_else(|| {
            let place = option("overhead", Some(&quoted(overhead)));
            wrong_at(place, "not a share").expecting("a share between 0 and 1, such as 2% or 0.02")
        })?;
        Ok(Self { dispatch: Nanos(nanos).as_secs_f64(), overhead })
    }

    /// Number of parts in a job, where the program starts in `start` seconds and makes a part in `part` seconds.
    fn parts(&self, start: f64, part: f64) -> usize {
        ((start + self.dispatch) / self.overhead / part).ceil().max(1.0) as usize
    }
}

/// Makes the parts `open` by an array of jobs, and waits for its end. The first part is made here, to measure its time.
pub(super) fn run(work: &Work<'_>, open: &[u64], starting: &Starting) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(Failure::new)?;
    let (grid, out) = (absolute(&work.options.grid)?, absolute(&work.options.out)?);
    let program = absolute(&program)?;
    let mut begin = Command::new(&program);
    begin.args(["sweep", &grid, "--out", &out, "--begin", "--json"]).stdout(Stdio::null());
    let start = timed(&mut begin)?;
    let (pilot, rest) = open.split_first().expect("a part is open");
    let part = work.make(&[*pilot], 1, &Silent)?.max(1e-6);
    let length = starting.parts(start, part);
    let jobs = jobs(rest, length.max(rest.len().div_ceil(JOBS)));
    if jobs.is_empty() {
        return Ok(());
    }
    let folder = Path::new(&out).join("_slurm");
    let failed = |error| Failure::new(wrong_at(folder.display(), format!("cannot be written: {error}")));
    fs::create_dir_all(&folder).map_err(failed)?;
    let (script, list) = (folder.join("job.sh"), folder.join("jobs"));
    fs::write(&list, jobs.join("\n") + "\n").map_err(failed)?;
    let memory = shell(&work.options.memory.to_string());
    let text = format!(
        "#!/bin/sh\n\
         # A job of the array makes the parts in its line of the file jobs.\n\
         #SBATCH --job-name=firstflight-sweep\n\
         #SBATCH --ntasks=1\n\
         #SBATCH --cpus-per-task=1\n\
         set -eu\n\
         parts=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" {list})\n\
         exec {program} sweep {grid} --out {out} --threads 1 --memory {memory} --parts \"$parts\"\n",
        list = shell(&list.to_string_lossy()),
        program = shell(&program),
        grid = shell(&grid),
        out = shell(&out),
    );
    fs::write(&script, text).map_err(failed)?;
    complain(format_args!(
        "{} jobs of up to {length} parts: a part takes {part:.2} s, the program starts in {start:.3} s",
        jobs.len()
    ));
    submit(work, rest, jobs.len(), &folder)
}

/// Submits the script, and waits until all jobs have ended.
fn submit(work: &Work<'_>, parts: &[u64], jobs: usize, folder: &Path) -> Result<(), Failure> {
    let mut sbatch = Command::new("sbatch");
    sbatch.args(["--parsable", "--wait"]).arg(format!("--array=0-{}", jobs - 1));
    sbatch.arg(format!("--output={}", folder.join("%A_%a.log").display())).arg(folder.join("job.sh"));
    let missing = |error| {
        let problem = format!("sbatch cannot be started: {error}");
        wrong_at("--executor \"slurm\"", problem)
            .expecting("a machine from which jobs are submitted with SLURM's sbatch")
    };
    let mut child = sbatch.stdout(Stdio::null()).stdin(Stdio::null()).spawn().map_err(missing)?;
    let bar = Bar::new();
    bar.begin("parts", parts.len() as u64);
    let mut known = 0;
    let ended = loop {
        let ended = child.try_wait().map_err(Failure::new)?;
        let present = work.dataset.present(parts);
        bar.advance(present.saturating_sub(known));
        known = known.max(present);
        match ended {
            Some(status) => break status,
            None => sleep(LOOK),
        }
    };
    bar.finish();
    if !ended.success() {
        complain(format_args!(
            "warning: sbatch reports {ended}; the jobs' output is in {}",
            folder.display()
        ));
    }
    Ok(())
}

/// Elapsed seconds of a command, which is to succeed.
#[expect(clippy::disallowed_methods, reason = "the time decides how many parts a job has, and no result")]
fn timed(command: &mut Command) -> Result<f64, Failure> {
    let begin = Instant::now();
    let status = command.status().map_err(Failure::new)?;
    let seconds = begin.elapsed().as_secs_f64();
    if status.success() {
        Ok(seconds)
    } else {
        Err(Failure::new(format!("{command:?} has failed: {status}")))
    }
}

/// The whole path as text for a script.
fn absolute(path: &Path) -> Result<String, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::new(wrong_at(path.display(), why));
    let whole = std::path::absolute(path).map_err(|error| failed(&error))?;
    let text = whole.to_str().filter(|text| !text.contains(['\n', '\r', '%']));
    text.map(str::to_owned)
        .ok_or_else(|| failed(&"SLURM cannot use this path; expected UTF-8 without % and line breaks"))
}

/// A word of a shell script.
fn shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starting_a_job_takes_at_most_its_share() {
        // (0.02 s + 1 s) / 0.02 = 51 s of work: 34 parts of 1.5 s.
        let starting = Starting::read("1 s", "2%").unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!((starting.parts(0.02, 1.5), starting.parts(0.02, 100.0)), (34, 1));
        for (dispatch, overhead) in [("1", "2%"), ("1 s", "0"), ("1 s", "100%"), ("1 s", "x")] {
            assert!(Starting::read(dispatch, overhead).is_err(), "{dispatch} {overhead}");
        }
    }

    #[test]
    fn a_word_of_a_script_is_one_argument_as_it_stands() {
        for word in ["plain", "two words", "it's", "$HOME `date` \\"] {
            let output = Command::new("sh")
                .args(["-c", &format!("printf %s {}", shell(word))])
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
