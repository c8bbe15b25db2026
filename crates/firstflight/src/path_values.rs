//! Values of a path that a user gives as texts, alone or beside an input.

use firstflight_compare::{Input, Known};
use firstflight_contract::Rate;
use firstflight_document::quantity::{Depth, parse_depth, show_bytes, show_rate, show_time};
use firstflight_document::{Error, quoted};
use firstflight_scenario::build::Path;
use firstflight_scenario::{Limit, Network, Scenario};

/// Values of a path as texts: all of them describe a path; beside a capture or a preset they replace its values.
///
/// The errors name the value by its key, `rate`, `rtt`, `buffer` or `loss`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathValues {
    /// Bottleneck rate: `40 Mbit/s`.
    pub rate: Option<String>,
    /// Round-trip time without queueing: `100 ms`.
    pub rtt: Option<String>,
    /// Bottleneck buffer: `500 packets`, `250 KB`, `1 BDP`.
    pub buffer: Option<String>,
    /// Probability of random loss for each packet: `0.001`, `0.1%`.
    pub loss: Option<String>,
}

impl PathValues {
    /// The values that are given, by key.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let values =
            [("rate", &self.rate), ("rtt", &self.rtt), ("buffer", &self.buffer), ("loss", &self.loss)];
        values.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    /// The path that the values describe completely.
    ///
    /// # Errors
    /// [`Error`] if a value is no quantity, or the rate, the RTT or the buffer is missing.
    pub fn path(&self) -> Result<Known, Error> {
        self.read(self.rate.as_deref(), self.rtt.as_deref(), self.buffer.as_deref())
    }

    /// The values that replace those inferred from a capture.
    ///
    /// # Errors
    /// [`Error`] if a value is no quantity, or the buffer is in BDP without a rate and an RTT.
    pub fn known(&self) -> Result<Known, Error> {
        if let (Some(text), true) = (&self.buffer, self.rate.is_none() || self.rtt.is_none())
            && let Ok(Depth::Bdp(_)) = parse_depth(text)
        {
            return Err(Error::invalid("a buffer in BDP needs a rate and an RTT beside it")
                .at_key("buffer")
                .with_value(quoted(text))
                .expecting("packets or bytes, such as \"500 packets\""));
        }
        // The scenario reader needs a complete path. Values that were not given are discarded below.
        let path = self.read(
            self.rate.as_deref().or(Some("1 Gbit/s")),
            self.rtt.as_deref().or(Some("100 ms")),
            self.buffer.as_deref().or(Some("1 BDP")),
        )?;
        Ok(Known {
            rate: path.rate.filter(|_| self.rate.is_some()),
            rtt: path.rtt.filter(|_| self.rtt.is_some()),
            buffer: path.buffer.filter(|_| self.buffer.is_some()),
            loss: path.loss.filter(|_| self.loss.is_some()),
        })
    }

    /// `input` with the values: they replace those of a preset, which the title then names. A scenario defines its path itself;
    /// a capture has its values already, from [`PathValues::known`].
    ///
    /// # Errors
    /// [`Error`] if a value is no quantity, or the input is a scenario and a value is given.
    pub fn change(&self, input: Input) -> Result<Input, Error> {
        let Some((first, value)) = self.given().next() else { return Ok(input) };
        match input {
            Input::Preset(preset) => {
                let mut loaded = preset.load();
                let Network::Dumbbell(path) = &mut loaded.scenario.network else {
                    unreachable!("presets are paths")
                };
                let (rate, rtt) = (show_rate(path.rate), show_time(path.rtt));
                let buffer = match path.buffer {
                    Limit::Packets(packets) => format!("{packets} packets"),
                    Limit::Bytes(bytes) => show_bytes(bytes),
                };
                let known = self.read(
                    self.rate.as_deref().or(Some(&rate)),
                    self.rtt.as_deref().or(Some(&rtt)),
                    self.buffer.as_deref().or(Some(&buffer)),
                )?;
                path.rate = known.rate.unwrap_or(path.rate);
                path.rtt = known.rtt.unwrap_or(path.rtt);
                path.buffer = known.buffer.unwrap_or(path.buffer);
                path.loss = known.loss.filter(|_| self.loss.is_some()).unwrap_or(path.loss);
                // The default of the format.
                path.access_rate = path.access_rate.max(Rate(path.rate.0.saturating_mul(10)));
                let given: Vec<_> = self.given().map(|(name, value)| format!("--{name} {value}")).collect();
                loaded.scenario.title += &format!(", with {}", given.join(" "));
                Ok(Input::Scenario(Box::new(loaded)))
            }
            Input::Scenario(_) => Err(Error::invalid("the scenario already defines the path")
                .at_key(first)
                .with_value(quoted(value))
                .expecting(format!("the scenario without {first}"))),
            other => Ok(other),
        }
    }

    fn read(&self, rate: Option<&str>, rtt: Option<&str>, buffer: Option<&str>) -> Result<Known, Error> {
        let path = Path::empty().text("rate", rate).text("rtt", rtt).text("buffer", buffer);
        // A share is a number without unit, or a percentage; another text is refused as such.
        let path = match self.loss.as_deref().map(|text| (text, parse_share(text))) {
            Some((_, Some(share))) => path.loss(share),
            other => path.text("loss", other.map(|(text, _)| text)),
        };
        let built = Scenario::builder().path(path).build().map_err(|error| self.as_percentage(error))?;
        let Network::Dumbbell(path) = built.network else { unreachable!("a path is a dumbbell") };
        Ok(Known {
            rate: Some(path.rate),
            rtt: Some(path.rtt),
            buffer: Some(path.buffer),
            loss: Some(path.loss),
        })
    }

    /// `error`, with the percentage that a loss above one stands for.
    fn as_percentage(&self, error: Error) -> Error {
        let text = self.loss.as_deref().filter(|_| error.place.key.ends_with("loss")).map(str::trim);
        match text.filter(|text| text.parse().is_ok_and(|share: f64| (1.0..100.0).contains(&share))) {
            Some(text) => error.near(Some(&format!("{text}%"))),
            None => error,
        }
    }
}

/// A share: `0.01` or `1%`; `None` for another text.
pub fn parse_share(text: &str) -> Option<f64> {
    match text.trim().strip_suffix('%') {
        Some(percent) => Some(percent.trim_end().parse::<f64>().ok()? / 100.0),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        assert_eq!(
            ["0.01", "1%", "0.5 %", "100%"].map(parse_share),
            [Some(0.01), Some(0.01), Some(0.005), Some(1.0)]
        );
        assert_eq!(["", "%", "one", "1%%"].map(parse_share), [None; 4]);
    }
}
