//! The figure of a scheme's page in the documentation, on the path of the page or on another one.

use firstflight::exhibit::{Exhibit, exhibit, shown, stem, with_scheme};
use firstflight::quantity::{show_rate, show_time};
use firstflight::scheme::{Info, Nanos, Rate};
use firstflight::sweep::{Axis, Sweep};
use firstflight::{Error, Limit, Network, SchemeSpec, Simulator, over_time};
use firstflight_report::figure::{BASELINE, scheme};
use include_dir::{Dir, include_dir};
use serde::{Deserialize, Serialize};

use crate::offer::show_limit;

/// The scenarios of the figures.
static SCENARIOS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../scenarios/schemes");

/// Changes of the path. The default changes nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Changes {
    /// Factor of the bottleneck's rate.
    rate: Option<f64>,
    /// Factor of the round-trip time.
    rtt: Option<f64>,
    /// Factor of the buffer that the scenario has at this rate and round-trip time.
    buffer: Option<f64>,
    /// Share of packets that are lost at random.
    loss: Option<f64>,
}

/// A figure, and its path as texts with units.
#[derive(Debug, Serialize)]
pub(crate) struct Shown {
    svg: String,
    rate: String,
    rtt: String,
    buffer: String,
    loss: String,
}

/// The figure of the scheme whose picture has this name without `.svg`.
///
/// # Errors
/// If there is no such scheme, or the changed path is no path.
pub(crate) fn figure(name: &str, changes: &Changes) -> Result<Shown, Error> {
    let all: Vec<&Info> = shown(&Simulator).collect();
    let info = all.iter().find(|info| stem(info) == name);
    let info = info.ok_or_else(|| Error::unknown_name("scheme", name, all.iter().map(|info| info.label)))?;
    let mut keys: Vec<(&str, String)> = vec![];
    let of = |value: u64, factor: f64| rounded(value as f64 * factor);
    let (rate, rtt, ..) = path(&on_path(info, &keys)?);
    if let Some(factor) = changes.rate {
        keys.push(("path.rate", show_rate(Rate(of(rate.0, factor)))));
    }
    if let Some(factor) = changes.rtt {
        keys.push(("path.rtt", show_time(Nanos(of(rtt.0, factor)))));
    }
    if let Some(factor) = changes.buffer {
        let (.., buffer, _) = path(&on_path(info, &keys)?);
        let buffer = match buffer {
            Limit::Packets(packets) => Limit::Packets(of(packets, factor)),
            Limit::Bytes(bytes) => Limit::Bytes(of(bytes, factor)),
        };
        keys.push(("path.buffer", show_limit(buffer)));
    }
    if let Some(loss) = changes.loss {
        keys.push(("path.loss", loss.to_string()));
    }
    let exhibit = on_path(info, &keys)?;
    let (rate, rtt, buffer, loss) = path(&exhibit);
    let (rate, rtt, buffer) = (show_rate(rate), show_time(rtt), show_limit(buffer));
    let loss = format!("{:.2} %", 100.0 * loss);
    let loaded = exhibit.loaded;
    let conditions = match keys.is_empty() {
        true => loaded.scenario.title.clone(),
        false => format!("{rate}, {rtt}, buffer {buffer}, random loss {loss}"),
    };
    let flow = over_time(&Simulator, &loaded)?;
    let baseline = match flow.scheme == BASELINE {
        true => None,
        false => {
            let baseline = SchemeSpec::parse(BASELINE).expect("registered labels");
            Some(over_time(&Simulator, &with_scheme(loaded, baseline)?)?)
        }
    };
    let svg = scheme(&conditions, &flow, baseline.as_ref()).svg();
    Ok(Shown { svg, rate, rtt, buffer, loss })
}

/// Rate, round-trip time, buffer and random loss of the path.
fn path(exhibit: &Exhibit) -> (Rate, Nanos, Limit, f64) {
    match &exhibit.loaded.scenario.network {
        Network::Dumbbell(path) => (path.rate, path.rtt, path.buffer, path.loss),
        Network::Graph(_) => unreachable!("every figure has a path"),
    }
}

/// The scheme in its scenario with other values of some keys.
fn on_path(info: &Info, keys: &[(&str, String)]) -> Result<Exhibit, Error> {
    let text = |name: &str| {
        let text = SCENARIOS.get_file(name)?.contents_utf8().expect("scenarios are text");
        if keys.is_empty() {
            return Some(text.into());
        }
        let sweep = Sweep::new(text, name).expect("the scenarios of figures are read by a test");
        let sweep =
            keys.iter().fold(sweep, |sweep, (key, value)| sweep.crossed(Axis::of(key, [value.as_str()])));
        let document = sweep.documents().expect("figures have paths").remove(0);
        Some(document.table.to_string())
    };
    exhibit(text, info)
}

/// Three significant digits, at least 1.
fn rounded(value: f64) -> u64 {
    let whole = value.round() as u64;
    let mut unit = 1;
    while whole / unit >= 1000 {
        unit *= 10;
    }
    (whole.saturating_add(unit / 2) / unit * unit).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_to_three_digits() {
        for (value, digits) in
            [(0.2, 1), (1.4, 1), (999.4, 999), (12_345.0, 12_300), (7_071_067.8, 7_070_000)]
        {
            assert_eq!(rounded(value), digits, "{value}");
        }
    }

    #[test]
    fn the_path_of_the_page_gives_the_picture_of_the_page() {
        let images = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/algorithms/images");
        for name in ["slow-start", "xcp", "congestion-manager", "cached"] {
            let picture = std::fs::read_to_string(format!("{images}/{name}.svg")).expect("a picture");
            let shown = figure(name, &Changes::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(shown.svg == picture, "{name}");
        }
    }

    #[test]
    fn every_scheme_can_be_shown_at_the_ends_of_the_sliders() {
        for (factor, loss) in [(0.25, 0.02), (4.0, 0.0)] {
            for info in shown(&Simulator) {
                let factor = Some(factor);
                let changes = Changes { rate: factor, rtt: factor, buffer: factor, loss: Some(loss) };
                let shown =
                    figure(&stem(info), &changes).unwrap_or_else(|error| panic!("{}: {error}", info.label));
                assert!(shown.svg.contains(&shown.rate) && shown.svg.contains(&shown.rtt), "{}", info.label);
            }
        }
    }

    #[test]
    fn a_buffer_in_bdp_follows_the_path_and_is_then_multiplied() {
        let changes = Changes { rate: Some(2.0), buffer: Some(0.5), ..Changes::default() };
        // startup.toml: 20 Mbit/s, 100 ms, a buffer of 1 BDP: 333 packets of 1500 bytes at 40 Mbit/s, of which the half is 167.
        let shown = figure("slow-start", &changes).expect("a path");
        assert_eq!([shown.rate, shown.rtt, shown.buffer], ["40 Mbit/s", "100 ms", "167 packets"]);
        let error = figure("slow-strat", &Changes::default()).expect_err("no scheme").to_string();
        assert!(error.contains("did you mean \"slow-start\"?"), "{error}");
    }
}
