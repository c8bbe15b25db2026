//! JSON Schema of the format, for editors: generated from [`crate::format`] and the registry of schemes.
//!
//! The reader checks what a schema cannot: names that must exist, windows below one packet, a network that is described twice.

use firstflight_contract::Role;
use firstflight_document::quantity::PACKET_UNITS;
use firstflight_document::schema::{any, described, kind, quantity, refer, schema_with};
use firstflight_schemes::registry::SCHEMES;
use firstflight_schemes::scheme::{Info, ParamKind};
use serde_json::{Map, Value, json};

use crate::format::{Floor, Kind, SECTIONS, STACK};

/// The schema of a scenario (draft 2020-12), its keys in alphabetical order.
pub fn schema() -> Value {
    let schemes = SCHEMES.iter().map(|info| (scheme_name(info), parameters(info))).collect();
    schema_with("Firstflight scenario", SECTIONS, STACK, schemes)
}

/// Name under `$defs` of a scheme's table. A label may have a scheme in each role.
fn scheme_name(info: &Info) -> String {
    format!("{}-{}", info.role.label(), info.label)
}

/// A label, labels joined by `+`, a table with parameters, or an array of these.
pub(crate) fn scheme(roles: &[Role]) -> Value {
    let schemes = || SCHEMES.iter().filter(|info| roles.contains(&info.role));
    let labels: Vec<_> = schemes().map(|info| info.label.replace('+', r"\+")).collect();
    let label = format!("({})", labels.join("|"));
    let one = any([json!({ "type": "string", "pattern": format!(r"^{label}(\+{label})*$") })]
        .into_iter()
        .chain(schemes().map(|info| refer(&scheme_name(info)))));
    any([one.clone(), json!({ "type": "array", "items": one })])
}

/// The table of a scheme with its parameters.
fn parameters(info: &Info) -> Value {
    let mut properties = Map::new();
    properties.insert("kind".into(), json!({ "const": info.label }));
    for param in info.params {
        let mut schema = match param.kind {
            ParamKind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
            ParamKind::Time => kind(&Kind::Time(Floor::Zero)),
            ParamKind::Packets => quantity(&[PACKET_UNITS]),
            ParamKind::Rate => kind(&Kind::Rate),
            ParamKind::Flag => json!({ "type": "boolean" }),
            ParamKind::Choice(words) => json!({ "enum": words }),
        };
        schema["description"] = json!(described(param.doc, param.default));
        properties.insert(param.name.into(), schema);
    }
    json!({ "type": "object", "properties": properties, "required": ["kind"], "additionalProperties": false })
}
