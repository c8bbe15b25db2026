//! The scheme that a stack has now.

use firstflight_scenario::{Profile, SchemeSpec};

/// The scheme that is the default of a stack.
pub fn present(profile: Profile) -> SchemeSpec {
    let stack = profile.stack();
    if let Some(whole) = stack.whole {
        return SchemeSpec::parse(whole).expect("profiles have schemes");
    }
    let chain = format!("{}+{}", stack.startup_before(stack.avoidance), stack.avoidance);
    SchemeSpec::parse(&chain).expect("profiles have chains")
}
