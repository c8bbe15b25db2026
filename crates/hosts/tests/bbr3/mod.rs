//! The test cases of draft-ietf-ccwg-bbr-06, appendix "BBR Example Test Cases", in the simulator. Each test has the number of its case in
//! the order of the draft.

mod losses;
mod probe;
mod start;
mod watched;
