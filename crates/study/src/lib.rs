//! Experiments: scenarios run many times, compared, and the results they leave.

pub mod results;
