//! The JSON Schema of the format, for editors: generated from [`crate::format`] and the registry of schemes.
//!
//! It says all that can be said of one key at a time. What a reader checks beyond that (names that must exist, a
//! window below one packet, two networks at once) is left to it.

use std::collections::BTreeMap;

use firstflight_contract::Role;
use firstflight_schemes::registry::SCHEMES;
use firstflight_schemes::scheme::{Info, ParamKind};
use serde_json::{Value, json};

use crate::format::{Absent, EAGER, Key, Kind, ROOT, SECTIONS, Section, UNLIMITED};
use crate::limits;
use crate::profile::InitialWindow;
use crate::quantity::{BDP_UNITS, BYTE_UNITS, PACKET_UNITS, RATE_UNITS, TIME_UNITS};

/// The schema (draft 2020-12), its keys in alphabetical order.
pub fn schema() -> Value {
    let mut root = table(&ROOT);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Firstflight scenario");
    let inner = SECTIONS.iter().filter(|section| section.name != ROOT.name);
    root["$defs"] = inner.map(|section| (section.name.to_string(), table(section))).collect();
    sorted(root)
}

/// [`schema`] as the text of a file.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

fn table(section: &Section) -> Value {
    let required: Vec<_> =
        section.keys.iter().filter(|key| matches!(key.absent, Absent::Refused)).map(|key| key.name).collect();
    json!({
        "type": "object",
        "description": section.doc,
        "properties": section.keys.iter().map(|key| (key.name.to_string(), property(key))).collect::<Value>(),
        "required": required,
        "additionalProperties": false,
    })
}

fn property(key: &Key) -> Value {
    let mut schema = kind(&key.kind);
    let absent = match key.absent {
        Absent::Means(means) if !means.is_empty() => format!("; default: {}", means.replace('`', "")),
        Absent::Profile => "; default: as the profile has it".into(),
        _ => String::new(),
    };
    schema["description"] = json!(format!("{}{absent}", key.doc));
    schema
}

fn kind(kind: &Kind) -> Value {
    match kind {
        Kind::Text | Kind::File => json!({ "type": "string" }),
        Kind::Name => {
            json!({ "type": "string", "pattern": format!("^[A-Za-z0-9_-]{{1,{}}}$", limits::NAME) })
        }
        Kind::Names => any([
            self::kind(&Kind::Name),
            json!({ "type": "array", "items": self::kind(&Kind::Name), "minItems": 1 }),
        ]),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Count { max } => {
            any([json!({ "const": UNLIMITED }), self::kind(&Kind::Integer { min: 1, max: *max })])
        }
        Kind::Number(range) => {
            let min = if range.min_taken { "minimum" } else { "exclusiveMinimum" };
            let max = if range.max_taken { "maximum" } else { "exclusiveMaximum" };
            json!({ "type": "number", min: range.min, max: range.max })
        }
        Kind::Rate => quantity(&[RATE_UNITS]),
        Kind::Time(_) | Kind::Delay(_) => quantity(&[TIME_UNITS]),
        Kind::Bytes => quantity(&[BYTE_UNITS]),
        Kind::Amount | Kind::LinkBuffer => quantity(&[BYTE_UNITS, PACKET_UNITS]),
        Kind::InitialWindow => {
            let rules: Vec<_> = InitialWindow::RULES.iter().map(|(word, _)| word).collect();
            any([json!({ "enum": rules }), self::kind(&Kind::Amount)])
        }
        Kind::AmountOrUnlimited => any([json!({ "const": UNLIMITED }), self::kind(&Kind::Amount)]),
        Kind::Buffer | Kind::Threshold => quantity(&[BYTE_UNITS, PACKET_UNITS, BDP_UNITS]),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Reads => any([json!({ "const": EAGER }), self::kind(&Kind::Bytes)]),
        Kind::Startup => scheme(&[Role::Startup, Role::Standalone]),
        Kind::Avoidance => scheme(&[Role::Avoidance]),
        Kind::Pair(of) => json!({ "type": "array", "items": self::kind(of), "minItems": 2, "maxItems": 2 }),
        Kind::Either(plain, table) => any([self::kind(plain), refer(table)]),
        Kind::Table(table) => refer(table),
        Kind::Tables(table) => json!({ "type": "array", "items": refer(table) }),
        Kind::Variants(tables) => any(tables.iter().map(|table| refer(table))),
    }
}

fn refer(section: &Section) -> Value {
    // JSON Pointer in a URI fragment: of what section names contain, spaces, brackets and parentheses need care.
    let name: String = section.name.chars().fold(String::new(), |mut out, c| {
        match c {
            ' ' | '[' | ']' => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
        out
    });
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn any(of: impl IntoIterator<Item = Value>) -> Value {
    json!({ "anyOf": of.into_iter().collect::<Vec<_>>() })
}

fn quantity(tables: &[&[(&str, u64)]]) -> Value {
    let units: Vec<_> = tables.iter().copied().flatten().map(|(unit, _)| *unit).collect();
    json!({ "type": "string", "pattern": format!(r"^\s*[0-9]+(\.[0-9]+)?\s*({})\s*$", units.join("|")) })
}

/// A label, labels joined by `+`, a table with parameters, or an array of these.
fn scheme(roles: &[Role]) -> Value {
    let schemes = || SCHEMES.iter().filter(|info| roles.contains(&info.role));
    let labels: Vec<_> = schemes().map(|info| info.label.replace('+', r"\+")).collect();
    let label = format!("({})", labels.join("|"));
    let one = any([json!({ "type": "string", "pattern": format!(r"^{label}(\+{label})*$") })]
        .into_iter()
        .chain(schemes().map(parameters)));
    any([one.clone(), json!({ "type": "array", "items": one })])
}

fn parameters(info: &Info) -> Value {
    let mut properties = serde_json::Map::new();
    properties.insert("kind".into(), json!({ "const": info.label }));
    for param in info.params {
        let mut schema = match param.kind {
            ParamKind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
            ParamKind::Time => quantity(&[TIME_UNITS]),
            ParamKind::Packets => quantity(&[PACKET_UNITS]),
            ParamKind::Rate => quantity(&[RATE_UNITS]),
            ParamKind::Flag => json!({ "type": "boolean" }),
            ParamKind::Choice(words) => json!({ "enum": words }),
        };
        schema["description"] = json!(format!("{}; default: {}", param.doc, param.default));
        properties.insert(param.name.into(), schema);
    }
    json!({ "type": "object", "properties": properties, "required": ["kind"], "additionalProperties": false })
}

/// The same with every object's keys in alphabetical order, whichever map serde_json was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<_, _> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(ordered.into_iter().collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        plain => plain,
    }
}
