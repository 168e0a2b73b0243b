//! Mutations of a corpus, the same in every run: bytes changed, removed, repeated, words inserted, numbers replaced, two
//! inputs joined. Each input comes from one of the corpus or from a mutation that was kept.

use crate::random_bits;

/// Numbers near the ends of types.
const NUMBERS: &str = "0 1 2 3 255 256 65536 2147483648 4294967295 4294967296 9223372036854775807 9223372036854775808 \
    18446744073709551615 18446744073709551616 -1 -9223372036854775808 1e308 1e309 1e-320 0.5 inf nan -0.0";

/// Makes mutations.
pub struct Mutator<'a> {
    random: Box<dyn FnMut() -> u64>,
    inputs: Vec<Vec<u8>>,
    corpus: usize,
    words: &'a [&'a str],
    longest: usize,
}

impl std::fmt::Debug for Mutator<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mutator").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl<'a> Mutator<'a> {
    /// Mutations of `corpus` (not empty) of at most `longest` bytes. Equal seeds give equal mutations.
    pub fn new(seed: u64, corpus: &[Vec<u8>], words: &'a [&'a str], longest: usize) -> Self {
        Mutator { random: Box::new(random_bits(seed)), inputs: corpus.to_vec(), corpus: corpus.len(), words, longest }
    }

    /// A number below `end`; 0 for an empty range.
    fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { ((self.random)() % end as u64) as usize }
    }

    /// The next mutation.
    pub fn next_input(&mut self) -> Vec<u8> {
        let from = self.below(self.inputs.len());
        let mut input = self.inputs[from].clone();
        for _ in 0..1 + self.below(4) {
            self.mutate(&mut input);
        }
        input.truncate(self.longest);
        input
    }

    /// Makes an input one of the starting points, in place of an older mutation.
    pub fn keep(&mut self, input: Vec<u8>) {
        const KEPT: usize = 64;
        if self.inputs.len() < self.corpus + KEPT {
            self.inputs.push(input);
        } else {
            let place = self.corpus + self.below(KEPT);
            self.inputs[place] = input;
        }
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = (at + 1 + self.below(8)).min(input.len());
        match self.below(9) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = (self.random)() as u8,
            2 if at < end => drop(input.drain(at..end)),
            3 if at < end => {
                let part = input[at..end].to_vec();
                input.splice(at..at, part);
            }
            4 | 5 if !self.words.is_empty() => {
                let word = self.words[self.below(self.words.len())];
                input.splice(at..at, word.bytes());
            }
            6 => self.replace_number(input, at),
            7 => {
                let other = self.below(self.inputs.len());
                let tail = &self.inputs[other];
                let from = tail.len() * at / (input.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&self.inputs[other][from..]);
            }
            8 => input.truncate(at),
            _ => input.insert(at, (self.random)() as u8),
        }
    }

    /// Replaces the first number at or behind `at`.
    fn replace_number(&mut self, input: &mut Vec<u8>, at: usize) {
        let Some(start) = (at..input.len()).find(|&i| input[i].is_ascii_digit()) else { return };
        let end = (start..input.len()).find(|&i| !input[i].is_ascii_digit()).unwrap_or(input.len());
        let numbers: Vec<&str> = NUMBERS.split_whitespace().collect();
        let number = numbers[self.below(numbers.len())];
        input.splice(start..end, number.bytes());
    }
}
