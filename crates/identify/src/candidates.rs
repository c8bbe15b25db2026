//! Stacks that a sender may be: a profile with its chain, and the initial window if it is not the profile's.

use firstflight_scenario::{Candidate, Profile};

/// Size of a full packet on a path that shows no other, bytes.
pub(crate) const ETHERNET: u32 = 1500;

/// A stack with its settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sender {
    pub(crate) profile: Profile,
    /// Scheme and settings.
    pub(crate) candidate: Candidate,
    /// Probability before the capture is seen, in parts of that of a stack with its defaults.
    pub(crate) prior: f64,
}

/// Controls of Linux whose starts differ: its default, and the two others that its distributions ship.
const LINUX: [&str; 3] = ["hystart-linux+cubic", "slow-start+reno", "bbr"];
/// Difference of a first flight from the stack's own initial window, as a share, up to which the window is the stack's own.
const WINDOW_APART: f64 = 0.25;
/// Probability of another initial window than the stack's own.
const OTHER_WINDOW: f64 = 0.1;

/// The stacks of this transport protocol. `window` is the initial window that the capture shows, packets: stacks with an option for it may
/// have it.
pub(crate) fn senders(quic: bool, window: Option<u64>) -> Vec<Sender> {
    let profiles = Profile::ALL.iter().copied();
    let tcp = |profile: &Profile| *profile == Profile::Linux;
    let profiles = profiles.filter(|profile| if quic { profile.stack().is_quic() } else { tcp(profile) });
    profiles.flat_map(|profile| of(profile, window)).collect()
}

fn of(profile: Profile, window: Option<u64>) -> Vec<Sender> {
    let stack = profile.stack();
    let own = format!("{}+{}", stack.startup_before(stack.avoidance), stack.avoidance);
    let chains: Vec<&str> = if stack.is_quic() { vec![&own] } else { LINUX.to_vec() };
    let adjustable = !stack.is_quic() || stack.options.initial_window.is_some();
    let full = stack.rules.datagrams.map_or(ETHERNET - stack.header, |datagrams| datagrams.first);
    let usual = stack.initial_window.bytes(full) as f64 / f64::from(full);
    let other = window.filter(|packets| adjustable && (*packets as f64 / usual - 1.0).abs() > WINDOW_APART);
    let other = other.map(|packets| format!("@iw{packets}"));
    let settings = [Some(String::new()), other].into_iter().flatten();
    let both = settings.flat_map(|settings| chains.iter().map(move |chain| format!("{chain}{settings}")));
    let sender = |label: String| {
        let candidate = Candidate::parse(&label).ok()?;
        let prior = if candidate.settings.initial_window.is_some() { OTHER_WINDOW } else { 1.0 };
        Some(Sender { profile, candidate, prior })
    };
    both.filter_map(sender).collect()
}
