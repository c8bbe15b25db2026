//! A process that ends before it commits its folders leaves no file of them. This test is alone in its process, because it
//! discards the folders of all threads.

use std::fs;
use std::path::Path;

use firstflight_report::{Folder, discard_unfinished};

#[test]
fn unfinished_folders_leave_nothing_and_finished_ones_everything() {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("discard");
    let _ = fs::remove_dir_all(&base);
    let done = base.join("done");
    let mut folder = Folder::open(&done).expect("writable");
    folder.stage("images/a", |file| file.write_all(b"a")).expect("staged");
    folder.stage("b", |file| file.write_all(b"b")).expect("staged");
    folder.commit().expect("committed");

    let fresh = base.join("fresh/deep");
    let mut first = Folder::open(&fresh).expect("writable");
    first.stage("images/a", |file| file.write_all(b"a")).expect("staged");
    let mut second = Folder::open(&done).expect("writable");
    second.stage("b", |file| file.write_all(b"half")).expect("staged");
    let third = Folder::open(&base.join("empty")).expect("writable");

    let mut ended = false;
    discard_unfinished(|| ended = true);
    assert!(ended);
    assert!(!base.join("fresh").exists() && !base.join("empty").exists());
    let names = |dir: &Path| {
        fs::read_dir(dir).expect("there").map(|e| e.expect("readable").file_name()).collect::<Vec<_>>()
    };
    assert_eq!(names(&base), ["done"]);
    assert_eq!(names(&done).len(), 2, "images and b");
    assert_eq!(fs::read(done.join("b")).expect("there"), b"b");
    assert_eq!(fs::read(done.join("images/a")).expect("there"), b"a");
    assert!(first.commit().is_err() && second.commit().is_err());
    assert_eq!(fs::read(done.join("b")).expect("there"), b"b");
    drop(third);
    fs::remove_dir_all(&base).expect("removed");
}
