//! Objects in the simulator.

use firstflight::Input;
use firstflight::scheme::Schemes;
use firstflight::{Profile, compare};
use firstflight_bpf::KernelScheme;

fn reno() -> KernelScheme {
    let object = include_bytes!("objects/reno.bpf.o");
    let mut all = firstflight_bpf::read(object).expect("the object is complete");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn try_it() {
    let scheme = reno();
    let schemes = Schemes::built_in().with(scheme.clone()).expect("a new label");
    let path = std::env::args().nth(9);
    let _ = path;
    for preset in ["dsl", "cable", "lte", "geo-satellite"] {
        let report = compare(Input::preset(preset).unwrap())
            .catalogue(schemes.clone())
            .schemes(["bpf-test-reno", "slow-start+reno"])
            .unwrap()
            .sizes(["30 KB", "1 MB", "10 MB"])
            .unwrap()
            .replications(3)
            .execute()
            .unwrap();
        for row in report.comparison.results {
            eprintln!(
                "{preset} {} {} {:?} {:?}",
                row.scheme,
                row.size_bytes,
                row.completion_s.map(|c| c.median),
                row.drops.mean
            );
        }
    }
    assert_eq!(scheme.stopped(), None);
    let _ = Profile::Linux;
}
