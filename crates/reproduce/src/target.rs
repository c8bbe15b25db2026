//! The target list: every number and every order that the papers state, one line each.

use crate::PaperError;

/// A line of `targets.psv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its stable name: `AS-01`.
    pub id: String,
    /// Whose: `AS`.
    pub paper: String,
    /// Figure, table or section.
    pub place: String,
    /// Under which conditions.
    pub scenario: String,
    /// What is measured.
    pub metric: String,
    /// What the paper says of it.
    pub value: String,
    /// `exact`, `approx`, `claim`, `order`, `qual`, `conflict`, `config` or `n/a`.
    pub kind: String,
}

/// Reads the list.
///
/// # Errors
/// If a line has not seven fields, or an id comes twice.
pub fn parse(text: &str, file: &str) -> Result<Vec<Target>, PaperError> {
    let mut targets: Vec<Target> = vec![];
    for (index, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('|').collect();
        let [id, paper, place, scenario, metric, value, kind] = fields[..] else {
            return Err(PaperError::new(
                file,
                format!("line {}: {} fields; expected 7", index + 1, fields.len()),
            ));
        };
        if targets.iter().any(|known| known.id == id) {
            return Err(PaperError::new(file, format!("line {}: {id} comes twice", index + 1)));
        }
        let [id, paper, place, scenario, metric, value, kind] =
            [id, paper, place, scenario, metric, value, kind].map(str::to_owned);
        targets.push(Target { id, paper, place, scenario, metric, value, kind });
    }
    Ok(targets)
}
