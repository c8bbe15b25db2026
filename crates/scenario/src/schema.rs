//! JSON Schema of the format, for editors: generated from [`crate::format`] and the registry of schemes. Other files in the notation
//! of scenarios have theirs from their own tables.
//!
//! The schema checks one key at a time. The reader checks the rest: names that must exist, windows below one packet,
//! a network that is described twice.
//!
//! Each type that several keys share, each table and each scheme's parameters stand once, under `$defs`.

use std::collections::BTreeMap;

use firstflight_contract::Role;
use firstflight_schemes::registry::SCHEMES;
use firstflight_schemes::scheme::{Info, ParamKind};
use serde_json::{Map, Value, json};

use crate::format::{
    Absent, EAGER, Floor, Key, Kind, QUEUE, QUEUE_KIND, SECTIONS, STACK, Section, Type, UNLIMITED,
};
use crate::limits;
use crate::profile::InitialWindow;
use crate::quantity::{BDP_UNITS, BYTE_UNITS, PACKET_UNITS, RATE_UNITS, TIME_UNITS};

/// The schema of a scenario (draft 2020-12), its keys in alphabetical order.
pub fn schema() -> Value {
    schema_of("Firstflight scenario", SECTIONS)
}

/// The schema of another file: the tables of `sections`, of which the first is its root.
///
/// # Panics
/// If there is no section.
pub fn schema_of(title: &str, sections: &[&Section]) -> Value {
    let (root, tables) = sections.split_first().expect("the root");
    let mut schema = table(root);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    let all = definitions(tables);
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
fn definitions(tables: &[&Section]) -> Value {
    let mut all = Map::new();
    for section in tables {
        all.insert(table_name(section), table(section));
    }
    for key in STACK {
        all.insert(stack_name(key), property(key));
    }
    for kind in SHARED {
        let name = shared_name(kind).expect("every shared kind has a name");
        all.insert(name.into(), definition(kind));
    }
    for info in SCHEMES {
        all.insert(scheme_name(info), parameters(info));
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
    Kind::Buffer,
    Kind::Startup,
    Kind::Avoidance,
    QUEUE_KIND,
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
        Kind::Amount | Kind::LinkBuffer => Some("type-amount"),
        Kind::AmountOrUnlimited => Some("type-amount-or-unlimited"),
        Kind::Buffer | Kind::Threshold => Some("type-buffer"),
        Kind::Startup => Some("type-startup"),
        Kind::Avoidance => Some("type-avoidance"),
        Kind::Either(_, section) if section.name == QUEUE.name => Some("type-queue"),
        _ => None,
    }
}

/// Name under `$defs` of a key that every source of TCP traffic has.
fn stack_name(key: &Key) -> String {
    format!("key-{}", key.name)
}

/// Name under `$defs` of a scheme's table. A label may have a scheme in each role.
fn scheme_name(info: &Info) -> String {
    format!("{}-{}", info.role.label(), info.label)
}

fn table(section: &Section) -> Value {
    let required: Vec<_> =
        section.keys.iter().filter(|key| matches!(key.absent, Absent::Refused)).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "description": section.doc,
        "properties": section.keys.iter().map(|key| (key.name.to_string(), member(key))).collect::<Value>(),
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A key of a table: by reference if every source of TCP traffic has it.
fn member(key: &Key) -> Value {
    match STACK.iter().find(|shared| shared.name == key.name && shared.doc == key.doc) {
        Some(shared) => refer(&stack_name(shared)),
        None => property(key),
    }
}

fn property(key: &Key) -> Value {
    let mut schema = kind(&key.kind);
    schema["description"] = json!(match key.absent {
        Absent::Means(means) if !means.is_empty() => described(key.doc, &means.replace('`', "")),
        Absent::Profile => described(key.doc, "that of the profile"),
        _ => key.doc.to_owned(),
    });
    schema
}

/// The text of a key with its default, as a sentence of its own after sentences.
fn described(doc: &str, default: &str) -> String {
    if doc.ends_with('.') {
        format!("{doc} Default: {default}.")
    } else {
        format!("{doc}; default: {default}")
    }
}

/// A kind of values: by reference if it stands under `$defs`.
fn kind(kind: &Kind) -> Value {
    shared_name(kind).map_or_else(|| definition(kind), refer)
}

/// A kind of values in full.
fn definition(kind: &Kind) -> Value {
    match kind {
        Kind::Text | Kind::File => json!({ "type": "string" }),
        Kind::Name | Kind::LinkName => {
            let most = if matches!(kind, Kind::Name) { limits::NAME } else { limits::LINK_NAME };
            json!({ "type": "string", "pattern": format!("^[A-Za-z0-9_-]{{1,{most}}}$") })
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
fn refer(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}

/// Place of everything that is referred to by name.
const DEFINITIONS: &str = "#/$defs/";

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
        .chain(schemes().map(|info| refer(&scheme_name(info)))));
    any([one.clone(), json!({ "type": "array", "items": one })])
}

/// The table of a scheme with its parameters.
fn parameters(info: &Info) -> Value {
    let mut properties = serde_json::Map::new();
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
