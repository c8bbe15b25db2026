//! Keys of a scenario, set and removed by path.

use firstflight_document::nearest;
use toml::{Table, Value};

use super::{Error, wrong};

/// Sets a key: `path.rate`, `flow.<name>.startup`, `topology.cross.start`.
///
/// # Errors
/// If the scenario has no such table or group.
pub(super) fn set(document: &mut Table, path: &str, value: &Value) -> Result<(), Error> {
    let (table, key) = owner(document, path)?;
    table.insert(key.into(), value.clone());
    Ok(())
}

/// Removes a key or a group: `flow.<name>.lifetime`, `udp.<name>`.
///
/// # Errors
/// If the scenario has no such key or group.
pub(super) fn remove(document: &mut Table, path: &str) -> Result<(), Error> {
    let parts: Vec<&str> = path.split('.').collect();
    if let [kind, name] = parts[..]
        && let Some(Value::Array(groups)) = document.get_mut(kind)
    {
        let index = index_of(groups, kind, name)?;
        groups.remove(index);
        return Ok(());
    }
    let (table, key) = owner(document, path)?;
    match table.remove(key) {
        Some(_) => Ok(()),
        None => Err(wrong(path, "the scenario has no such key to remove")
            .near(nearest(key, table.keys().map(String::as_str)))),
    }
}

/// The table that holds the last word of a path, and that word.
fn owner<'a, 'p>(document: &'a mut Table, path: &'p str) -> Result<(&'a mut Table, &'p str), Error> {
    let mut words = path.split('.').peekable();
    let mut table = document;
    loop {
        let word = words.next().expect("split gives at least one word");
        if words.peek().is_none() {
            return Ok((table, word));
        }
        table = match table.get_mut(word) {
            Some(Value::Table(inner)) => inner,
            Some(Value::Array(groups)) => {
                let name = words.next().expect("peeked");
                let index = index_of(groups, word, name)?;
                match &mut groups[index] {
                    Value::Table(group) if words.peek().is_some() => group,
                    _ => return Err(wrong(path, "a group").expecting(format!("{path}.<key>"))),
                }
            }
            _ => return Err(wrong(path, format!("the scenario has no table \"{word}\""))),
        };
    }
}

/// Index of the group `name` in `[[kind]]`. A group without a name is called by its kind and index: `flow0`.
fn index_of(groups: &[Value], kind: &str, name: &str) -> Result<usize, Error> {
    let name_of = |(i, group): (usize, &Value)| {
        group.get("name").and_then(Value::as_str).map_or_else(|| format!("{kind}{i}"), Into::into)
    };
    let names: Vec<String> = groups.iter().enumerate().map(name_of).collect();
    names.iter().position(|known| known == name).ok_or_else(|| {
        wrong(format!("{kind}.{name}"), "no such group")
            .expecting(names.join(", "))
            .near(nearest(name, names.iter().map(String::as_str)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Table {
        "[path]\nrate = \"1 Mbit/s\"\n[[flow]]\nname = \"bulk\"\nsize = \"3 packets\"\n[[flow]]\nstartup = \"js\"\n"
            .parse()
            .expect("TOML")
    }

    #[test]
    fn keys_of_tables_and_of_named_groups_are_set() {
        let mut document = scenario();
        set(&mut document, "path.rate", &Value::from("2 Mbit/s")).expect("there");
        set(&mut document, "flow.bulk.startup", &Value::from("hoe")).expect("there");
        set(&mut document, "flow.flow1.size", &Value::from("9 packets")).expect("named by its index");
        set(&mut document, "duration", &Value::from("9 s")).expect("at the top");
        let text = document.to_string();
        for part in ["rate = \"2 Mbit/s\"", "startup = \"hoe\"", "size = \"9 packets\"", "duration = \"9 s\""]
        {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn keys_and_groups_are_removed() {
        let mut document = scenario();
        remove(&mut document, "flow.bulk.size").expect("there");
        remove(&mut document, "flow.flow1").expect("there");
        let text = document.to_string();
        assert!(!text.contains("size") && !text.contains("js") && text.contains("bulk"), "{text}");
    }

    #[test]
    fn an_unknown_path_is_refused_with_the_known_names() {
        let mut document = scenario();
        let value = Value::from("1 packets");
        let error = set(&mut document, "flow.bulq.size", &value).expect_err("no such group");
        assert_eq!(
            error.to_string(),
            "flow.bulq: no such group; expected bulk, flow1; did you mean \"bulk\"?"
        );
        let error = set(&mut document, "flow.bulk", &value).expect_err("a group is not a key");
        assert_eq!(error.to_string(), "flow.bulk: a group; expected flow.bulk.<key>");
        assert!(set(&mut document, "topology.kind", &value).is_err());
        let error = remove(&mut document, "path.rats").expect_err("no such key");
        assert!(error.to_string().ends_with("did you mean \"rate\"?"), "{error}");
    }
}
