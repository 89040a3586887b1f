//! What we aim at beside Toolbox, and by ourselves.

use super::case::Case;
use super::program::Sizes;
use super::side::Side;
use super::{MIB, Measured};
use crate::bench::goals::{Goal, Verdict};
use crate::bench::spread::Spread;

const IDLE_MIB: f64 = 20.0;
const START_MILLIS: f64 = 20.0;
const PROGRAM_MIB: f64 = 15.0;

/// # Panics
/// Of no rounds.
pub(in crate::bench) fn verdicts(rounds: &[Vec<Measured>], sizes: &Sizes) -> Vec<Verdict> {
    let calls = |case: Case, goal| {
        let ratios = rounds.iter().filter_map(|round| {
            let figure = |side| Some(of(round, side)?.sample(case)?.calls_per_second);
            Some(figure(Side::Ours)? / figure(Side::Toolbox)?)
        });
        let what = format!("{}, calls/s, ours / Toolbox", case.about());
        Verdict::of(what, Spread::of(ratios), Some(Goal::AtLeast(goal)))
    };
    let ours = |what, figure: fn(&Measured) -> f64, goal| {
        let figures = rounds.iter().filter_map(|round| of(round, Side::Ours).map(figure));
        Verdict::of(what, Spread::of(figures), Some(Goal::AtMost(goal)))
    };
    let program = Spread::of([sizes.ours as f64 / MIB]);
    vec![
        calls(Case::FiveRowsHttp, 5.0),
        calls(Case::FiveRowsStdio, 3.0),
        calls(Case::ThousandRowsHttp, 10.0),
        ours("our idle memory, MiB", Measured::idle_mib, IDLE_MIB),
        ours("our start to listening, ms", Measured::start_millis, START_MILLIS),
        Verdict::of("our program, MiB", program, Some(Goal::AtMost(PROGRAM_MIB))),
    ]
}

fn of(round: &[Measured], side: Side) -> Option<&Measured> {
    round.iter().find(|measured| measured.side == side)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::sql::Sample;
    use crate::bench::sql::case::CASES;

    fn measured(side: Side, calls_per_second: f64) -> Measured {
        let sample = |case| Sample { case, calls_per_second, cpu_micros_per_call: None };
        Measured {
            side,
            samples: CASES.map(sample).into(),
            start: Duration::from_millis(20),
            idle_bytes: 21 << 20,
        }
    }

    #[test]
    fn the_median_of_the_ratios_decides() {
        let round = |ours| vec![measured(Side::Ours, ours), measured(Side::Toolbox, 100.0)];
        let sizes = Sizes { ours: 3 << 20, toolbox: 300 << 20 };
        let verdicts = verdicts(&[round(700.0), round(600.0), round(100.0)], &sizes);
        let rows: Vec<(&str, f64, Option<bool>)> = verdicts
            .iter()
            .map(|verdict| (&*verdict.what, verdict.measured.median, verdict.reached))
            .collect();
        assert_eq!(
            rows,
            [
                ("5 rows, HTTP, calls/s, ours / Toolbox", 6.0, Some(true)),
                ("5 rows, stdio, calls/s, ours / Toolbox", 6.0, Some(true)),
                ("1,000 rows, HTTP, calls/s, ours / Toolbox", 6.0, Some(false)),
                ("our idle memory, MiB", 21.0, Some(false)),
                ("our start to listening, ms", 20.0, Some(true)),
                ("our program, MiB", 3.0, Some(true)),
            ]
        );
    }
}
