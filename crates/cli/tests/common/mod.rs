//! Runs of the built program in temporary folders.

#![allow(dead_code, reason = "each test file uses only some of it")]

pub(crate) mod server;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary folder, removed after the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates an empty folder.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    /// Path of the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in the folder.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("within the folder")).expect("a folder for the test");
        fs::write(path, content).expect("a file for the test");
    }

    /// Runs the program in the folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with(arguments, "")
    }

    /// Runs the program in the folder with `input` on standard input.
    pub(crate) fn run_with(
        &self,
        arguments: &[impl AsRef<OsStr>],
        input: &(impl AsRef<[u8]> + ?Sized),
    ) -> Finished {
        let mut child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args(arguments)
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // A program that refuses its options does not read its input, so writing may fail.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_ref());
        Finished::from(child.wait_with_output().expect("the program ends"))
    }

    /// Every path in the folder, with the content of files.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.0.clone()];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(
                    fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()),
                );
                found.insert(path, None);
            } else {
                let content = fs::read(&path).expect("a file");
                found.insert(path, Some(content));
            }
        }
        found
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code().expect("no signal"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }
}

impl Finished {
    /// Standard output of a successful run as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        // A command that takes longer than 10 s, as on a busy machine, prints its progress.
        let told: Vec<&str> = self.err.lines().filter(|line| !line.ends_with(" s left")).collect();
        assert_eq!((self.code, told.join("\n")), (0, String::new()), "{}", self.out);
        serde_json::from_str(&self.out).expect("JSON")
    }
}
