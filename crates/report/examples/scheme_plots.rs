//! Draws the window and queue of every scheme of the simulator, each in its scenario from `scenarios/schemes/`, into
//! `docs/algorithms/images/`:
//! `cargo run --release -p firstflight-report --example scheme_plots`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::read_to_string;
use std::path::PathBuf;

use firstflight_hosts::exhibit::{exhibit, shown, stem, with_scheme};
use firstflight_hosts::host::FlowOverTime;
use firstflight_hosts::run::over_time;
use firstflight_hosts::simulator::Simulator;
use firstflight_report::figure::{BASELINE, scheme};
use firstflight_scenario::{Error, SchemeSpec};
use firstflight_schemes::scheme::Info;

/// Path of a folder of the repository.
pub(crate) fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Path of the folder of the pictures.
pub(crate) fn images() -> PathBuf {
    folder("docs/algorithms/images")
}

/// Draws schemes and keeps the runs of the baseline, one for each scenario.
#[derive(Default)]
pub(crate) struct Pictures {
    baselines: BTreeMap<String, FlowOverTime>,
}

impl Pictures {
    /// Picture of a scheme.
    ///
    /// # Errors
    /// If its scenario cannot be read, or needs a feature that the simulator lacks.
    pub(crate) fn svg(&mut self, info: &Info) -> Result<String, Error> {
        let exhibit = exhibit(|name| read_to_string(folder("scenarios/schemes").join(name)).ok(), info)?;
        let flow = over_time(&Simulator, &exhibit.loaded)?;
        let conditions = exhibit.loaded.scenario.title.clone();
        let baseline = if flow.scheme == BASELINE {
            None
        } else {
            let known = match self.baselines.entry(exhibit.file) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let baseline = SchemeSpec::parse(BASELINE).expect("registered labels");
                    unknown.insert(over_time(&Simulator, &with_scheme(exhibit.loaded, baseline)?)?)
                }
            };
            Some(&*known)
        };
        Ok(scheme(&conditions, &flow, baseline).svg())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(images())?;
    let mut pictures = Pictures::default();
    for info in shown(&Simulator) {
        let svg = pictures.svg(info).map_err(|error| format!("{}: {error}", info.label))?;
        let path = images().join(stem(info) + ".svg");
        if read_to_string(&path).is_ok_and(|old| old == svg) {
            continue;
        }
        std::fs::write(&path, &svg)?;
        println!("{}: {} bytes", path.display(), svg.len());
    }
    Ok(())
}
