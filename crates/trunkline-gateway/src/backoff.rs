//! Delays between attempts to connect.

use std::time::Duration;

/// Exponential delays with jitter.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    max: Duration,
    attempts: u32,
}

impl Backoff {
    pub(crate) fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, attempts: 0 }
    }

    /// The next delay: twice the previous one up to the maximum, reduced by up to half at random, so that upstreams of
    /// one machine do not restart at the same time.
    pub(crate) fn next(&mut self) -> Duration {
        let factor = 2_u32.saturating_pow(self.attempts);
        self.attempts = self.attempts.saturating_add(1);
        let delay = self.first.saturating_mul(factor).min(self.max);
        // A machine without random numbers uses the whole delay.
        let random = getrandom::u32().map_or(1.0, |number| f64::from(number) / f64::from(u32::MAX));
        delay.mul_f64(0.5 + random / 2.0)
    }

    /// Starts again with the first delay.
    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(60));
        let mut expected = 0.5;
        for _ in 0..100 {
            let delay = backoff.next().as_secs_f64();
            assert!(delay >= expected / 2.0 && delay <= expected, "{delay} {expected}");
            expected = (expected * 2.0_f64).min(60.0);
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(500));
    }
}
