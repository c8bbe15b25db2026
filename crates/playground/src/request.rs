//! A comparison in the words of the page, which are those of the command line.

use firstflight::scheme::Role;
use firstflight::{
    Candidate, Compare, Error, Input, Known, PathValues, Profile, compare, parse_share, present, shell_word,
};
use serde::Deserialize;

/// Fields of the page's form. Exactly one of `preset`, `file` and `path` says where the path comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    preset: Option<String>,
    /// Name of the attached file.
    file: Option<String>,
    path: Option<Given>,
    /// Labels of start-up schemes, each followed by the avoidance scheme unless it rules the whole connection.
    startups: Vec<String>,
    avoidance: String,
    /// Initial windows with which the stack's own scheme is compared, too, packets.
    windows: Vec<u64>,
    /// Whether the initial windows are paced.
    paced: bool,
    /// Further chains, separated by commas.
    others: String,
    /// Sizes, separated by commas.
    sizes: String,
    profile: String,
    runs: u32,
    seed: u64,
    /// Whether the answer is a first one, while a slider moves: few replications, no harm.
    preview: bool,
    /// Candidate paths of each kind in the search for the paths that explain a capture; the command's number without it.
    paths: Option<u32>,
}

/// Values of a path, as texts of the scenario format.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    rate: String,
    rtt: String,
    buffer: String,
    loss: String,
}

/// Replications of a first answer.
const PREVIEW: u32 = 5;
/// Most replications: more would take a browser too long.
const MOST_RUNS: u32 = 1_000;

impl Asked {
    /// The comparison. `attached` are the bytes of the file.
    ///
    /// # Errors
    /// The first field that is wrong, as a sentence.
    pub(crate) fn compare(&self, attached: &[u8]) -> Result<Compare<'static>, String> {
        let profile = Profile::from_word(&self.profile);
        let profile = profile.ok_or_else(|| format!("there is no profile {:?}", self.profile))?;
        if !(1..=MOST_RUNS).contains(&self.runs) {
            return Err(format!("replications: {} is not from 1 to {MOST_RUNS}", self.runs));
        }
        let input = self.input(attached).map_err(text)?;
        let chains = self.chains(profile);
        if chains.is_empty() {
            return Err("no scheme is chosen; expected at least one".into());
        }
        let sizes = listed(&self.sizes);
        if sizes.is_empty() {
            return Err("there is no size; expected sizes such as 30KB, 300KB, 3MB".into());
        }
        let runs = if self.preview { PREVIEW.min(self.runs) } else { self.runs };
        let compare = compare(input)
            .profile(profile)
            .schemes(&chains)
            .and_then(|it| it.sizes(&sizes))
            .map_err(text)?
            .replications(runs)
            .seed(self.seed)
            .harm(!self.preview);
        let compare = match self.paths {
            Some(count) => compare.path_candidates(count),
            None => compare,
        };
        Ok(compare.provenance(self.command(&chains, &sizes, runs), "playground".into()))
    }

    fn input(&self, attached: &[u8]) -> Result<Input, Error> {
        match (&self.preset, &self.file, &self.path) {
            (Some(preset), None, None) => Input::preset(preset),
            (None, Some(name), None) => Input::from_bytes(attached, name),
            (None, None, Some(given)) => given.known().map(Input::Given),
            _ => Err(Error::invalid("expected a preset, a file or a path")),
        }
    }

    /// Labels of all candidates, each once.
    fn chains(&self, profile: Profile) -> Vec<String> {
        let chain = |label: &String| match standalone(label) {
            true => label.clone(),
            false => format!("{label}+{}", self.avoidance),
        };
        let paced = if self.paced { "+paced" } else { "" };
        let own = Candidate::from(present(profile)).label();
        let window = |packets: &u64| format!("{own}@iw{packets}{paced}");
        let mut all: Vec<String> = vec![];
        let asked = self.startups.iter().map(chain).chain(self.windows.iter().map(window));
        for chain in asked.chain(listed(&self.others)) {
            if !all.contains(&chain) {
                all.push(chain);
            }
        }
        all
    }

    /// The command line that makes the same comparison, quoted for a shell.
    fn command(&self, chains: &[String], sizes: &[String], runs: u32) -> String {
        let mut words = vec!["firstflight".to_owned(), "compare".to_owned()];
        words.extend(self.preset.iter().chain(&self.file).map(|word| shell_word(word)));
        if let Some(Given { rate, rtt, buffer, loss }) = &self.path {
            let options = [("rate", rate), ("rtt", rtt), ("buffer", buffer), ("loss", loss)];
            let options = options
                .into_iter()
                .filter(|(name, value)| *name != "loss" || parse_share(value) != Some(0.0));
            words.extend(options.flat_map(|(name, value)| [format!("--{name}"), shell_word(value)]));
        }
        words.extend(["--scheme".into(), shell_word(&chains.join(",")), "--size".into()]);
        // The command's sizes need no space.
        words.push(shell_word(&sizes.join(",").replace(' ', "")));
        if self.profile != Profile::Linux.word() {
            words.extend(["--profile".into(), self.profile.clone()]);
        }
        for (name, value, default) in [("runs", u64::from(runs), 30), ("seed", self.seed, 1)] {
            if value != default {
                words.extend([format!("--{name}"), value.to_string()]);
            }
        }
        words.join(" ")
    }
}

impl Given {
    fn known(&self) -> Result<Known, Error> {
        let given = |text: &str| Some(text.to_owned());
        let [rate, rtt, buffer, loss] =
            [&self.rate, &self.rtt, &self.buffer, &self.loss].map(|text| given(text));
        PathValues { rate, rtt, buffer, loss }.path()
    }
}

/// Whether a scheme rules the whole connection. A label that is not known is refused later, with the nearest name.
fn standalone(label: &str) -> bool {
    firstflight::scheme::SCHEMES.iter().any(|info| info.label == label && info.role == Role::Standalone)
}

/// Parts of a list that commas separate.
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Into::into).collect()
}

fn text(error: Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(more: &str) -> Asked {
        let text = format!(
            r#"{{"startups":["slow-start","bbr"],"avoidance":"cubic","windows":[30],"paced":true,"others":"hoe+reno, hoe+reno",
                "sizes":"30 KB,300KB","profile":"linux","runs":30,"seed":1,"preview":false,{more}}}"#
        );
        serde_json::from_str(&text).expect("fields of the form")
    }

    fn command(asked: &Asked) -> String {
        let compare = asked.compare(&[]).expect("a comparison");
        let report = compare.sizes(["1 KB"]).expect("a size").execute().expect("results");
        report.comparison.provenance.command
    }

    #[test]
    fn the_command_makes_the_same_comparison() {
        assert_eq!(
            command(&asked(r#""preset":"cable""#)),
            "firstflight compare cable --scheme slow-start+cubic,bbr,hystart-linux+cubic@iw30+paced,hoe+reno \
             --size 30KB,300KB"
        );
        let own = r#""path":{"rate":"40 Mbit/s","rtt":"100 ms","buffer":"0.5 BDP","loss":"0.1 %"}"#;
        assert_eq!(
            command(&Asked { runs: 3, seed: 7, windows: vec![], others: String::new(), ..asked(own) }),
            "firstflight compare --rate '40 Mbit/s' --rtt '100 ms' --buffer '0.5 BDP' --loss '0.1 %' \
             --scheme slow-start+cubic,bbr --size 30KB,300KB --runs 3 --seed 7"
        );
    }

    #[test]
    fn a_wrong_field_is_refused_by_its_name() {
        let own = |rate: &str| {
            asked(&format!(r#""path":{{"rate":"{rate}","rtt":"1 ms","buffer":"1 BDP","loss":"0"}}"#))
        };
        let cable = || asked(r#""preset":"cable""#);
        for (wrong, message) in [
            (own("40 mbps"), "path.rate"),
            (asked(r#""preset":"cabel""#), "did you mean \"cable\"?"),
            (asked(r#""preset":"cable","file":"a.pcap""#), "expected a preset, a file or a path"),
            (asked(r#""file":"a.pcap""#), "a.pcap"),
            (Asked { others: "slow-strat+cubic".into(), ..cable() }, "did you mean \"slow-start\"?"),
            (Asked { sizes: "30".into(), ..cable() }, "the unit is missing"),
            (Asked { sizes: " , ".into(), ..cable() }, "there is no size"),
            (Asked { profile: "bsd".into(), ..cable() }, "there is no profile"),
            (Asked { runs: 0, ..cable() }, "replications: 0 is not from 1 to 1000"),
            (
                Asked { startups: vec![], windows: vec![], others: String::new(), ..cable() },
                "no scheme is chosen",
            ),
        ] {
            let why = wrong.compare(&[]).expect_err(message);
            assert!(why.contains(message), "{why}");
        }
    }

    #[test]
    fn a_compressed_capture_is_read_as_the_plain_one() {
        let plain = include_bytes!("../../capture/testdata/p2-reno-30KB.pcap");
        let mut writer = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        let packed =
            std::io::Write::write_all(&mut writer, plain).and_then(|()| writer.finish()).expect("in memory");
        let asked = Asked { paths: Some(1), runs: 1, windows: vec![], ..asked(r#""file":"a.pcap.gz""#) };
        let results = |bytes: &[u8]| {
            let report = asked.compare(bytes).and_then(|it| it.execute().map_err(text)).expect("results");
            report.comparison.results
        };
        assert_eq!(results(&packed), results(plain));
        assert!(!results(plain).is_empty());
    }
}
