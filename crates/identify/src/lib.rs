//! The stack that a captured sender runs, by how it starts.
//!
//! Every stack that has a profile transfers the captured sizes on the path that the capture shows, in the simulator. What leaves the simulated
//! sender is compared with what left the captured one: the times at which so many bytes had left, and the sizes of the datagrams. A captured sender
//! that resembles none of them is of no stack that has a profile.

mod candidates;
mod draws;
mod likeness;
mod look;
mod rerun;
mod sender;
#[cfg(test)]
mod tests;

use firstflight_capture::{Connection, PathEstimate};
use firstflight_hosts::host::Host;
use firstflight_scenario::{Candidate, Profile};

pub use likeness::Probable;
use likeness::{Captured, weigh};
pub use sender::{none_shown, senders};

/// Paths on which each stack is tried.
const PATHS: usize = 12;

/// The stacks that a sender may run, the likeliest first. The rest of the probability is that of none of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Identified {
    /// Stacks with their probabilities.
    pub stacks: Vec<Probable>,
    /// Probability of no stack that has a profile.
    pub none: f64,
}

impl Identified {
    /// The same from several connections of one sender, which runs one stack: likelihoods multiply.
    pub(crate) fn together<'a>(each: impl Iterator<Item = &'a Self>) -> Self {
        let mut stacks: Vec<Probable> = vec![];
        let mut count = 0.0;
        for one in each {
            count += 1.0;
            for stack in &one.stacks {
                let same =
                    |it: &&mut Probable| it.profile == stack.profile && it.candidate == stack.candidate;
                match stacks.iter_mut().find(same) {
                    Some(sum) => {
                        sum.likelihood += stack.likelihood;
                        sum.apart += stack.apart;
                    }
                    None => stacks.push(stack.clone()),
                }
            }
        }
        stacks.iter_mut().for_each(|stack| stack.apart /= count);
        Self::weighed(stacks)
    }

    /// The stacks with probabilities from their likelihoods.
    pub(crate) fn weighed(mut stacks: Vec<Probable>) -> Self {
        /// Largest exponent that is no infinity.
        const MOST: f64 = 700.0;
        let all: f64 = stacks.iter().map(|stack| stack.prior).sum();
        let weight = |stack: &Probable| stack.prior / all * libm::exp(stack.likelihood.min(MOST));
        // Before the capture is seen, a sender is of one of the stacks or of none with equal probability; the likelihood of none is one.
        let sum = stacks.iter().map(weight).sum::<f64>() + 1.0;
        stacks.iter_mut().for_each(|stack| stack.probability = weight(stack) / sum);
        // Stacks whose probability is too small for a number are in the order of their likelihoods.
        stacks.sort_by(|a, b| {
            b.probability.total_cmp(&a.probability).then(b.likelihood.total_cmp(&a.likelihood))
        });
        Self { stacks, none: 1.0 / sum }
    }

    /// The likeliest stack; `None` if it is likelier that the sender is of none of them.
    pub fn likeliest(&self) -> Option<&Probable> {
        self.stacks.first().filter(|_| self.none < 0.5)
    }

    /// The stacks whose starts are the same on this path as that of the likeliest one, which is the first.
    pub fn alike(&self) -> Vec<&Probable> {
        /// Difference of the likelihoods' logarithms that shows too little: odds of less than ten to one, which Kass and Raftery (1995) do not
        /// call strong.
        const NOTHING: f64 = core::f64::consts::LN_10;
        let Some(likeliest) = self.likeliest() else { return vec![] };
        let near = |stack: &&Probable| {
            stack.probability > 0.0
                && likeliest.likelihood - stack.likelihood < NOTHING
                && stack.prior == likeliest.prior
        };
        self.stacks.iter().filter(near).collect()
    }

    /// Probability of the stacks that start as the likeliest one does.
    pub fn probability(&self) -> f64 {
        self.alike().iter().map(|stack| stack.probability).sum::<f64>().min(1.0)
    }

    /// The stack as a phrase: `nginx 1.26`, `Linux with hystart-linux+cubic or slow-start+reno`. `None` if the sender is of no stack that has a
    /// profile.
    pub fn starts_as(&self) -> Option<String> {
        let alike = self.alike();
        let first = alike.first()?;
        let mut profiles: Vec<Profile> = vec![];
        alike.iter().for_each(|stack| {
            if !profiles.contains(&stack.profile) {
                profiles.push(stack.profile);
            }
        });
        let phrase = |profile: &Profile| {
            let own = || alike.iter().filter(|stack| stack.profile == *profile);
            let labels: Vec<String> = own().map(|stack| stack.candidate.label()).collect();
            let usual = profile.stack().is_quic() && first.candidate.settings.initial_window.is_none();
            match usual {
                true => stack_name(*profile).to_owned(),
                false => format!("{} with {}", stack_name(*profile), labels.join(" or ")),
            }
        };
        Some(profiles.iter().map(phrase).collect::<Vec<_>>().join(", or "))
    }
}

/// The stack of a profile with its release, as a reader knows it.
pub(crate) fn stack_name(profile: Profile) -> &'static str {
    match profile.stack().options.stack {
        "" => "Linux",
        stack => stack,
    }
}

/// Identifies the sender of a connection on its inferred path; `seed` draws paths within the ranges of the estimates. `without` names profiles that
/// are left out, for tests of what an unknown stack looks like. `None` if the capture shows no round trip or too little data, or lacks the start.
pub fn identify(
    host: &dyn Host,
    connection: &Connection,
    path: &PathEstimate,
    without: &[(Profile, Option<&str>)],
    seed: u64,
) -> Option<Identified> {
    let captured = Captured::of(connection).filter(|_| connection.observed.handshake)?;
    let window = connection.initial_window();
    let quic = connection.source.transport() == "quic";
    let mut senders = candidates::senders(quic, window);
    let left_out = |profile: Profile, candidate: &Candidate| {
        let same = |(of, chain): &(Profile, Option<&str>)| {
            *of == profile && chain.is_none_or(|chain| candidate.scheme.label() == chain)
        };
        without.iter().any(same)
    };
    senders.retain(|sender| !left_out(sender.profile, &sender.candidate));
    let paths = draws::paths(path, captured.rtt, PATHS, seed);
    Some(weigh(host, &captured, path, &senders, &paths, seed))
}
