//! A file of this process that readers of paths can open.

use std::path::PathBuf;
use std::sync::OnceLock;

/// Writes `bytes` into the file `name` of a temporary folder and returns the folder. One folder serves all executions
/// of a thread, so that they leave nothing behind but the last.
pub(crate) fn holding(files: &[(&str, &[u8])]) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let base = FOLDER.get_or_init(|| {
        let shared = PathBuf::from("/dev/shm");
        let base = if shared.is_dir() { shared } else { std::env::temp_dir() };
        base.join(format!("firstflight-fuzz-{}", std::process::id()))
    });
    let folder = base.join(format!("{:?}", std::thread::current().id()).replace(['(', ')'], "-"));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).expect("a temporary file can be written");
    }
    folder
}
