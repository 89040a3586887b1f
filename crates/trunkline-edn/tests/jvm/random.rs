//! A reproducible random number generator.

/// The generator SplitMix64: the same numbers from the same seed, on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// True with a probability of `times` percent.
    pub(crate) fn percent(&mut self, times: usize) -> bool {
        self.below(100) < times
    }

    /// One of the choices, which must not be empty.
    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// `least` to `most` digits.
    pub(crate) fn digits(&mut self, least: usize, most: usize, radix: u32) -> String {
        let count = least + self.below(most - least + 1);
        let mut digit = || {
            let value = self.below(radix as usize) as u32;
            char::from_digit(value, radix).expect("a digit is below its radix")
        };
        (0..count).map(|_| digit()).collect()
    }
}
