//! The tests of this crate as one program: it is linked once, and its tests share the cores.

mod chromium;
mod fixture;
mod hostile;
mod hostile_reproduction;
mod hostile_traces;
mod page;
mod report;
mod reproduction;
mod scheme_plots;
mod wrong_results;
