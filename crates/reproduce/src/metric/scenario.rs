//! Metrics of a scenario, which is not run.

use firstflight_document::quantity::parse_time;
use firstflight_document::seconds::Seconds;
use firstflight_scenario::{FlowGroup, Limit, Network, Path, Scenario};
use firstflight_schemes::scheme::Value;
use firstflight_sweep::leading_number;

use super::{Measured, Metric, Take};

pub(super) fn measure(metric: &Metric, scenario: &Scenario) -> Result<Measured, String> {
    if let Some(name) = &metric.parameter {
        return parameter(group(metric, scenario)?, name).map(Measured::one);
    }
    let size = f64::from(scenario.packet.size);
    let packets = |bytes: Option<u64>| -> Result<f64, String> {
        let payload = payload(scenario, group(metric, scenario)?);
        Ok(bytes.map_or(f64::INFINITY, |bytes| bytes as f64 / payload))
    };
    Ok(Measured::one(match metric.take.expect("checked when it was read") {
        Take::RateBitSOfPath => rate(scenario)?,
        Take::RttSOfPath => path(scenario)?.rtt.as_secs_f64(),
        Take::BdpPackets => path(scenario)?.bdp() as f64 / size,
        Take::BufferPackets => match path(scenario)?.buffer {
            Limit::Packets(packets) => packets as f64,
            Limit::Bytes(bytes) => bytes as f64 / size,
        },
        Take::DurationS => scenario.duration.map_or(f64::INFINITY, |duration| duration.as_secs_f64()),
        Take::PacketBytes => size,
        Take::PayloadBytes => payload(scenario, group(metric, scenario)?),
        Take::InitialWindowPackets => packets(Some(group(metric, scenario)?.initial_window))?,
        Take::InitialSsthreshPackets => packets(group(metric, scenario)?.initial_ssthresh)?,
        Take::ReceiveWindowPackets => packets(group(metric, scenario)?.receive_window)?,
        Take::FlowsOfGroup => group(metric, scenario)?.count.map_or(f64::INFINITY, f64::from),
        other => return Err(format!("{other:?} is not a metric of scenarios")),
    }))
}

fn path(scenario: &Scenario) -> Result<&Path, String> {
    match &scenario.network {
        Network::Dumbbell(path) => Ok(path),
        Network::Graph(_) => Err("the scenario is a graph, which has no single bottleneck".into()),
    }
}

/// Rate of the bottleneck, bit/s.
pub(super) fn rate(scenario: &Scenario) -> Result<f64, String> {
    Ok(path(scenario)?.rate.0 as f64)
}

fn group<'a>(metric: &Metric, scenario: &'a Scenario) -> Result<&'a FlowGroup, String> {
    let name = metric.flows.as_ref().map_or("", |names| names.first());
    let found = scenario.flows.iter().find(|group| name.is_empty() || group.name == name);
    found.ok_or_else(|| format!("no group of flows \"{name}\""))
}

fn payload(scenario: &Scenario, group: &FlowGroup) -> f64 {
    f64::from(scenario.packet.payload(group.profile))
}

/// Payload bytes of a full packet of a flow, by the flow's name.
pub(super) fn payload_of(scenario: &Scenario, flow: &str) -> f64 {
    let of =
        |group: &&FlowGroup| flow.strip_prefix(group.name.as_str()).is_some_and(|rest| rest.starts_with('.'));
    let group = scenario.flows.iter().filter(of).max_by_key(|group| group.name.len());
    payload(scenario, group.expect("every flow has a group"))
}

/// Parameter of a scheme of the group: the scenario's value, or else the default.
fn parameter(group: &FlowGroup, name: &str) -> Result<f64, String> {
    let mut known = vec![];
    for phase in group.scheme.phases() {
        if let Some(value) = phase.param(name) {
            return number(value);
        }
        for param in phase.build().info().params {
            if param.name == name {
                return written(param.default, name);
            }
            known.push(param.name);
        }
    }
    Err(format!("{} has no parameter \"{name}\"; it has {}", group.scheme.label(), known.join(", ")))
}

fn number(value: Value) -> Result<f64, String> {
    match value {
        Value::Number(number) => Ok(number),
        Value::Time(time) => Ok(time.as_secs_f64()),
        Value::Packets(packets) => Ok(packets as f64),
        Value::Rate(rate) => Ok(rate.0 as f64),
        Value::Flag(on) => Ok(f64::from(u8::from(on))),
        Value::Choice(_) => Err("the parameter is a word and not a number".into()),
    }
}

/// A default, which the registry has as one would write it.
fn written(text: &str, name: &str) -> Result<f64, String> {
    let time = || parse_time(text).ok().map(Seconds::as_secs_f64);
    match text {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        _ => time()
            .or_else(|| leading_number(text))
            .ok_or_else(|| format!("{name} = \"{text}\" is not a number")),
    }
}
