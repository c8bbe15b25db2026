//! Values of events in the forms that drafts and stacks have.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

/// Number, also one that is written as a string.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).filter(|number| number.is_finite())
}

pub(super) fn integer(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

pub(super) fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The first of these fields that is an integer.
pub(super) fn field(parts: &[(&Value, &str)]) -> Option<u64> {
    parts.iter().find_map(|(part, name)| part.get(*name).and_then(integer))
}

/// Type of a packet in lower case, without its prefix.
pub(super) fn packet_type(data: &Value) -> String {
    let kind = data.get("header").and_then(|header| header.get("packet_type")).or(data.get("packet_type"));
    kind.and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase()
}

/// Whether a packet is of the space of application data. A log without types has these only.
pub(super) fn is_of_data(data: &Value) -> bool {
    matches!(packet_type(data).as_str(), "1rtt" | "0rtt" | "" | "onertt" | "short")
}

/// Number of a packet.
pub(super) fn packet_number(data: &Value) -> Option<u64> {
    let header = data.get("header").unwrap_or(&Value::Null);
    field(&[(header, "packet_number"), (data, "packet_number")])
}

/// Address of this end (`local`) or of the other, as drafts name it.
pub(super) fn address(data: &Value, local: bool) -> Option<SocketAddr> {
    let end = data.get(if local { "local" } else { "remote" });
    let nested = end.map(|end| any(end, &["address_v4", "address_v6"]).unwrap_or_else(|| end.clone()));
    if let Some(end) = nested {
        return endpoint(&end);
    }
    let [ip, port] = if local { ["src_ip", "src_port"] } else { ["dst_ip", "dst_port"] };
    parse(data.get(ip)?, data.get(port))
}

/// Address of an end as an object.
pub(super) fn endpoint(end: &Value) -> Option<SocketAddr> {
    parse(&any(end, &["ip", "ip_v4", "ip_v6"])?, any(end, &["port", "port_v4", "port_v6"]).as_ref())
}

fn any(value: &Value, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| value.get(name).cloned())
}

fn parse(ip: &Value, port: Option<&Value>) -> Option<SocketAddr> {
    let ip: IpAddr = ip.as_str()?.parse().ok()?;
    let port = port.and_then(integer).and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
    Some(SocketAddr::new(ip, port))
}
