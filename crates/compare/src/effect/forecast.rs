//! Forecast of an effect, from the capture before the change.

use firstflight_hosts::host::Host;
use firstflight_hosts::progress::Progress;
use firstflight_results::{Effect, EffectAtSize, SchemeResult};
use firstflight_scenario::{Candidate, Settings};

use super::FIRST_FLIGHT;
use crate::input::Input;
use crate::request::Request;

/// Adds the forecast to an effect, or the reason why there is none: the gain of the first flight seen after the change, on the paths of the
/// capture `before` it. `before` is `None` if the side before the change is no capture.
pub fn forecast(host: &dyn Host, effect: &mut Effect, before: Option<Input>, progress: &dyn Progress) {
    let gains = match (before, window(effect)) {
        (None, _) => Err("the input before the change is no capture, and has no path".into()),
        (_, Err(why)) => Err(why.to_owned()),
        (Some(input), Ok(window)) => gains(host, effect, input, window, progress),
    };
    match gains {
        Ok(gains) => effect.sizes.iter_mut().zip(gains).for_each(|(size, gain)| size.forecast = gain),
        Err(why) => effect.no_forecast = Some(why),
    }
}

/// The first flight after the change, packets, if it is another one.
fn window(effect: &Effect) -> Result<u64, &'static str> {
    let flight = effect.changed.iter().find(|it| it.what == FIRST_FLIGHT);
    match flight {
        _ if effect.sizes.is_empty() => Err("no size has transfers on both sides"),
        Some(flight) => Ok(flight.after.round().max(1.0) as u64),
        None => Err("the first flights do not differ, and a capture shows no other setting"),
    }
}

/// The gain at each size of the effect.
fn gains(
    host: &dyn Host,
    effect: &Effect,
    input: Input,
    window: u64,
    progress: &dyn Progress,
) -> Result<Vec<Option<f64>>, String> {
    let mut request = Request::of(input);
    let own = Candidate::from(request.present());
    let set =
        Candidate { settings: Settings { initial_window: Some(window), ..own.settings }, ..own.clone() };
    let label = set.label();
    request.schemes = vec![own, set];
    request.sizes = effect.sizes.iter().map(|it| it.size_bytes).collect();
    (request.harm, request.seed) = (false, effect.seed);
    let report = crate::compare(host, &request, progress).map_err(|error| error.to_string())?.comparison;
    if let Some(why) = report.no_answer {
        return Err(why);
    }
    let at = |size: &EffectAtSize| {
        let set = |it: &&SchemeResult| it.size_bytes == size.size_bytes && it.scheme == label;
        Some(-report.results.iter().find(set)?.against_present?.relative)
    };
    let gains: Vec<Option<f64>> = effect.sizes.iter().map(at).collect();
    match gains.iter().any(Option::is_some) {
        true => Ok(gains),
        false => Err("no simulated transfer ended".into()),
    }
}
