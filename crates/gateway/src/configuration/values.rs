//! Every value of a configuration, as `gateway check` shows it.

use firstflight_document::quantity::show_time;
use serde_json::{Value, json};

use super::{Configuration, Metrics, Share, Site, Transfers};
use crate::plan::Limits;
use crate::settings::Settings;

impl Configuration {
    /// The tables in the order of the reference but for `[[override]]`, each with its keys and values in the notation of the file. A value
    /// that is absent and has no default is null, and so is a table of this kind. A password in the address of the store is left out.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        // A new key is named here by the compiler.
        let Self {
            settings,
            limits: Limits { window, ssthresh, lease, holdout },
            orders: _,
            cgroup,
            state,
            socket,
            user,
            read_group,
            admin_group,
            plan_group,
            idle,
            retreat,
            canary,
            transfers: Transfers { apply, ssthresh: of_transfers },
            share,
            site,
            metrics: Metrics { listen, any_host, textfile },
        } = self;
        // The limits have window, threshold and holdout, too; the secret is no key.
        let Settings { mode, policy, bits, split, half_life, samples, hosts, lifetime, hold_down, .. } =
            settings;
        let Settings { freeze, prefixes, false_alarm, .. } = settings;
        let part = |part: fn((u8, u8)) -> u8| split.map(part);
        let mut all = vec![
            (
                "",
                json!({
                    "mode": mode.label(), "policy": policy.label(), "cgroup": cgroup, "state": state, "socket": socket, "user": user,
                    "read_group": read_group, "admin_group": admin_group, "plan_group": plan_group,
                }),
            ),
            (
                "prefixes",
                json!({
                    "v4": bits.0, "v6": bits.1, "split": split.is_some(), "split_v4": part(|part| part.0),
                    "split_v6": part(|part| part.1), "most": prefixes,
                }),
            ),
            ("estimator", json!({ "half_life": show_time(*half_life), "samples": samples, "hosts": hosts })),
            (
                "plan",
                json!({
                    "window": window, "ssthresh": ssthresh, "idle": idle, "retreat": retreat, "lifetime": show_time(*lifetime),
                    "lease": show_time(*lease), "hold_down": show_time(*hold_down), "freeze": show_time(*freeze),
                }),
            ),
            (
                "trial",
                json!({
                    "holdout": f64::from(*holdout) / 10.0, "false_alarm_prefix": false_alarm.0, "false_alarm_host": false_alarm.1,
                }),
            ),
        ];
        let rules = canary.as_ref().map(|(rules, _)| {
            let text = |words: Vec<String>| (!words.is_empty()).then(|| words.join(" "));
            let step = |step: &crate::canary::Step| {
                let share = format!("{} %", f64::from(step.share) / 10.0);
                step.time.map_or(share.clone(), |time| format!("{share} {}", show_time(time.0)))
            };
            json!({
                "ports": text(rules.ports.iter().map(u16::to_string).collect()),
                "cgroups": text(rules.cgroups.clone()),
                "ramp": rules.ramp.iter().map(step).collect::<Vec<_>>().join(", "),
                "retransmissions": rules.retransmissions, "p95": rules.p95, "evidence": rules.evidence,
            })
        });
        all.push(("canary", rules.unwrap_or_default()));
        all.push(("transfers", json!({ "apply": apply, "ssthresh": of_transfers })));
        all.push(("share", share.as_ref().map(shared).unwrap_or_default()));
        all.push(("site", site.as_ref().map(served).unwrap_or_default()));
        let (file, every) = textfile.as_ref().map(|(file, every)| (file, show_time(*every))).unzip();
        all.push((
            "metrics",
            json!({ "listen": listen, "any_host": any_host, "textfile": file, "every": every }),
        ));
        all
    }
}

fn weight(thousandths: u16) -> f64 {
    f64::from(thousandths) / 1000.0
}

fn shared(share: &Share) -> Value {
    let Share { url, key_file, keys, ca_file, host, weight: own, max_age } = share;
    let url = if share.has_password() { "has a password, and is not shown" } else { url.as_str() };
    json!({
        "url": url, "key_file": key_file, "keys": keys, "ca_file": ca_file, "host": host, "weight": weight(*own),
        "max_age": show_time(*max_age),
    })
}

fn served(site: &Site) -> Value {
    let Site { listen, hosts, key_file, weight: own } = site;
    let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
    json!({ "listen": listen, "hosts": hosts.join(" "), "key_file": key_file, "weight": weight(*own) })
}

#[cfg(test)]
mod tests {
    use firstflight_document::format::Kind;

    use super::*;
    use crate::configuration::format::SECTIONS;

    #[test]
    fn every_key_of_every_table_has_its_value() {
        let text = "[canary]\n[share]\nurl = \"redis://user:word@store\"\nkey_file = \"/k\"\nkeys = \"/keys\"\nhost = \"a\"\n\
                    [site]\nlisten = \"10.0.0.1:4646\"\nhosts = \"10.0.0.0/24\"\nkey_file = \"/s\"\n\
                    [metrics]\nlisten = \"127.0.0.1:9475\"\n";
        let values = Configuration::parse(text, "").expect("a configuration").values();
        let sections = SECTIONS.iter().filter(|section| !section.name.contains("[[override]]"));
        assert_eq!(values.len(), sections.clone().count());
        for (section, (name, values)) in sections.zip(&values) {
            assert!(section.name == format!("`[{name}]`") || name.is_empty(), "{} {name}", section.name);
            let tables = |kind: &Kind| matches!(kind, Kind::Table(_) | Kind::Tables(_));
            let keys: Vec<_> =
                section.keys.iter().filter(|key| !tables(&key.kind)).map(|key| key.name).collect();
            let shown = values.as_object().expect("a table");
            for key in &keys {
                assert!(shown.contains_key(*key), "{name}.{key} is missing");
            }
            assert_eq!(keys.len(), shown.len(), "{name}: {values}");
        }
        assert!(!format!("{values:?}").contains("word@"), "{values:?}");
        // 60, 240 and 1440 minutes.
        assert_eq!(values[5].1["ramp"], "1 % 3600 s, 5 % 14400 s, 25 % 86400 s, 100 %");
        assert_eq!((&values[3].1["lease"], &values[4].1["holdout"]), (&json!("10 s"), &json!(5.0)));
    }
}
