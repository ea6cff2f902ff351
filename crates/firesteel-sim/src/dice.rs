//! Random numbers from a seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A random number generator. The same seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A random 64-bit number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to less than `end`. 0 if `end` is 0. The probability of some numbers is higher than that of
    /// others by far less than one in a million.
    pub fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.number()) * u128::from(end);
        u64::try_from(wide >> 64).expect("the upper half of a product of two 64-bit numbers")
    }

    /// A number from `first` to `last`, both included.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// True with a probability of one in `n`. Never true if `n` is 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n != 0 && self.below(n) == 0
    }

    /// A number from 0 to less than 1.
    pub fn part(&mut self) -> f64 {
        const DIGITS: u64 = 1 << 53;
        self.below(DIGITS) as f64 / DIGITS as f64
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.index(end + 1).expect("there is one at least"));
        }
    }

    /// A random index below `len`. `None` if `len` is 0.
    pub fn index(&mut self, len: usize) -> Option<usize> {
        (len > 0).then(|| usize::try_from(self.below(len as u64)).expect("below a usize"))
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len()).expect("there is something to pick from")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_sequence() {
        let roll = |seed| {
            let mut dice = Dice::new(seed);
            (0..100).map(|_| dice.between(3, 7)).collect::<Vec<_>>()
        };
        assert_eq!(roll(1), roll(1));
        assert_ne!(roll(1), roll(2));
        assert!((3..=7).all(|number| roll(1).contains(&number)));
    }
}
