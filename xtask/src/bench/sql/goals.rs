//! Goals compared with Toolbox, and absolute ones.

use super::case::Case;
use super::program::Sizes;
use super::side::Side;
use super::{MEGABYTE, Measurements};
use crate::bench::goals::{Goal, Verdict};
use crate::bench::spread::Spread;

const IDLE_MEGABYTES: f64 = 15.0;
/// Maximum ratio to Toolbox's time.
const START: f64 = 0.2;
/// Maximum size of our program without symbols.
const PROGRAM_MEGABYTES: f64 = 15.0;

/// # Panics
/// If `rounds` is empty.
pub(in crate::bench) fn verdicts(rounds: &[Vec<Measurements>], sizes: &Sizes) -> Vec<Verdict> {
    let ratio = |what, figure: &dyn Fn(&Measurements) -> Option<f64>, goal| {
        let ratios = rounds.iter().filter_map(|round| {
            let of_side = |side| figure(round.iter().find(|measured| measured.side == side)?);
            Some(of_side(Side::Ours)? / of_side(Side::Toolbox)?)
        });
        Verdict::of(what, Spread::of(ratios), Some(goal))
    };
    let calls = |case: Case, goal| {
        let what = format!("{}, calls/s, ours / Toolbox", case.about());
        let figure = |measured: &Measurements| Some(measured.sample(case)?.calls_per_second);
        ratio(what, &figure, Goal::AtLeast(goal))
    };
    let start = |measured: &Measurements| Some(measured.start_millis());
    let ours = rounds.iter().flatten().filter(|measured| measured.side == Side::Ours);
    let idle = Spread::of(ours.map(Measurements::idle_megabytes));
    let program = Spread::of([sizes.ours as f64 / MEGABYTE]);
    vec![
        calls(Case::FiveRowsHttp, 5.0),
        calls(Case::FiveRowsStdio, 3.0),
        calls(Case::ThousandRowsHttp, 10.0),
        ratio("start to listening, ours / Toolbox".to_owned(), &start, Goal::AtMost(START)),
        Verdict::of("our idle memory, MB", idle, Some(Goal::AtMost(IDLE_MEGABYTES))),
        Verdict::of("our program, stripped, MB", program, Some(Goal::AtMost(PROGRAM_MEGABYTES))),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::sql::Sample;
    use crate::bench::sql::case::CASES;

    fn measured(side: Side, calls_per_second: f64) -> Measurements {
        let sample = |case| Sample { case, calls_per_second, cpu_micros_per_call: None };
        Measurements {
            side,
            samples: CASES.map(sample).into(),
            start: Duration::from_millis(if side == Side::Ours { 8 } else { 40 }),
            idle_bytes: 16_000_000,
        }
    }

    #[test]
    fn the_median_of_the_ratios_decides() {
        let round = |ours| vec![measured(Side::Ours, ours), measured(Side::Toolbox, 100.0)];
        let sizes = Sizes { ours: 3_000_000, toolbox: 300_000_000 };
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
                ("start to listening, ours / Toolbox", 0.2, Some(true)),
                ("our idle memory, MB", 16.0, Some(false)),
                ("our program, stripped, MB", 3.0, Some(true)),
            ]
        );
    }
}
