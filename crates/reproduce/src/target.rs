//! The target list: every number, order and claim of the papers, one line each.

use firstflight_sweep::wrong;

use crate::PaperError;

/// A line of `targets.psv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Stable name: `AS-01`.
    pub id: String,
    /// Key of the paper: `AS`.
    pub paper: String,
    /// Figure, table or section of the paper.
    pub place: String,
    /// Conditions.
    pub scenario: String,
    /// Measured quantity.
    pub metric: String,
    /// Value or statement in the paper.
    pub value: String,
    /// `exact`, `approx`, `claim`, `order`, `qual`, `conflict`, `config` or `n/a`.
    pub kind: String,
}

/// Reads the list.
///
/// # Errors
/// If a line does not have seven fields, or two lines have the same id.
pub fn parse(text: &str, file: &str) -> Result<Vec<Target>, PaperError> {
    let mut targets: Vec<Target> = vec![];
    for (index, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('|').collect();
        let [id, paper, place, scenario, metric, value, kind] = fields[..] else {
            let problem = format!("{} fields", fields.len());
            return Err(wrong(format!("{file}:{}", index + 1), problem).expecting("7"));
        };
        if targets.iter().any(|known| known.id == id) {
            let problem = format!("{id} is listed twice");
            return Err(wrong(format!("{file}:{}", index + 1), problem));
        }
        let [id, paper, place, scenario, metric, value, kind] =
            [id, paper, place, scenario, metric, value, kind].map(str::to_owned);
        targets.push(Target { id, paper, place, scenario, metric, value, kind });
    }
    Ok(targets)
}
