//! Expressions over measured values: `sum(fig5.total[JS]) / sum(fig5.total[Reno])`.

mod evaluate;
mod parse;

pub(crate) use evaluate::find;
pub use evaluate::{Reading, Source};
pub use parse::parse;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// `experiment.metric[labels]`.
    Reference {
        /// Name of the experiment.
        experiment: String,
        /// Name of the metric.
        metric: String,
        /// Fixed axes.
        labels: Vec<Label>,
    },
    /// Minus sign.
    Negative(Box<Expression>),
    /// Two operands.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// A function of an array, over all its axes or over one.
    Call {
        /// The function.
        function: Function,
        /// Its argument.
        argument: Box<Expression>,
        /// Axis that is folded; `None` for all axes.
        axis: Option<String>,
    },
}

/// A point of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Name of the axis, if given.
    pub axis: Option<String>,
    /// Name of the point, or a number: the nearest point. With an axis also a range `from..to`, both included: the axis stays
    /// open, with its points in the range.
    pub point: String,
}

impl Label {
    /// Reads `point` or `axis=point`.
    pub(crate) fn read(text: &str) -> Self {
        match text.split_once('=') {
            Some((axis, point)) => Self { axis: Some(axis.trim().into()), point: point.trim().into() },
            None => Self { axis: None, point: text.into() },
        }
    }
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `^`
    Power,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those in expressions")]
pub enum Function {
    Sum,
    Mean,
    Min,
    Max,
    First,
    Last,
    Rising,
    Falling,
    Highest,
    Log2,
    Ln,
    Sqrt,
    Floor,
    Ceil,
    Abs,
}

impl Function {
    /// Functions by name.
    pub const ALL: [(&'static str, Self); 15] = [
        ("sum", Self::Sum),
        ("mean", Self::Mean),
        ("min", Self::Min),
        ("max", Self::Max),
        ("first", Self::First),
        ("last", Self::Last),
        ("rising", Self::Rising),
        ("falling", Self::Falling),
        ("highest", Self::Highest),
        ("log2", Self::Log2),
        ("ln", Self::Ln),
        ("sqrt", Self::Sqrt),
        ("floor", Self::Floor),
        ("ceil", Self::Ceil),
        ("abs", Self::Abs),
    ];
}

/// Relation between the sides of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `>`
    Above,
    /// `<`
    Below,
    /// `~`
    Near,
}

/// An expression, or a chain of comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// First expression.
    pub first: Expression,
    /// Further expressions, each with the relation of the previous one to it.
    pub then: Vec<(Relation, Expression)>,
}

impl Chain {
    /// Every expression, from left to right.
    pub fn sides(&self) -> impl Iterator<Item = &Expression> {
        std::iter::once(&self.first).chain(self.then.iter().map(|(_, side)| side))
    }

    /// Names of the experiments, one per reference.
    pub fn experiments(&self) -> Vec<&str> {
        self.references().into_iter().map(|(experiment, _)| experiment).collect()
    }

    /// Experiment and fixed axes of every reference.
    pub fn references(&self) -> Vec<(&str, &[Label])> {
        let mut all = vec![];
        self.sides().for_each(|side| side.references(&mut all));
        all
    }
}

impl Expression {
    /// Whether the expression has a metric for which `is_so` of its experiment and its name holds.
    pub(crate) fn has_metric(&self, is_so: &dyn Fn(&str, &str) -> bool) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Reference { experiment, metric, .. } => is_so(experiment, metric),
            Self::Negative(of) | Self::Call { argument: of, .. } => of.has_metric(is_so),
            Self::Binary(_, a, b) => a.has_metric(is_so) || b.has_metric(is_so),
        }
    }

    fn references<'a>(&'a self, all: &mut Vec<(&'a str, &'a [Label])>) {
        match self {
            Self::Number(_) => {}
            Self::Reference { experiment, labels, .. } => all.push((experiment, labels)),
            Self::Negative(of) | Self::Call { argument: of, .. } => of.references(all),
            Self::Binary(_, a, b) => {
                a.references(all);
                b.references(all);
            }
        }
    }
}
