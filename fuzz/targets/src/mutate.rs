//! Inputs of the driver. Input number `n` under a seed follows from the seed, the number and the corpus alone, so that it
//! can be made again without those before it.

use firstflight_random::Stream;

use crate::{Form, Target};

/// Numbers at the ends of types and ranges.
const ENDS: [u64; 16] = [
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 53,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Inputs made from a corpus.
pub(crate) struct Inputs<'a> {
    target: &'a Target,
    corpus: &'a [Vec<u8>],
    seed: u64,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(target: &'a Target, corpus: &'a [Vec<u8>], seed: u64) -> Self {
        Self { target, corpus, seed }
    }

    /// Writes input `number` into `input`.
    pub(crate) fn make(&self, number: u64, input: &mut Vec<u8>) {
        let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
        let mut maker = Maker { random: Stream::seeded(seed), inputs: self };
        input.clear();
        maker.begin(input);
        for _ in 0..1 + maker.below(4) {
            maker.change(input);
        }
        input.truncate(self.target.longest);
    }
}

struct Maker<'a> {
    random: Stream,
    inputs: &'a Inputs<'a>,
}

impl Maker<'_> {
    /// A number below `bound`, which is above zero.
    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    fn begin(&mut self, input: &mut Vec<u8>) {
        let numbers = matches!(self.inputs.target.form, Form::Numbers);
        if self.inputs.corpus.is_empty() || numbers && self.below(4) != 0 {
            let length = 1 + self.below(self.inputs.target.longest.min(if numbers { 512 } else { 64 }));
            input.resize(length, 0);
            return self.random.fill(input);
        }
        let corpus = self.inputs.corpus;
        input.extend_from_slice(&corpus[self.below(corpus.len())]);
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let as_text = self.below(4) != 0;
        match self.inputs.target.form {
            Form::Text(words) if as_text => self.change_text(words, input),
            _ => self.change_bytes(input),
        }
    }

    fn change_bytes(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        match self.below(8) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.random.bits() as u8,
            // A number of one to eight bytes in either order.
            2 | 3 => {
                let (end, width) = (ENDS[self.below(ENDS.len())], 1 << self.below(4));
                let bytes = if self.below(2) == 0 {
                    end.to_le_bytes()
                } else {
                    end.rotate_right(8 * width).to_be_bytes()
                };
                let room = input.len().saturating_sub(at).min(width as usize);
                input[at..at + room].copy_from_slice(&bytes[..room]);
            }
            4 => {
                let end = (at + 1 + self.below(16)).min(input.len());
                input.drain(at.min(end)..end);
            }
            5 => {
                let from = self.below(input.len() + 1);
                let piece = input[from..(from + 1 + self.below(64)).min(input.len())].to_vec();
                input.splice(at..at, piece);
            }
            6 => input.truncate(at),
            _ => self.cross(at, input),
        }
    }

    /// The beginning of the input and the end of another.
    fn cross(&mut self, at: usize, input: &mut Vec<u8>) {
        let corpus = self.inputs.corpus;
        if !corpus.is_empty() {
            let other = &corpus[self.below(corpus.len())];
            let from = self.below(other.len() + 1);
            let end = (at + other.len() - from).min(input.len());
            input.splice(at..end, other[from..].iter().copied());
        }
    }

    fn change_text(&mut self, words: &[&str], input: &mut Vec<u8>) {
        let begin = |input: &[u8], at: usize| {
            input[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |i| i + 1)
        };
        let at = self.below(input.len() + 1);
        let line = begin(input, at);
        let end = input[line..].iter().position(|&byte| byte == b'\n').map_or(input.len(), |i| line + i + 1);
        match self.below(6) {
            0 => drop(input.splice(at..at, words[self.below(words.len())].bytes())),
            1 => {
                let copy = input[line..end].to_vec();
                let to = self.below(input.len() + 1);
                let to = begin(input, to);
                input.splice(to..to, copy);
            }
            2 => drop(input.drain(line..end)),
            // The value of a key from another line.
            3 => {
                let other = self.below(input.len() + 1);
                let other = begin(input, other);
                let rest = &input[other..];
                let stop = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                let value = rest[..stop]
                    .iter()
                    .position(|&byte| byte == b'=')
                    .map_or(vec![], |i| rest[i..stop].to_vec());
                let own = input[line..end].iter().position(|&byte| byte == b'=').map_or(end, |i| line + i);
                let stop = if end > line && input[end - 1] == b'\n' { end - 1 } else { end };
                input.splice(own.min(stop)..stop, value);
            }
            // Another number.
            4 => {
                let Some(from) = input[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) else {
                    return;
                };
                let digits = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number = match self.below(3) {
                    0 => ENDS[self.below(ENDS.len())],
                    1 => self.random.bits() >> self.below(64),
                    _ => 10_u64.pow(self.below(20) as u32),
                };
                input.splice(from..from + digits, number.to_string().into_bytes());
            }
            _ => self.cross(line, input),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TARGETS;

    #[test]
    fn the_same_seed_and_number_give_the_same_input_and_no_input_is_too_long() {
        for target in TARGETS {
            let corpus = [b"[path]\nrate = \"1 bit/s\"\n".to_vec(), vec![0; target.longest + 5], vec![]];
            let inputs = Inputs::new(target, &corpus, 7);
            let (mut first, mut second) = (vec![], vec![1]);
            let mut distinct = std::collections::BTreeSet::new();
            for number in 0..2000 {
                inputs.make(number, &mut first);
                inputs.make(number, &mut second);
                assert_eq!(first, second);
                assert!(first.len() <= target.longest);
                distinct.insert(first.clone());
            }
            assert!(distinct.len() > 1000, "{}: {} of 2000 inputs differ", target.name, distinct.len());
        }
    }
}
