//! The distribution of samples.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

impl Spread {
    /// # Panics
    /// If `samples` is empty. Every quantity has one sample per round, and a benchmark has at least one round.
    pub(super) fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Self { min: sorted[0], median, max: sorted[sorted.len() - 1] }
    }

    pub(super) fn show(self, decimals: usize) -> String {
        let Self { min, median, max } = self;
        format!("{min:.decimals$} / {median:.decimals$} / {max:.decimals$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(samples: &[f64], min: f64, median: f64, max: f64) {
        let spread = Spread { min, median, max };
        assert_eq!(Spread::of(samples.iter().copied()), spread, "{samples:?}");
    }

    #[test]
    fn the_median_is_the_middle() {
        check(&[2.0], 2.0, 2.0, 2.0);
        check(&[3.0, 1.0], 1.0, 2.0, 3.0);
        check(&[9.0, 1.0, 2.0], 1.0, 2.0, 9.0);
        check(&[4.0, 1.0, 9.0, 2.0], 1.0, 3.0, 9.0);
    }
}
