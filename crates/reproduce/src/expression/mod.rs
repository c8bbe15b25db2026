//! Expressions over what was measured: `sum(fig5.total[JS]) / sum(fig5.total[Reno])`.

mod evaluate;
mod parse;

pub(crate) use evaluate::find;
pub use evaluate::{Reading, Source};
pub use parse::parse;

/// An expression, read.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// `experiment.metric[labels]`.
    Reference {
        /// The experiment.
        experiment: String,
        /// Its metric.
        metric: String,
        /// Axes that are fixed.
        labels: Vec<Label>,
    },
    /// One minus sign.
    Negative(Box<Expression>),
    /// Two operands.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// A function of an array, over all its axes or over one.
    Call {
        /// Which.
        function: Function,
        /// Of what.
        argument: Box<Expression>,
        /// Over which axis; all of them without it.
        axis: Option<String>,
    },
}

/// A point of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The axis, where it is named.
    pub axis: Option<String>,
    /// The point's name, or a number for the point nearest to it.
    pub point: String,
}

impl Label {
    /// From `point`, or `axis=point`.
    pub(crate) fn read(text: &str) -> Self {
        match text.split_once('=') {
            Some((axis, point)) => Self { axis: Some(axis.trim().into()), point: point.trim().into() },
            None => Self { axis: None, point: text.into() },
        }
    }
}

/// What two operands are put together by.
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

/// What can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named as it is written")]
pub enum Function {
    Sum,
    Mean,
    Min,
    Max,
    First,
    Last,
    Rising,
    Falling,
    Log2,
    Ln,
    Sqrt,
    Floor,
    Ceil,
    Abs,
}

impl Function {
    /// Every function with its name.
    pub const ALL: [(&'static str, Self); 14] = [
        ("sum", Self::Sum),
        ("mean", Self::Mean),
        ("min", Self::Min),
        ("max", Self::Max),
        ("first", Self::First),
        ("last", Self::Last),
        ("rising", Self::Rising),
        ("falling", Self::Falling),
        ("log2", Self::Log2),
        ("ln", Self::Ln),
        ("sqrt", Self::Sqrt),
        ("floor", Self::Floor),
        ("ceil", Self::Ceil),
        ("abs", Self::Abs),
    ];
}

/// How the sides of a comparison stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `>`
    Above,
    /// `<`
    Below,
    /// `~`
    Near,
}

/// An expression, or several compared in a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The first.
    pub first: Expression,
    /// The others, each with how the one before stands to it.
    pub then: Vec<(Relation, Expression)>,
}

impl Chain {
    /// Every expression, from left to right.
    pub fn sides(&self) -> impl Iterator<Item = &Expression> {
        std::iter::once(&self.first).chain(self.then.iter().map(|(_, side)| side))
    }

    /// The experiments it speaks of, each once for every mention.
    pub fn experiments(&self) -> Vec<&str> {
        let mut names = vec![];
        self.sides().for_each(|side| side.experiments(&mut names));
        names
    }
}

impl Expression {
    fn experiments<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Reference { experiment, .. } => names.push(experiment),
            Self::Negative(of) | Self::Call { argument: of, .. } => of.experiments(names),
            Self::Binary(_, a, b) => {
                a.experiments(names);
                b.experiments(names);
            }
        }
    }
}
