//! JSON Schema of a format, for editors, made of its tables. It checks one key at a time; the reader checks the rest.
//!
//! Each type that several keys share and each table stand once, under `$defs`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::format::{Absent, Floor, Key, Kind, Section, Type, UNLIMITED};
use crate::limits;
use crate::quantity::{BYTE_UNITS, PACKET_UNITS, RATE_UNITS, TIME_UNITS};

/// The schema of the tables of `sections`, of which the first is the root (draft 2020-12), its keys in alphabetical order.
///
/// # Panics
/// If there is no section.
pub fn schema_of(title: &str, sections: &[&Section]) -> Value {
    schema_with(title, sections, &[], vec![])
}

/// The same; `keys`, which several tables have, and `definitions` stand once, under `$defs`.
///
/// # Panics
/// If there is no section.
pub fn schema_with(
    title: &str,
    sections: &[&Section],
    keys: &[Key],
    definitions: Vec<(String, Value)>,
) -> Value {
    let (root, tables) = sections.split_first().expect("the root");
    let mut schema = table(root, keys);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    let all = all(root, tables, keys, definitions);
    let mut used = Map::new();
    let mut names = references(&schema);
    while let Some(name) = names.pop() {
        if !used.contains_key(&name) {
            names.extend(references(&all[&name]));
            used.insert(name.clone(), all[&name].clone());
        }
    }
    schema["$defs"] = Value::Object(used);
    sorted(schema)
}

/// A schema as the text of a file: an object or array stands on one line where it fits.
pub fn schema_text(schema: &Value) -> String {
    let mut out = String::new();
    print(schema, 0, 0, &mut out);
    out + "\n"
}

/// Names under `$defs` to which a schema refers.
fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(map) => {
            let own = map.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(DEFINITIONS));
            own.map(String::from).into_iter().chain(map.values().flat_map(references)).collect()
        }
        Value::Array(values) => values.iter().flat_map(references).collect(),
        _ => vec![],
    }
}

/// Everything that a schema may refer to by name.
fn all(root: &Section, tables: &[&Section], keys: &[Key], own: Vec<(String, Value)>) -> Value {
    let mut all: Map<_, _> = own.into_iter().collect();
    for section in tables {
        all.insert(table_name(section), table(section, keys));
    }
    for key in keys {
        all.insert(key_name(key), property(key));
    }
    let own = tables.iter().chain([&root]).flat_map(|section| section.keys).map(|key| &key.kind);
    for kind in own.filter(|kind| matches!(kind, Kind::Shared(..))).chain(SHARED) {
        let name = shared_name(kind).expect("every shared kind has a name");
        all.insert(name.into(), definition(kind.bare()));
    }
    Value::Object(all)
}

/// Kinds of values that stand under `$defs`.
const SHARED: &[Kind] = &[
    Kind::Name,
    Kind::Names,
    Kind::Rate,
    Kind::Time(Floor::Zero),
    Kind::Bytes,
    Kind::Amount,
    Kind::AmountOrUnlimited,
];

/// Name under `$defs` of a table: `topology-parking-lot` of `[topology] parking-lot`.
fn table_name(section: &Section) -> String {
    section.name.replace(['[', ']', '(', ')', '`'], "").replace(' ', "-")
}

/// Name under `$defs` of a kind of values. Kinds that the schema cannot distinguish share a name.
fn shared_name(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Name => Some("type-name"),
        Kind::Names => Some("type-names"),
        Kind::Rate => Some("type-rate"),
        Kind::Time(_) | Kind::Delay(_) => Some("type-time"),
        Kind::Bytes => Some("type-size"),
        Kind::Amount => Some("type-amount"),
        Kind::AmountOrUnlimited => Some("type-amount-or-unlimited"),
        Kind::Shared(name, _) => Some(name),
        _ => None,
    }
}

/// Name under `$defs` of a key that several tables have.
fn key_name(key: &Key) -> String {
    format!("key-{}", key.name)
}

fn table(section: &Section, shared: &[Key]) -> Value {
    let required: Vec<_> =
        section.keys.iter().filter(|key| matches!(key.absent, Absent::Refused)).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "description": section.doc,
        "properties": section.keys.iter().map(|key| (key.name.to_string(), member(key, shared))).collect::<Value>(),
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A key of a table: by reference if several tables have it.
fn member(key: &Key, shared: &[Key]) -> Value {
    match shared.iter().find(|shared| shared.name == key.name && shared.doc == key.doc) {
        Some(shared) => refer(&key_name(shared)),
        None => property(key),
    }
}

fn property(key: &Key) -> Value {
    let mut schema = kind(&key.kind);
    schema["description"] = json!(match key.absent {
        Absent::Means(means) if !means.is_empty() => described(key.doc, &means.replace('`', "")),
        _ => key.doc.to_owned(),
    });
    schema
}

/// The text of a key with its default, as a sentence of its own after sentences.
pub fn described(doc: &str, default: &str) -> String {
    if doc.ends_with('.') {
        format!("{doc} Default: {default}.")
    } else {
        format!("{doc}; default: {default}")
    }
}

/// A kind of values: by reference if it stands under `$defs`.
pub fn kind(kind: &Kind) -> Value {
    shared_name(kind).map_or_else(|| definition(kind), refer)
}

/// A kind of values in full.
fn definition(kind: &Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Name => pattern(limits::NAME),
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
        Kind::Amount => quantity(&[BYTE_UNITS, PACKET_UNITS]),
        Kind::AmountOrUnlimited => any([json!({ "const": UNLIMITED }), self::kind(&Kind::Amount)]),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Custom(own) => (own.schema)(),
        Kind::Shared(_, of) => self::kind(of),
        Kind::List(of) => json!({ "type": "array", "items": self::kind(of), "minItems": 1 }),
        Kind::Map(of) => {
            json!({ "type": "object", "additionalProperties": self::kind(of), "minProperties": 1 })
        }
        Kind::Any(types) => {
            let names = types.iter().map(|one| match one {
                Type::Text => "string",
                Type::Number => "number",
                Type::Flag => "boolean",
                Type::Array => "array",
                Type::Table => "object",
            });
            json!({ "type": names.collect::<Vec<_>>() })
        }
        Kind::Pair(of) => json!({ "type": "array", "items": self::kind(of), "minItems": 2, "maxItems": 2 }),
        Kind::Either(plain, table) => any([self::kind(plain), refer(&table_name(table))]),
        Kind::Table(table) => refer(&table_name(table)),
        Kind::Tables(table) => json!({ "type": "array", "items": refer(&table_name(table)) }),
        Kind::Variants(tables) => any(tables.iter().map(|table| refer(&table_name(table)))),
    }
}

/// A reference to a name under `$defs`.
pub fn refer(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}

/// Place of everything that is referred to by name.
const DEFINITIONS: &str = "#/$defs/";

/// Any of these schemas.
pub fn any(of: impl IntoIterator<Item = Value>) -> Value {
    json!({ "anyOf": of.into_iter().collect::<Vec<_>>() })
}

/// A name of at most `most` characters.
pub fn pattern(most: usize) -> Value {
    json!({ "type": "string", "pattern": format!("^[A-Za-z0-9_-]{{1,{most}}}$") })
}

/// A quantity in a unit of these tables.
pub fn quantity(tables: &[&[(&str, u64)]]) -> Value {
    let units: Vec<_> = tables.iter().copied().flatten().map(|(unit, _)| *unit).collect();
    json!({ "type": "string", "pattern": format!(r"^\s*[0-9]+(\.[0-9]+)?\s*({})\s*$", units.join("|")) })
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

/// Longest line of [`schema_text`], where a value can be broken.
const WIDTH: usize = 120;
/// Longest text of a value that may share its line with its neighbours.
const SHORT: usize = 66;

/// Prints `value`, which begins in column `column` of a line indented by `indent`. Short neighbours share a line.
fn print(value: &Value, indent: usize, column: usize, out: &mut String) {
    let line = value.to_string();
    let (open, close, members): (_, _, Vec<(String, &Value)>) = match value {
        Value::Object(map) if column + line.len() > WIDTH => {
            ('{', '}', map.iter().map(|(key, value)| (json!(key).to_string() + ": ", value)).collect())
        }
        Value::Array(values) if column + line.len() > WIDTH => {
            ('[', ']', values.iter().map(|value| (String::new(), value)).collect())
        }
        _ => {
            *out += &line;
            return;
        }
    };
    let inside = indent + 2;
    let mut column = WIDTH;
    let mut after_short = false;
    out.push(open);
    for (at, (key, value)) in members.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let length = value.to_string().len();
        let (width, short) = (2 + key.len() + length, length <= SHORT);
        if after_short && short && column + width < WIDTH {
            out.push(' ');
            column += width;
        } else {
            *out += &format!("\n{:inside$}", "");
            column = inside + width;
        }
        *out += key;
        print(value, inside, inside + key.len(), out);
        after_short = short;
    }
    *out += &format!("\n{:indent$}{close}", "");
}
