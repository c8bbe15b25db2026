//! Parser of expressions.

use super::{Chain, Expression, Function, Label, Operator, Relation};

/// Parses an expression, or a chain of comparisons.
///
/// # Errors
/// The expected text, and its place.
pub fn parse(text: &str) -> Result<Chain, String> {
    let mut reader = Reader { text, at: 0 };
    let first = reader.sum()?;
    let mut then = vec![];
    while let Some(relation) = reader.relation() {
        then.push((relation, reader.sum()?));
    }
    match reader.peek() {
        None => Ok(Chain { first, then }),
        Some(_) => Err(reader.expected("an operator")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Next character that is not a blank.
    fn peek(&mut self) -> Option<char> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn need(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(self.expected(&format!("\"{wanted}\""))) }
    }

    fn expected(&self, what: &str) -> String {
        let found = self.rest().trim_start();
        let found = if found.is_empty() { "its end" } else { found };
        format!("\"{}\": expected {what} at \"{found}\"", self.text)
    }

    /// The longest word of characters for which `keep` is true.
    fn word(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        self.peek();
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn relation(&mut self) -> Option<Relation> {
        let relation = match self.peek()? {
            '>' => Relation::Above,
            '<' => Relation::Below,
            '~' => Relation::Near,
            _ => return None,
        };
        self.at += 1;
        Some(relation)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.operation(&[('+', Operator::Add), ('-', Operator::Subtract)], Self::product)
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.operation(&[('*', Operator::Multiply), ('/', Operator::Divide)], Self::power)
    }

    fn operation(
        &mut self,
        operators: &[(char, Operator)],
        operand: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = operand(self)?;
        loop {
            let Some(&(_, operator)) = operators.iter().find(|(sign, _)| self.take(*sign)) else {
                return Ok(left);
            };
            left = Expression::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
    }

    /// Binds to the right: 2^3^2 is 2^9.
    fn power(&mut self) -> Result<Expression, String> {
        if self.take('-') {
            return Ok(Expression::Negative(Box::new(self.power()?)));
        }
        let base = self.operand()?;
        if !self.take('^') {
            return Ok(base);
        }
        Ok(Expression::Binary(Operator::Power, Box::new(base), Box::new(self.power()?)))
    }

    fn operand(&mut self) -> Result<Expression, String> {
        match self.peek() {
            Some('(') => {
                self.need('(')?;
                let inner = self.sum()?;
                self.need(')')?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            _ => Err(self.expected("a number, a function or experiment.metric")),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let start = self.at;
        self.word(|c| c.is_ascii_digit() || c == '.');
        let rest = self.rest();
        // 1e-7 is a number, 1e is not.
        if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['-', '+']));
            if exponent[sign..].starts_with(|c: char| c.is_ascii_digit()) {
                self.at += 1 + sign;
                self.word(|c| c.is_ascii_digit());
            }
        }
        let digits = &self.text[start..self.at];
        digits
            .parse()
            .map(Expression::Number)
            .map_err(|_| format!("\"{}\": \"{digits}\" is not a number", self.text))
    }

    fn name(&mut self) -> Result<Expression, String> {
        let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if self.rest().starts_with('.') {
            self.at += 1;
            let metric = self.word(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
            let labels = if self.rest().starts_with('[') { self.labels()? } else { vec![] };
            return Ok(Expression::Reference { experiment: word.into(), metric, labels });
        }
        let Some(&(_, function)) = Function::ALL.iter().find(|(name, _)| *name == word) else {
            let names: Vec<&str> = Function::ALL.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "\"{}\": \"{word}\" is neither experiment.metric nor a function; expected one of: {}",
                self.text,
                names.join(", ")
            ));
        };
        self.need('(')?;
        let argument = Box::new(self.sum()?);
        let axis = match self.take(',') {
            true => Some(self.word(|c| c.is_ascii_alphanumeric() || c == '_').to_owned()),
            false => None,
        };
        self.need(')')?;
        Ok(Expression::Call { function, argument, axis })
    }

    fn labels(&mut self) -> Result<Vec<Label>, String> {
        self.need('[')?;
        let mut labels = vec![];
        loop {
            let mut point = self.label()?;
            let axis = match self.take('=') {
                true => Some(std::mem::replace(&mut point, self.label()?)),
                false => None,
            };
            labels.push(Label { axis, point });
            if !self.take(',') {
                self.need(']')?;
                return Ok(labels);
            }
        }
    }

    fn label(&mut self) -> Result<String, String> {
        for quote in ['\'', '"'] {
            if self.take(quote) {
                let rest = self.rest();
                let end = rest.find(quote).ok_or_else(|| self.expected("a closing quote"))?;
                self.at += end + 1;
                return Ok(rest[..end].into());
            }
        }
        let word = self.word(|c| !matches!(c, ',' | ']' | '=')).trim();
        if word.is_empty() { Err(self.expected("the name of a point")) } else { Ok(word.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Expression {
        let chain = parse(text).expect(text);
        assert!(chain.then.is_empty());
        chain.first
    }

    fn reference(experiment: &str, metric: &str, labels: &[(Option<&str>, &str)]) -> Expression {
        let labels =
            labels.iter().map(|&(axis, point)| Label { axis: axis.map(Into::into), point: point.into() });
        Expression::Reference {
            experiment: experiment.into(),
            metric: metric.into(),
            labels: labels.collect(),
        }
    }

    #[test]
    fn references_take_bare_quoted_and_named_points() {
        assert_eq!(one("fig3-a.five"), reference("fig3-a", "five", &[]));
        assert_eq!(
            one("fig3.five[16 Mbit/s, 'a, b', time=2.5]"),
            reference("fig3", "five", &[(None, "16 Mbit/s"), (None, "a, b"), (Some("time"), "2.5")])
        );
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        let n = |x| Box::new(Expression::Number(x));
        assert_eq!(
            one("1 - 2 * 3 ^ 2"),
            Expression::Binary(
                Operator::Subtract,
                n(1.0),
                Box::new(Expression::Binary(
                    Operator::Multiply,
                    n(2.0),
                    Box::new(Expression::Binary(Operator::Power, n(3.0), n(2.0)))
                ))
            )
        );
        assert_eq!(one("1e-7"), Expression::Number(1e-7));
        // A minus sign after the name of a metric is an operator.
        assert_eq!(
            one("a.b-c.d"),
            Expression::Binary(
                Operator::Subtract,
                Box::new(reference("a", "b", &[])),
                Box::new(reference("c", "d", &[]))
            )
        );
    }

    #[test]
    fn chains_keep_their_relations() {
        let chain = parse("a.m[JS] > a.m[ISS] ~ a.m[LISS]").expect("two relations");
        let relations: Vec<_> = chain.then.iter().map(|(relation, _)| *relation).collect();
        assert_eq!(relations, [Relation::Above, Relation::Near]);
        assert_eq!(chain.experiments(), ["a", "a", "a"]);
    }

    #[test]
    fn errors_name_the_expected_text_and_its_place() {
        for (text, part) in [
            ("1 +", "at \"its end\""),
            ("sum(a.b", "\")\""),
            ("summe(a.b)", "one of: sum"),
            ("a.b[", "name of a point"),
            ("1 2", "an operator at \"2\""),
        ] {
            let message = parse(text).expect_err(text);
            assert!(message.contains(part), "{message}");
        }
    }
}
