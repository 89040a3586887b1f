//! The check of `cargo xtask ci`: requests need no more instructions than recorded.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::callgrind::{Counted, Load, Row};
use crate::bench::contender::{Case, Contender};
use crate::workspace::Workspace;

/// A case, and the instructions of `ours` divided by those of `axum_serde`.
///
/// `cargo xtask instructions` prints the current ratios. Update them here after each improvement; an increase needs a
/// reason in the commit message.
///
/// The profile `instructions` of `bench/` is built without LTO, which takes less time. With thin LTO and one codegen unit,
/// both servers need fewer instructions, and the ratios were 0.94 and 0.90.
const RECORDED: [(Case, f64); 2] = [(Case::Single, 1.0), (Case::Batch, 0.89)];

/// The tolerance, which is larger than the differences between runs.
const TOLERANCE: f64 = 0.03;

/// The number of counted single calls, fewer than for the full report.
const SINGLES: u32 = 200;

/// Measures both servers, which are already built, and compares their ratios with the recorded ones.
pub(in crate::bench) fn check(workspace: &Workspace, binaries: &Path) -> Result<()> {
    let loads = RECORDED.map(|(case, _)| Load::of(workspace, case, SINGLES));
    let loads = loads.into_iter().collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for contender in [Contender::Ours, Contender::AxumSerde] {
        rows.extend(Counted::contender(workspace, binaries, contender)?.rows(&loads)?);
    }
    for Row { server, case, instructions } in &rows {
        println!("{server}, {case}: {instructions:.0} instructions per request");
    }
    let ratios = ratios(&rows)?;
    for ratio in &ratios {
        println!("{ratio}");
        if ratio.measured < ratio.recorded * (1.0 - TOLERANCE) {
            println!("  lower than recorded: write it to xtask/src/bench/instructions/recorded.rs");
        }
    }
    accept(&ratios)
}

struct Ratio {
    case: Case,
    measured: f64,
    recorded: f64,
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, measured, recorded } = self;
        write!(f, "{}, ours / axum_serde: {measured:.3}, recorded {recorded:.3}", case.about())
    }
}

fn ratios(rows: &[Row]) -> Result<Vec<Ratio>> {
    let ratio = |(case, recorded): (Case, f64)| {
        let count = |contender: Contender| {
            let (server, case) = (contender.binary(), case.about());
            let row = rows.iter().find(|row| row.server == server && row.case == case);
            row.map(|row| row.instructions).with_context(|| format!("no count of {server}, {case}"))
        };
        let measured = count(Contender::Ours)? / count(Contender::AxumSerde)?;
        Ok(Ratio { case, measured, recorded })
    };
    RECORDED.into_iter().map(ratio).collect()
}

/// Fails if a ratio exceeds its recorded one by more than the tolerance.
fn accept(ratios: &[Ratio]) -> Result<()> {
    let worse = |ratio: &&Ratio| ratio.measured > ratio.recorded * (1.0 + TOLERANCE);
    let worse: Vec<String> = ratios.iter().filter(worse).map(Ratio::to_string).collect();
    ensure!(
        worse.is_empty(),
        "more instructions per request than recorded: {}; up to {:.0} % more are accepted; reproduce \
         with `cargo xtask instructions`, or with `cargo xtask bench --only instructions` for more \
         servers; the recorded ratios are in xtask/src/bench/instructions/recorded.rs",
        worse.join("; "),
        TOLERANCE * 100.0
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: [(&'static str, &'static str, f64); 4], expected: Option<&str>) {
        let rows = rows.map(|(server, case, instructions)| Row { server, case, instructions });
        let error = ratios(&rows).and_then(|ratios| accept(&ratios)).err();
        let error = error.map(|error| error.to_string());
        let is_expected = match (&error, expected) {
            (Some(error), Some(expected)) => error.contains(expected),
            (error, expected) => error.is_none() && expected.is_none(),
        };
        assert!(is_expected, "{error:?} is not {expected:?}");
    }

    #[test]
    fn ratios_up_to_the_tolerance_are_accepted() {
        let [(_, single), (_, batch)] = RECORDED;
        let rows = |single: f64, batch: f64| {
            [
                ("ours", "single call", single * 20_000.0),
                ("axum_serde", "single call", 20_000.0),
                ("ours", "batch of 100", batch * 300_000.0),
                ("axum_serde", "batch of 100", 300_000.0),
            ]
        };
        check(rows(single, batch), None);
        check(rows(single * 0.5, batch * 0.5), None);
        check(rows(single * 1.029, batch * 1.029), None);
        check(rows(single * 1.031, batch), Some("recorded: single call, ours / axum_serde: "));
        check(rows(single, batch * 1.031), Some("recorded: batch of 100, ours / axum_serde: "));
        check(rows(2.0, 3.0), Some("axum_serde: 2.000, recorded "));
        check(rows(2.0, 3.0), Some("axum_serde: 3.000, recorded "));
        check(rows(2.0, 3.0), Some("reproduce with `cargo xtask instructions`"));
    }

    #[test]
    fn missing_counts_are_errors() {
        let rows = [
            ("ours", "single call", 1.0),
            ("axum_serde", "single call", 1.0),
            ("ours", "batch of 100", 1.0),
            ("floor", "batch of 100", 1.0),
        ];
        check(rows, Some("no count of axum_serde, batch of 100"));
    }
}
