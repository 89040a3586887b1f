//! Pseudorandom numbers, whose seed is printed if a test fails.

/// A generator (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    /// With the seed of the variable `SEED`, or a random one.
    pub(crate) fn new() -> Self {
        let seed = std::env::var("SEED").ok().map(|seed| seed.parse().unwrap());
        Self(seed.unwrap_or_else(|| {
            let mut seed = [0; 8];
            getrandom::fill(&mut seed).unwrap();
            u64::from_ne_bytes(seed) | 1
        }))
    }

    /// Before the first number.
    pub(crate) fn seed(&self) -> u64 {
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    pub(crate) fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}
