//! Points spread over the unit cube, each computed by itself from its number.
//!
//! Latin hypercubes: M. McKay, R. Beckman and W. Conover, "A Comparison of Three Methods for Selecting Values of Input
//! Variables", Technometrics 21(2), 1979. Sobol's sequence: S. Joe and F. Kuo, "Constructing Sobol Sequences with Better
//! Two-Dimensional Projections", SIAM J. Sci. Comput. 30(5), 2008, in the order of I. Antonov and V. Saleev, 1979. Points for
//! Sobol indices: A. Saltelli et al., "Variance based sensitivity analysis of model output", Comput. Phys. Commun. 181(2), 2010.

use firstflight_random::Stream;

/// Largest number of dimensions of the sequence.
pub(super) const DIMENSIONS: usize = 21;

/// Degree, inner coefficients of the primitive polynomial, and first direction numbers of the dimensions from the second on:
/// the first lines of the table `new-joe-kuo-6` of Joe and Kuo.
const DIRECTIONS: [(u32, u32, &[u32]); DIMENSIONS - 1] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
    (7, 4, &[1, 3, 7, 13, 13, 15, 69]),
];

/// Bits of a coordinate.
const BITS: u32 = 32;

/// A way to spread points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// One point in each slice of every dimension.
    LatinHypercube,
    /// Sobol's sequence, scrambled.
    Sobol,
    /// Points for first-order and total effects, on Sobol's sequence.
    Saltelli,
}

/// The points of a sample.
#[derive(Clone, Debug)]
pub struct Sampler {
    spread: Spread,
    dimensions: usize,
    points: u64,
    seed: u64,
    /// Order of the slices, for each dimension of a Latin hypercube.
    orders: Vec<Vec<u32>>,
    /// Direction numbers and shift of each dimension of a sequence.
    directions: Vec<([u32; BITS as usize], u32)>,
}

impl Sampler {
    /// `points` points, at most 2^32, in `dimensions` dimensions, at most [`Sampler::most`].
    pub fn new(spread: Spread, dimensions: usize, points: u64, seed: u64) -> Self {
        let (mut orders, mut directions) = (vec![], vec![]);
        match spread {
            Spread::LatinHypercube => orders.extend((0..dimensions).map(|at| order(points as u32, seed, at))),
            Spread::Sobol => directions.extend((0..dimensions).map(|at| sequence(seed, at))),
            Spread::Saltelli => directions.extend((0..2 * dimensions).map(|at| sequence(seed, at))),
        }
        Self { spread, dimensions, points, seed, orders, directions }
    }

    /// Largest number of dimensions.
    pub const fn most(spread: Spread) -> usize {
        match spread {
            Spread::LatinHypercube | Spread::Sobol => DIMENSIONS,
            Spread::Saltelli => DIMENSIONS / 2,
        }
    }

    /// Number of points.
    pub(super) const fn len(&self) -> u64 {
        match self.spread {
            Spread::LatinHypercube | Spread::Sobol => self.points,
            Spread::Saltelli => self.points * (self.dimensions as u64 + 2),
        }
    }

    /// Point `index`: each coordinate is from 0 to 1, 1 excluded.
    pub fn at(&self, index: u64) -> Vec<f64> {
        match self.spread {
            Spread::LatinHypercube => {
                let coordinate = |(at, order): (usize, &Vec<u32>)| {
                    let within = Stream::named(self.seed, &format!("slice {at} {index}")).unit();
                    (f64::from(order[index as usize]) + within) / self.points as f64
                };
                self.orders.iter().enumerate().map(coordinate).collect()
            }
            Spread::Sobol => (0..self.dimensions).map(|at| self.coordinate(index, at)).collect(),
            Spread::Saltelli => {
                // The first matrix; the first with one column of the second, for each column; the second.
                let (row, matrix) =
                    (index / (self.dimensions as u64 + 2), index % (self.dimensions as u64 + 2));
                let second = |at: usize| matrix == at as u64 + 1 || matrix == self.dimensions as u64 + 1;
                let column = |at: usize| if second(at) { at + self.dimensions } else { at };
                (0..self.dimensions).map(|at| self.coordinate(row, column(at))).collect()
            }
        }
    }

    fn coordinate(&self, index: u64, at: usize) -> f64 {
        let (directions, shift) = &self.directions[at];
        f64::from(point(index, directions) ^ shift) / (1_u64 << BITS) as f64
    }
}

/// A random order of `0..points`.
fn order(points: u32, seed: u64, dimension: usize) -> Vec<u32> {
    let mut stream = Stream::named(seed, &format!("order {dimension}"));
    let mut order: Vec<u32> = (0..points).collect();
    for last in (1..order.len()).rev() {
        let other = (stream.unit() * (last + 1) as f64) as usize;
        order.swap(last, other);
    }
    order
}

/// Direction numbers of a dimension, and the random number that its coordinates are combined with: the points keep their
/// distances in bits, and the first is no longer a corner of the cube.
fn sequence(seed: u64, dimension: usize) -> ([u32; BITS as usize], u32) {
    let shift = (Stream::named(seed, &format!("shift {dimension}")).bits() >> 32) as u32;
    (directions(dimension), shift)
}

/// Joe and Kuo, equations (2) and (3), with the binary point before the highest bit.
fn directions(dimension: usize) -> [u32; BITS as usize] {
    let mut out: [u32; BITS as usize] = std::array::from_fn(|k| 1 << (BITS as usize - 1 - k));
    let Some(&(degree, inner, first)) = dimension.checked_sub(1).and_then(|at| DIRECTIONS.get(at)) else {
        return out;
    };
    let degree = degree as usize;
    for (k, number) in first.iter().enumerate() {
        out[k] = number << (BITS as usize - 1 - k);
    }
    for k in degree..BITS as usize {
        let mut number = out[k - degree] ^ (out[k - degree] >> degree);
        for i in 1..degree {
            if inner >> (degree - 1 - i) & 1 == 1 {
                number ^= out[k - i];
            }
        }
        out[k] = number;
    }
    out
}

/// Coordinate `index` of the sequence, in units of 2^-32.
fn point(index: u64, directions: &[u32; BITS as usize]) -> u32 {
    let gray = index ^ (index >> 1);
    (0..BITS as usize).filter(|bit| gray >> bit & 1 == 1).fold(0, |point, bit| point ^ directions[bit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_scipy() {
        // scipy 1.15, scipy.stats.qmc.Sobol(d=21, scramble=False, bits=32): points 5 and 777, the latter times 2^32.
        let of = |index| -> Vec<u32> { (0..DIMENSIONS).map(|at| point(index, &directions(at))).collect() };
        let fifth = [
            0.875, 0.875, 0.125, 0.375, 0.875, 0.625, 0.875, 0.375, 0.375, 0.125, 0.375, 0.875, 0.875, 0.125,
            0.875, 0.375, 0.875, 0.375, 0.375, 0.625, 0.625,
        ];
        assert_eq!(of(5), fifth.map(|x: f64| (x * 4_294_967_296.0) as u32));
        let later = [
            2_973_761_536,
            4_022_337_536,
            700_448_768,
            1_178_599_424,
            2_730_491_904,
            1_530_920_960,
            817_889_280,
            3_275_751_424,
            1_497_366_528,
            1_388_314_624,
            3_200_253_952,
            2_990_538_752,
            1_648_361_472,
            2_034_237_440,
            2_445_279_232,
            2_210_398_208,
            1_732_247_552,
            3_711_959_040,
            1_589_641_216,
            3_233_808_384,
            1_019_215_872,
        ];
        assert_eq!(of(777), later);
    }

    #[test]
    fn every_slice_has_one_point() {
        // A Sobol sequence of 2^k points has one in each of 2^k slices of every dimension, shifted or not.
        for spread in [Spread::LatinHypercube, Spread::Sobol] {
            let sampler = Sampler::new(spread, DIMENSIONS, 64, 7);
            for at in 0..DIMENSIONS {
                let mut slices: Vec<u64> = (0..64).map(|i| (sampler.at(i)[at] * 64.0) as u64).collect();
                slices.sort_unstable();
                assert!(slices.into_iter().eq(0..64), "{spread:?} {at}");
            }
        }
    }

    #[test]
    fn another_seed_gives_other_points() {
        for spread in [Spread::LatinHypercube, Spread::Sobol, Spread::Saltelli] {
            let of = |seed| Sampler::new(spread, 3, 8, seed).at(3);
            assert!(of(1) == of(1) && of(1) != of(2), "{spread:?}");
        }
    }

    #[test]
    fn points_for_indices_differ_from_the_first_matrix_in_one_column() {
        let sampler = Sampler::new(Spread::Saltelli, 3, 4, 1);
        assert_eq!(sampler.len(), 20);
        let rows: Vec<Vec<f64>> = (5..10).map(|i| sampler.at(i)).collect();
        for at in 0..3 {
            for (column, value) in rows[at + 1].iter().enumerate() {
                assert_eq!(*value, rows[if column == at { 4 } else { 0 }][column], "{at} {column}");
            }
        }
    }
}
