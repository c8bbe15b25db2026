//! Results of other shapes and sizes than the papers expect: pages or one error, never a panic, and no drawing of what is
//! no number.

use std::path::Path;

use firstflight_report::reproduction::{html, pages, picture_of};
use firstflight_reproduce::evidence::Evidence;
use firstflight_reproduce::judge::judge;
use firstflight_reproduce::library::Library;
use firstflight_sweep::{Array, Dimension};

fn published() -> Evidence {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction/results.json");
    let text = std::fs::read_to_string(file).expect("published results");
    serde_json::from_str(&text).expect("results as this program writes them")
}

/// The published results with every array changed, written and read again as `--results` does.
fn changed(change: impl Fn(&mut Array)) -> Result<Evidence, serde_json::Error> {
    let mut evidence = published();
    for paper in evidence.papers.values_mut() {
        for experiment in paper.experiments.values_mut() {
            experiment.metrics.values_mut().for_each(&change);
            experiment.packet_hops = u64::MAX;
        }
    }
    let text = serde_json::to_string(&evidence).expect("texts and numbers");
    serde_json::from_str(&text)
}

fn fill(array: &mut Array, value: impl Fn(usize) -> f64) {
    let length = array.points() * array.samples;
    array.values = (0..length).map(value).collect();
}

#[test]
fn other_shapes_and_sizes_give_pages_or_one_error() {
    type Change = fn(&mut Array);
    let changes: [(&str, Change); 20] = [
        ("nothing", |_| ()),
        ("no value", |array| fill(array, |_| f64::NAN)),
        ("zero", |array| fill(array, |_| 0.0)),
        ("largest", |array| fill(array, |_| 1e100)),
        ("smallest", |array| fill(array, |_| -1e100)),
        ("both", |array| fill(array, |i| if i % 2 == 0 { 1e100 } else { -1e100 })),
        ("both in one order", |array| fill(array, |i| if i % 2 == 0 { 1e-100 } else { 1e100 })),
        ("tiny", |array| fill(array, |_| 5e-324)),
        ("some missing", |array| fill(array, |i| if i % 3 == 0 { f64::NAN } else { i as f64 })),
        ("one sample", |array| *array = array.mean()),
        ("a number", |array| *array = Array::number(1.0)),
        ("no axis of more points", |array| {
            while !array.axes.is_empty() {
                *array = array.fix(0, 0);
            }
        }),
        ("first axis gone", |array| {
            if !array.axes.is_empty() {
                *array = array.fix(0, 0);
            }
        }),
        ("last axis gone", |array| {
            if let Some(last) = array.axes.len().checked_sub(1) {
                *array = array.fix(last, 0);
            }
        }),
        ("one axis more", |array| {
            let axis = Dimension {
                name: "more".into(),
                title: String::new(),
                points: vec!["a".into()],
                x: vec![0.0],
            };
            array.axes.push(axis);
        }),
        ("no points", |array| {
            array.axes.iter_mut().for_each(|axis| {
                axis.points.clear();
                axis.x.clear();
            });
            fill(array, |_| 0.0);
        }),
        ("points of one name", |array| {
            array
                .axes
                .iter_mut()
                .flat_map(|axis| &mut axis.points)
                .for_each(|point| "same".clone_into(point));
        }),
        ("axes in another order", |array| array.axes.reverse()),
        ("far positions", |array| {
            let far = |(i, x): (usize, &mut f64)| *x = if i % 2 == 0 { 1e100 } else { -1e100 };
            array.axes.iter_mut().for_each(|axis| axis.x.iter_mut().enumerate().for_each(far));
        }),
        ("positions in one place", |array| {
            array.axes.iter_mut().flat_map(|axis| &mut axis.x).for_each(|x| *x = -1e-300);
        }),
    ];
    let library = Library::built_in().unwrap_or_else(|error| panic!("{error}"));
    let mut made = 0;
    for (name, change) in changes {
        let evidence = changed(change).unwrap_or_else(|error| panic!("{name}: {error}"));
        let judged = judge(&library, &evidence, "Not run.");
        let mut texts: Vec<String> = judged.iter().filter_map(picture_of).collect();
        match pages(&library, &evidence, &judged) {
            Ok(files) => {
                made += 1;
                texts.push(html(&files));
                texts.extend(files.into_values().filter(|text| text.starts_with("<svg")));
            }
            Err(why) => assert_eq!(why.lines().count(), 1, "{name}: {why}"),
        }
        for text in texts {
            for word in ["NaN", "inf\"", "inf ", "-inf", "Infinity"] {
                assert!(!text.contains(word), "{name}: {word} in {}", &text[..text.len().min(200)]);
            }
        }
    }
    let refused = changed(|array| array.axes.iter_mut().for_each(|axis| "same".clone_into(&mut axis.name)));
    assert!(refused.is_err_and(|error| error.to_string().contains("axis same: given twice")));
    assert!(made >= 8, "only {made} have pages");
}
