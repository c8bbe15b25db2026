//! Harm to a bystander: by how much longer others take because a transfer shares their bottleneck.
//!
//! R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's Fairness Index: Setting the Bar for the Deployment of
//! Congestion Control Algorithms", HotNets 2019: a new algorithm may do as much harm to existing ones as they do to each
//! other. The measure here is a ratio: the bystander's time beside the candidate, to its time beside the scheme that the
//! stack has now.

mod ratio;
mod scene;
mod settle;

use firstflight_document::Error;
use firstflight_results::Harm;
use firstflight_scenario::Candidate;

use crate::bench::Bench;
use crate::halt::Halt;
use firstflight_hosts::parallel::try_map;
use firstflight_hosts::progress::{Progress, go_on};
use ratio::Ratios;
use scene::{AGE, Pipe, Scene, Times};
pub(crate) use settle::{Contender, Contest, Part, settle};

/// Least and largest number of replications of the first look. Each has another path and another age of the bulk flow, and all
/// candidates meet the same ones.
const FIRST: [u32; 2] = [8, 16];
/// Packets that the first look may have, unless that leaves fewer replications than the least. Ten million take half a second
/// or less of one processor.
const FIRST_PACKETS: f64 = 2e7;
/// Packets of the least number of runs beyond which harm is not measured: minutes of simulation.
const MOST_PACKETS: f64 = 4e8;

/// The bystanders of a comparison, and their times so far. Every call gets the same bench and the same candidates.
pub(crate) struct Bystanders {
    present: Candidate,
    /// Scene of each replication so far.
    scenes: Vec<Scene>,
    /// Packets of one scene until the transfer begins, at most.
    scene_packets: f64,
    /// Ascending by size.
    sizes: Vec<AtSize>,
    /// Replications of the first look.
    first: u32,
}

struct AtSize {
    size: u64,
    /// Packets of one run from the beginning of the transfer on, at most.
    packets: f64,
    /// Times beside the present scheme, by replication; `None` if a bystander did not end.
    present: Vec<Option<Times>>,
    /// Times beside each candidate, of its first replications.
    beside: Vec<Vec<Option<Times>>>,
}

impl Bystanders {
    /// The bystanders at these `sizes`, ascending, with as few replications as they may have in the first look if `few`.
    /// Nothing is run, but the round trip is measured.
    ///
    /// # Errors
    /// If the host refuses a run, or there is too much to run.
    pub(crate) fn new(
        bench: &Bench<'_>,
        present: Candidate,
        candidates: &[Candidate],
        sizes: &[u64],
        few: bool,
    ) -> Result<Self, Halt> {
        if sizes.is_empty() {
            return Ok(Self { present, scenes: vec![], scene_packets: 0.0, sizes: vec![], first: 0 });
        }
        let pipe = Pipe::of(bench, &present, 0)?;
        // A scene is simulated twice: the bulk flow alone, and the beginning of all runs.
        let scene_packets = 2.0 * pipe.before(AGE[1]);
        let of_size = |&size: &u64| AtSize {
            size,
            packets: (2 * size + pipe.after()) as f64 / pipe.packet,
            present: vec![],
            beside: vec![vec![]; candidates.len()],
        };
        let sizes: Vec<AtSize> = sizes.iter().map(of_size).collect();
        let runs = sizes.iter().map(|at| at.packets).sum::<f64>() * (candidates.len() + 1) as f64;
        let replication = scene_packets + runs;
        if replication * f64::from(FIRST[0]) > MOST_PACKETS {
            let why = format!(
                "{} transfers beside two bystanders have more packets than can be simulated here",
                FIRST[0]
            );
            return Err(Error::invalid(why)
                .expecting("a path with a smaller bandwidth-delay product")
                .into());
        }
        let more = !few && replication * f64::from(FIRST[1]) <= FIRST_PACKETS;
        Ok(Self { present, scenes: vec![], scene_packets, sizes, first: FIRST[usize::from(more)] })
    }

    /// Steps of progress of the first look.
    pub(crate) fn first_steps(&self) -> u64 {
        let candidates = self.sizes.first().map_or(0, |at| at.beside.len() as u64);
        (1 + self.sizes.len() as u64 * (candidates + 1)) * u64::from(self.first)
    }

    /// The first look: every candidate at every size. Each scene and each run is a step of progress.
    ///
    /// # Errors
    /// If the host refuses a run, or the progress is stopped.
    pub(crate) fn first(
        &mut self,
        bench: &Bench<'_>,
        candidates: &[Candidate],
        progress: &dyn Progress,
    ) -> Result<(), Halt> {
        let all: Vec<usize> = (0..candidates.len()).collect();
        (0..self.sizes.len())
            .try_for_each(|at| self.extend(bench, at, candidates, &all, self.first, progress))
    }

    /// Scenes and runs by which the candidate at `place` gets twice as many replications at the size with number `at`.
    fn to_double(&self, at: usize, place: usize) -> (u32, u32) {
        let of_size = &self.sizes[at];
        let own = of_size.replications(place);
        let more = |have: usize| (2 * own).saturating_sub(have as u32);
        (more(self.scenes.len()), own + more(of_size.present.len()))
    }

    /// Runs the replications up to number `until` of the candidates at `places`, and of the present scheme, at the size with
    /// number `at`.
    fn extend(
        &mut self,
        bench: &Bench<'_>,
        at: usize,
        candidates: &[Candidate],
        places: &[usize],
        until: u32,
        progress: &dyn Progress,
    ) -> Result<(), Halt> {
        let Self { present, scenes, sizes, .. } = self;
        let present = &*present;
        let new: Vec<u32> = (scenes.len() as u32..until).collect();
        scenes.extend(try_map(&new, |&index| {
            go_on(progress)?;
            let scene = Scene::of(bench, present, index)?;
            progress.advance(1);
            Ok::<_, Halt>(scene)
        })?);
        let at = &mut sizes[at];
        // The same run twice has the same times.
        let (own, others): (Vec<usize>, Vec<usize>) =
            places.iter().partition(|&&place| candidates[place] == *present);
        let until = until as usize;
        let of_present = (at.present.len()..until).map(|index| (index, None));
        let of_others = others
            .iter()
            .flat_map(|&place| (at.beside[place].len()..until).map(move |index| (index, Some(place))));
        let tasks: Vec<(usize, Option<usize>)> = of_present.chain(of_others).collect();
        let times = try_map(&tasks, |&(index, place)| {
            go_on(progress)?;
            let candidate = place.map_or(present, |place| &candidates[place]);
            let times = scenes[index].run(bench, candidate, at.size)?;
            progress.advance(1);
            Ok::<_, Halt>(times)
        })?;
        for ((_, place), times) in tasks.into_iter().zip(times) {
            place.map_or(&mut at.present, |place| &mut at.beside[place]).push(times);
        }
        for place in own {
            at.beside[place] = at.present[..until].to_vec();
        }
        Ok(())
    }

    /// Replications of the first look.
    #[cfg(test)]
    pub(crate) fn with_first(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// Times beside the candidate at `place` and beside the present scheme, of either bystander, by replication at the size with number
    /// `at`; `None` if a bystander did not end.
    #[cfg(test)]
    pub(crate) fn times(&self, at: usize, place: usize) -> Option<[Vec<(f64, f64)>; 2]> {
        let at = &self.sizes[at];
        let pairs = at.beside[place].iter().zip(&at.present).map(|(beside, present)| (*beside).zip(*present));
        let pairs: Vec<(Times, Times)> = pairs.collect::<Option<_>>()?;
        let of = |time: fn(&Times) -> f64| pairs.iter().map(|(a, b)| (time(a), time(b))).collect();
        Some([of(|times| times.bulk), of(|times| times.request_response)])
    }

    /// Harm of the candidate at `place` at a size; `None` if it was not measured, or a bystander did not end.
    pub(crate) fn harm(&self, size: u64, place: usize) -> Option<Harm> {
        Some(self.sizes.iter().find(|at| at.size == size)?.harm(place)?.shown())
    }
}

impl AtSize {
    fn harm(&self, place: usize) -> Option<Ratios> {
        Ratios::of(&self.beside[place], &self.present)
    }

    /// Replications of the candidate at `place`.
    fn replications(&self, place: usize) -> u32 {
        self.beside[place].len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_gets_twice_its_replications_and_the_present_scheme_as_many() {
        let present = Candidate::parse("slow-start+cubic").expect("a candidate");
        let at = AtSize { size: 1, packets: 1.0, present: vec![None; 24], beside: vec![vec![None; 16]] };
        let bystanders =
            Bystanders { present, scenes: vec![], scene_packets: 0.0, sizes: vec![at], first: 16 };
        // 32 scenes; 16 more runs of the candidate, and 8 of the present scheme.
        assert_eq!(bystanders.to_double(0, 0), (32, 24));
    }
}
