//! Files that a scenario names, and the scenario file itself, are regular files.

use std::path::{Path, PathBuf};
use std::process::Command;

use firstflight_document::file;
use firstflight_scenario::load;

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn with(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn pipe(&self) {
        assert!(Command::new("mkfifo").arg(self.0.join("pipe")).status().unwrap().success());
        std::fs::create_dir(self.0.join("folder")).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn pipes_devices_and_folders_are_refused_by_name_and_never_read() {
    let folder = Folder::new("file-kinds");
    folder.pipe();
    let path =
        |rate: &str| format!("duration = \"1 s\"\n[path]\n{rate}\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\n");
    for (file, what) in [("pipe", "a pipe"), ("folder", "a directory"), ("/dev/zero", "a device")] {
        let shown = folder.0.join(file).display().to_string();
        let why = format!("it is {what}; expected a regular file");
        // As the scenario file, a link trace and a GraphML file.
        let error = load(Path::new(&shown)).unwrap_err().to_string();
        assert_eq!(error, format!("{shown}: cannot be read: {why}"));
        let traced = folder.with("trace.toml", &path(&format!("trace = \"{file}\"")));
        let error = load(&traced).unwrap_err().to_string();
        assert!(
            error.contains(&format!("trace.toml:3:9: path.trace = \"{file}\": cannot be read: ")),
            "{error}"
        );
        assert!(error.contains(&why), "{error}");
        let text = format!("[topology]\nkind = \"graphml\"\nfile = \"{file}\"\nbuffer = \"9 packets\"\n");
        let error = load(&folder.with("graph.toml", &text)).unwrap_err().to_string();
        assert!(
            error.contains(&format!("graph.toml:3:8: topology.file = \"{file}\": cannot be read: ")),
            "{error}"
        );
        assert!(error.contains(&why), "{error}");
    }
}

#[test]
fn a_symbolic_link_to_a_regular_file_is_read_and_a_long_name_is_cut() {
    let folder = Folder::new("file-links");
    let own = folder.with("own", "text");
    std::os::unix::fs::symlink(&own, folder.0.join("link")).unwrap();
    assert_eq!(file::read_text(&folder.0.join("link"), 4), Ok("text".into()));
    assert_eq!(file::read_text(&own, 3), Err("it is longer than the limit of 3 bytes".into()));
    let text =
        format!("[path]\ntrace = \"{}\"\nrtt = \"9 ms\"\nbuffer = \"9 packets\"\n", "a".repeat(100_000));
    let error = load(&folder.with("long.toml", &text)).unwrap_err().to_string();
    assert!(error.len() < 500 && error.contains("… (100002 characters): cannot be read"), "{error}");
}
