//! Storage for the phases of a chain.

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec::Vec};

use firstflight_contract::{Declared, Phase};

/// The phases of a chain, one of which is in force. Positions are below [`Phases::count`]; at least one phase is stored.
pub trait Phases {
    /// Type of a phase.
    type Phase: Phase + Declared;

    /// Number of phases.
    fn count(&self) -> usize;
    /// Position of the phase in force.
    fn position(&self) -> usize;
    /// The phase in force.
    fn current(&self) -> &Self::Phase;
    /// The phase in force.
    fn current_mut(&mut self) -> &mut Self::Phase;
    /// The phase at `position`.
    fn get(&self, position: usize) -> &Self::Phase;
    /// The phase at `position`.
    fn get_mut(&mut self, position: usize) -> &mut Self::Phase;
    /// Puts the phase at `position` in force, with the state that it was left with.
    fn switch(&mut self, position: usize);
}

/// Any number of phases. The phase in force is stored inline, beside the registers of the chain, so that an ACK does not
/// follow a pointer.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sequence<P> {
    /// The phase in force. Its position in `phases` is empty meanwhile.
    current: P,
    position: usize,
    phases: Box<[Option<P>]>,
}

/// Only the place of the phase in force is empty.
#[cfg(feature = "alloc")]
const RESTS: &str = "a phase that is not in force is in its place";

#[cfg(feature = "alloc")]
impl<P> Sequence<P> {
    /// These phases, the first in force; `None` if there are none.
    pub fn new(phases: Vec<P>) -> Option<Self> {
        let mut phases: Box<[Option<P>]> = phases.into_iter().map(Some).collect();
        let current = phases.first_mut()?.take()?;
        Some(Self { current, position: 0, phases })
    }

    /// Adds a phase in front of all others. The phase in force stays the same.
    pub(crate) fn insert_first(&mut self, phase: P) {
        let phases = core::mem::take(&mut self.phases);
        self.phases = core::iter::once(Some(phase)).chain(phases).collect();
        self.position += 1;
    }
}

#[cfg(feature = "alloc")]
impl<P: Phase + Declared> Phases for Sequence<P> {
    type Phase = P;

    fn count(&self) -> usize {
        self.phases.len()
    }
    fn position(&self) -> usize {
        self.position
    }
    #[inline(always)]
    fn current(&self) -> &P {
        &self.current
    }
    #[inline(always)]
    fn current_mut(&mut self) -> &mut P {
        &mut self.current
    }
    fn get(&self, position: usize) -> &P {
        if position == self.position { &self.current } else { self.phases[position].as_ref().expect(RESTS) }
    }
    fn get_mut(&mut self, position: usize) -> &mut P {
        if position == self.position {
            return &mut self.current;
        }
        self.phases[position].as_mut().expect(RESTS)
    }
    fn switch(&mut self, position: usize) {
        if let Some(next) = self.phases[position].take() {
            self.phases[self.position] = Some(core::mem::replace(&mut self.current, next));
            self.position = position;
        }
    }
}

/// A fixed number of phases, all inline: no allocation and no copy of a phase, for hosts such as the Linux kernel.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Inline<P, const N: usize> {
    position: usize,
    phases: [P; N],
}

impl<P, const N: usize> Inline<P, N> {
    /// These phases, the first in force. `N` is not zero.
    pub const fn new(phases: [P; N]) -> Self {
        const { assert!(N > 0, "a chain has at least one phase") }
        Self { position: 0, phases }
    }
}

impl<P: Phase + Declared, const N: usize> Phases for Inline<P, N> {
    type Phase = P;

    fn count(&self) -> usize {
        N
    }
    fn position(&self) -> usize {
        self.position
    }
    #[inline(always)]
    fn current(&self) -> &P {
        self.get(self.position)
    }
    #[inline(always)]
    fn current_mut(&mut self) -> &mut P {
        self.get_mut(self.position)
    }
    // `min` bounds the index without a panic, which the kernel's verifier asks for.
    fn get(&self, position: usize) -> &P {
        &self.phases[position.min(N - 1)]
    }
    fn get_mut(&mut self, position: usize) -> &mut P {
        &mut self.phases[position.min(N - 1)]
    }
    fn switch(&mut self, position: usize) {
        self.position = position.min(N - 1);
    }
}
