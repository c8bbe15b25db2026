//! A panic removes the files of all folders that are not committed, although nothing drops them. This test is alone in its
//! process, because a panic discards the folders of all threads.

use std::fs;
use std::path::Path;
use std::thread;

use firstflight_report::{Folder, discard_on_panic};

#[test]
fn a_panic_in_any_thread_leaves_no_temporary_file() {
    discard_on_panic();
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("panic");
    let _ = fs::remove_dir_all(&base);
    fs::create_dir_all(&base).expect("writable");
    let mut earlier = Folder::open(&base).expect("writable");
    earlier.stage("a", |file| file.write_all(b"whole")).expect("staged");
    earlier.commit().expect("committed");

    let mut folder = Folder::open(&base).expect("writable");
    folder.stage("a", |file| file.write_all(b"half")).expect("staged");
    let mut fresh = Folder::open(&base.join("fresh/deep")).expect("writable");
    fresh.stage("b", |file| file.write_all(b"half")).expect("staged");
    let files =
        || fs::read_dir(&base).expect("there").map(|e| e.expect("readable").file_name()).collect::<Vec<_>>();
    assert_eq!(files().len(), 3, "the file, its successor and a folder: {:?}", files());

    thread::spawn(|| panic!("this panic belongs to the test")).join().expect_err("it panicked");
    assert_eq!(files(), ["a"]);
    assert_eq!(fs::read(base.join("a")).expect("there"), b"whole");
    assert!(folder.commit().is_err() && fresh.commit().is_err());
    assert_eq!(fs::read(base.join("a")).expect("there"), b"whole");
    fs::remove_dir_all(&base).expect("removed");
}
