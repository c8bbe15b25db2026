//! Values that vary in a sweep, in its runs and in its table: the scheme and the size of the measured transfer, and the columns of the
//! values of factors.

use firstflight_random::Dist;
use firstflight_results::{Column, Kind, Range, SweepRow, Table, Value};
use firstflight_scenario::{Candidate, Network, Scenario, Threshold};

use super::unit::Unit;
use super::{Axis, Error};

/// The column of a key's values. They are numbers with a unit if all values of the key are of one kind, and texts otherwise.
#[derive(Clone, Debug)]
pub struct FactorColumn {
    /// The key: `path.rate`.
    pub key: String,
    /// The column: `path_rate_bit_s`.
    pub column: Column,
    unit: Unit,
}

impl FactorColumn {
    /// The columns of the keys of axes, axis by axis.
    ///
    /// # Errors
    /// If two keys have the same column, or a key has that of a measure.
    ///
    /// # Panics
    /// If an axis has no point.
    pub fn of_axes(axes: &[Axis]) -> Result<Vec<Self>, Error> {
        Self::of(axes.iter().flat_map(units))
    }

    /// The columns of keys with the kinds of their values.
    pub(super) fn of<'a>(keys: impl Iterator<Item = (&'a str, Unit)>) -> Result<Vec<Self>, Error> {
        let mut all: Vec<Self> = vec![];
        let fixed = Table::columns_of::<SweepRow>();
        for (key, unit) in keys {
            let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
            let name = key.chars().map(word).collect::<String>() + unit.suffix();
            if fixed.iter().chain(all.iter().map(|one| &one.column)).any(|column| column.name == name) {
                let problem =
                    format!("the key {key} needs the column {name}, which another key or measure has");
                return Err(Error::invalid(problem));
            }
            let column = Column {
                name,
                kind: if unit == Unit::Word { Kind::Text } else { Kind::Real },
                unit: unit.name(),
                doc: format!("Value of `{key}`."),
                nullable: false,
                range: Range::Any,
            };
            all.push(Self { key: key.into(), unit, column });
        }
        Ok(all)
    }

    /// A value of the key, as the column has it.
    pub fn cell(&self, value: &toml::Value) -> Value {
        match (self.unit, value) {
            (Unit::Word, toml::Value::String(text)) => Value::Text(text.clone()),
            (Unit::Word, other) => Value::Text(other.to_string()),
            (_, value) => Value::Real(Unit::read(value).1),
        }
    }
}

/// The keys of an axis with the kinds of their values.
pub(super) fn units(axis: &Axis) -> impl Iterator<Item = (&str, Unit)> {
    axis.points[0].set.keys().map(|key| {
        let units = axis.points.iter().map(|point| Unit::read(&point.set[key]).0);
        (key.as_str(), units.reduce(Unit::with).expect("an axis has a point"))
    })
}

/// Gives the flow group `flow` of a scenario a scheme and a size; `None` leaves those that it has.
///
/// # Errors
/// If the scheme's threshold is the bandwidth-delay product, and the network is a graph. The key is the scheme's label.
pub fn assign(
    scenario: &mut Scenario,
    flow: usize,
    scheme: Option<&Candidate>,
    size: Option<u64>,
) -> Result<(), Error> {
    if let Some(candidate) = scheme {
        let bdp = match &scenario.network {
            Network::Dumbbell(path) => path.rate.bytes_in(path.rtt) / u64::from(scenario.packet.size),
            Network::Graph(_) if candidate.settings.ssthresh == Some(Threshold::Bdp) => {
                let why =
                    "the bandwidth-delay product is known of a [path] only, and this network is a graph";
                return Err(Error::invalid(why)
                    .at_key(candidate.label())
                    .expecting("packets, such as ssthresh=50"));
            }
            Network::Graph(_) => 1,
        };
        let payload = scenario.packet.payload(scenario.flows[flow].profile);
        candidate.apply(&mut scenario.flows[flow], payload, bdp);
    }
    if let Some(size) = size {
        scenario.flows[flow].size = Some(Dist::Fixed(size));
    }
    Ok(())
}
