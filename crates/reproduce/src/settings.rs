//! A scenario with some of its keys set otherwise.

use firstflight_scenario::nearest;
use toml::{Table, Value};

/// Sets a key: `path.rate`, `flow.<name>.startup`, `topology.cross.start`.
///
/// # Errors
/// If there is no such table.
pub(crate) fn set(document: &mut Table, path: &str, value: &Value) -> Result<(), String> {
    let (table, key) = owner(document, path)?;
    table.insert(key.into(), value.clone());
    Ok(())
}

/// Takes away a key, or a group: `flow.<name>.lifetime`, `udp.<name>`.
///
/// # Errors
/// If it is not there.
pub(crate) fn remove(document: &mut Table, path: &str) -> Result<(), String> {
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
        None => Err(format!("{path}: not there to be removed")),
    }
}

/// The table that a path's last word is a key of.
fn owner<'a, 'p>(document: &'a mut Table, path: &'p str) -> Result<(&'a mut Table, &'p str), String> {
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
                let name = words.next().expect("seen");
                let index = index_of(groups, word, name)?;
                match &mut groups[index] {
                    Value::Table(group) if words.peek().is_some() => group,
                    _ => return Err(format!("{path}: a key of the group is missing")),
                }
            }
            _ => return Err(format!("{path}: the scenario has no table \"{word}\"")),
        };
    }
}

/// The group of this name among `[[kind]]`.
fn index_of(groups: &[Value], kind: &str, name: &str) -> Result<usize, String> {
    let names: Vec<String> = groups
        .iter()
        .enumerate()
        .map(|(i, group)| {
            group.get("name").and_then(Value::as_str).map_or_else(|| format!("{kind}{i}"), Into::into)
        })
        .collect();
    names.iter().position(|known| known == name).ok_or_else(|| {
        let hint = nearest(name, names.iter().map(String::as_str))
            .map_or(String::new(), |n| format!("; did you mean \"{n}\"?"));
        format!("{kind}.{name}: there is no such group; there are {}{hint}", names.join(", "))
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
    fn what_is_not_there_is_told_with_what_is() {
        let mut document = scenario();
        let message =
            set(&mut document, "flow.bulq.size", &Value::from("1 packets")).expect_err("no such group");
        assert!(message.contains("bulk, flow1") && message.contains("did you mean \"bulk\""), "{message}");
        assert!(set(&mut document, "topology.kind", &Value::from("x")).is_err());
        assert!(remove(&mut document, "path.rtt").is_err());
    }
}
