//! The window and queue of every scheme of the simulator, each in its scenario from `scenarios/schemes/`.

use std::collections::BTreeMap;

use firstflight_hosts::exhibit::{Exhibit, exhibit, shown, stem, with_scheme};
use firstflight_hosts::run::over_time;
use firstflight_hosts::simulator::Simulator;
use firstflight_report::figure::{BASELINE, scheme};
use firstflight_scenario::SchemeSpec;
use firstflight_schemes::scheme::Info;
use rayon::prelude::*;

use crate::{File, Made, Repository};

/// The picture of every scheme. Schemes with one scenario share the run of the baseline.
pub(crate) fn plots(repository: &Repository) -> Made {
    let mut scenarios: BTreeMap<String, Vec<(&Info, Exhibit)>> = BTreeMap::new();
    for info in shown(&Simulator) {
        let read = |name: &str| repository.text(&format!("scenarios/schemes/{name}")).ok();
        let exhibit = exhibit(read, info).map_err(|error| {
            format!(
                "{}: {error}; if the common scenario does not suit it, add one to scenarios/schemes",
                info.label
            )
        })?;
        scenarios.entry(exhibit.file.clone()).or_default().push((info, exhibit));
    }
    let of = |group: Vec<(&Info, Exhibit)>| -> Made {
        let known = SchemeSpec::parse(BASELINE).expect("registered labels");
        let baseline = over_time(&Simulator, &with_scheme(group[0].1.loaded.clone(), known)?)?;
        let picture = |(info, exhibit): &(&Info, Exhibit)| -> Result<File, firstflight_document::Error> {
            let flow = over_time(&Simulator, &exhibit.loaded)?;
            let beside = (flow.scheme != BASELINE).then_some(&baseline);
            let svg = scheme(&exhibit.loaded.scenario.title, &flow, beside).svg();
            Ok((format!("docs/algorithms/images/{}.svg", stem(info)), svg.into()))
        };
        Ok(group.par_iter().map(picture).collect::<Result<_, _>>()?)
    };
    let made: Vec<Vec<File>> = scenarios.into_values().par_bridge().map(of).collect::<Result<_, _>>()?;
    Ok(made.concat())
}
