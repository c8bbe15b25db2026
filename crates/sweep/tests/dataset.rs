//! Datasets that several processes have open, and files in them that are no parts.

use std::path::Path;

use firstflight_hosts::progress::Silent;
use firstflight_sweep::{Dataset, Plan};

use crate::grid::{Scratch, grid, make, plan};

#[test]
fn of_many_grids_that_begin_a_folder_at_once_one_has_it() {
    let scratch = Scratch::new("at-once");
    let grids: Vec<String> = (31..39).map(|size| grid().replace("30 KB", &format!("{size} KB"))).collect();
    let plans: Vec<Plan> = grids.iter().map(|text| plan(text)).collect();
    let barrier = std::sync::Barrier::new(plans.len());
    let opened: Vec<Result<String, String>> = std::thread::scope(|scope| {
        let open = |plan: &Plan| {
            barrier.wait();
            let dataset = Dataset::open(&scratch.0, plan, "version");
            dataset.map(|it| it.grid_sha256().to_owned()).map_err(|error| error.to_string())
        };
        let threads: Vec<_> = plans.iter().map(|plan| scope.spawn(move || open(plan))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let won: Vec<&String> = opened.iter().flatten().collect();
    let lost: Vec<&String> = opened.iter().filter_map(|it| it.as_ref().err()).collect();
    assert_eq!((won.len(), lost.len()), (1, 7), "{opened:?}");
    assert!(lost.iter().all(|why| why.contains("the dataset is of another grid: ")), "{lost:?}");
    let [(path, manifest)] = &scratch.files()[..] else { panic!("{:?}", scratch.files()) };
    assert_eq!(path, Path::new("_sweep.json"));
    assert!(String::from_utf8_lossy(manifest).contains(won[0]));
}

#[test]
fn a_sweep_at_work_keeps_others_out_until_it_ends() {
    let scratch = Scratch::new("alone");
    let plan = plan(&grid());
    let open = || Dataset::open(&scratch.0, &plan, "version").expect("the same grid");
    let first = open().alone().expect("nobody else");
    assert_eq!(first.warning, None);
    let why = open().alone().expect_err("the first is at work").to_string();
    let place = scratch.0.join("_sweep.json").display().to_string();
    assert_eq!(
        why,
        format!(
            "{place}: another sweep is at work on this dataset; expected its end, another folder, or --parts for a share of the work"
        )
    );
    drop(first);
    assert_eq!(open().alone().expect("it has ended").warning, None);
}

#[test]
fn what_another_process_is_writing_is_no_leftover() {
    use rustix::fs::{FlockOperation, flock};
    let scratch = Scratch::new("leftovers");
    make(&scratch.0, &grid(), &[0], 1, &Silent);
    let dataset = Dataset::open(&scratch.0, &plan(&grid()), "version").expect("its own");
    let names = [".dead.1.0.part", ".alive.2.0.part"].map(|name| scratch.0.join("part=000000").join(name));
    let [_, alive] = names.clone().map(|path| std::fs::File::create(path).expect("a new file"));
    flock(&alive, FlockOperation::NonBlockingLockExclusive).expect("nobody has it");
    dataset.remove_leftovers();
    assert_eq!(names.map(|path| path.exists()), [false, true]);
}

#[cfg(unix)]
#[test]
fn a_part_that_is_no_regular_file_or_too_long_is_named_and_made_again() {
    let scratch = Scratch::new("devices");
    let text = grid();
    make(&scratch.0, &text, &[0], 1, &Silent);
    let whole = scratch.files();
    let dataset = Dataset::open(&scratch.0, &plan(&text), "version").expect("its own");
    let path = scratch.0.join(&whole[1].0);
    assert!(path.extension().is_some_and(|it| it == "parquet"), "{whole:?}");
    let device = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
        assert!(made.success());
    };
    let endless = |path: &Path| std::os::unix::fs::symlink("nothing", path).expect("a link");
    let long = |path: &Path| {
        std::fs::File::create_new(path).and_then(|it| it.set_len(5 << 30)).expect("a sparse file")
    };
    type Case<'a> = (&'a dyn Fn(&Path), &'a str);
    let cases: [Case<'_>; 4] = [
        (&device, "it is a device; expected a regular file"),
        (&pipe, "it is a pipe; expected a regular file"),
        (&endless, "No such file"),
        (&long, "longer than 4294967296 bytes"),
    ];
    for (replace, why) in cases {
        std::fs::remove_file(&path).expect("removable");
        replace(&path);
        let state = dataset.state([0]).expect("an answer");
        assert_eq!(state.open, [0], "{why}");
        assert!(state.refused.len() == 1 && state.refused[0].contains(why), "{:?}", state.refused);
        make(&scratch.0, &text, &[0], 1, &Silent);
        assert_eq!(scratch.files(), whole, "{why}");
    }
}

#[test]
fn a_damaged_manifest_is_refused_by_its_key_and_with_a_short_excerpt() {
    let scratch = Scratch::new("manifest");
    let plan = plan(&grid());
    Dataset::open(&scratch.0, &plan, "version").expect("begun");
    let path = scratch.0.join("_sweep.json");
    let own: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("a file")).expect("JSON");
    let long = "x".repeat(100_000);
    let refused = |key: &str, value: serde_json::Value| {
        let mut changed = own.clone();
        changed[key] = value;
        std::fs::write(&path, changed.to_string()).expect("writable");
        let why = Dataset::open(&scratch.0, &plan, "version").expect_err(key).to_string();
        why.strip_prefix(&format!("{}: ", path.display())).expect("its place").to_owned()
    };
    let expected = "; expected another folder, or one without dataset";
    for (key, value, why) in [
        ("format", 7.into(), "the dataset is of another format: 7, and this is 1"),
        ("parts", 7.into(), &*format!("damaged: its parts is 7, and that of its grid is {}", own["parts"])),
        ("title", "other".into(), "damaged: its title is other, and that of its grid is two rates"),
    ] {
        assert_eq!(refused(key, value), format!("{why}{expected}"));
    }
    for (key, value) in [
        ("format", long.clone().into()),
        ("version", long.clone().into()),
        ("grid", long.clone().into()),
        ("parts", vec![1; 50_000].into()),
    ] {
        let why = refused(key, value);
        assert!(why.contains(" characters)") && why.chars().count() < 300, "{} {why}", why.len());
    }
    std::fs::write(&path, format!("{{\"format\": {long}")).expect("writable");
    let why = Dataset::open(&scratch.0, &plan, "version").expect_err("no JSON").to_string();
    assert!(why.contains("not the manifest of a sweep: ") && why.len() < 1000, "{why}");
}
