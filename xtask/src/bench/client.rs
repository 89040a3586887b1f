//! Compares our client and server with jsonrpsee's, both ends in one process, over loopback.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::goals::Verdict;
use super::spread::Spread;
use super::turns;

#[derive(Deserialize)]
pub(super) struct Round {
    ours: Side,
    jsonrpsee: Side,
}

#[derive(Deserialize)]
struct Side {
    alone: Cost,
    together: Cost,
    batch: Cost,
}

/// The cost of one call.
#[derive(Deserialize)]
struct Cost {
    cpu_micros: f64,
    wall_micros: f64,
}

/// Concurrency of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Case {
    Alone,
    Together,
    Batch,
}

const CASES: [Case; 3] = [Case::Alone, Case::Together, Case::Batch];

/// Runs on all cores, since both ends are in one process.
pub(super) fn measure(binaries: &Path, rounds: usize) -> Result<Vec<Round>> {
    turns::rounds(&mut Command::new(binaries.join("clients")), rounds)
}

/// Ratios for information, without goals.
///
/// # Panics
/// If `rounds` is empty.
pub(super) fn verdicts(rounds: &[Round]) -> Vec<Verdict> {
    let ratio = |case: Case| {
        let ratios = rounds
            .iter()
            .map(|round| case.of(&round.ours).cpu_micros / case.of(&round.jsonrpsee).cpu_micros);
        Verdict::of(format!("client, {}, ours / jsonrpsee", case.about()), Spread::of(ratios), None)
    };
    CASES.map(ratio).into()
}

#[derive(Serialize)]
pub(super) struct Report(Vec<Row>);

#[derive(Serialize)]
struct Row {
    of: &'static str,
    case: Case,
    cpu_micros_per_call: Spread,
    wall_micros_per_call: Spread,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty.
    pub(super) fn of(rounds: &[Round]) -> Self {
        let row = |of, case: Case, side: fn(&Round) -> &Side| {
            let costs = || rounds.iter().map(|round| case.of(side(round)));
            Row {
                of,
                case,
                cpu_micros_per_call: Spread::of(costs().map(|cost| cost.cpu_micros)),
                wall_micros_per_call: Spread::of(costs().map(|cost| cost.wall_micros)),
            }
        };
        let both = |case| {
            [
                row("trunkline", case, |round| &round.ours),
                row("jsonrpsee", case, |round| &round.jsonrpsee),
            ]
        };
        Self(CASES.into_iter().flat_map(both).collect())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in CASES {
            let about = format!("client and server, {}", case.about());
            writeln!(f, "\n{about:<36} {:>26} {:>26}", "CPU us", "us until the result")?;
            for row in self.0.iter().filter(|row| row.case == case) {
                let cpu = row.cpu_micros_per_call.show(1);
                let wall = row.wall_micros_per_call.show(1);
                writeln!(f, "  {:<34} {cpu:>26} {wall:>26}", row.of)?;
            }
        }
        Ok(())
    }
}

impl Case {
    fn about(self) -> &'static str {
        match self {
            Self::Alone => "one at a time",
            Self::Together => "16 at a time",
            Self::Batch => "batches of 100",
        }
    }

    fn of(self, side: &Side) -> &Cost {
        match self {
            Self::Alone => &side.alone,
            Self::Together => &side.together,
            Self::Batch => &side.batch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round in which jsonrpsee takes 10, 20 and 2, multiplied by these ratios for ours.
    fn round(ours: f64) -> Round {
        let cost = |cpu_micros| Cost { cpu_micros, wall_micros: 1.0 };
        let side = |times| Side {
            alone: cost(10.0 * times),
            together: cost(20.0 * times),
            batch: cost(2.0 * times),
        };
        Round { ours: side(ours), jsonrpsee: side(1.0) }
    }

    #[test]
    fn the_ratios_have_no_goal() {
        let verdicts = verdicts(&[round(0.5), round(0.75), round(2.0)]);
        let rows: Vec<(&str, f64, Option<bool>)> = verdicts
            .iter()
            .map(|verdict| (&*verdict.what, verdict.measured.median, verdict.reached))
            .collect();
        assert_eq!(
            rows,
            [
                ("client, one at a time, ours / jsonrpsee", 0.75, None),
                ("client, 16 at a time, ours / jsonrpsee", 0.75, None),
                ("client, batches of 100, ours / jsonrpsee", 0.75, None),
            ]
        );
    }

    #[test]
    fn each_case_has_a_row_per_library() {
        let Report(rows) = Report::of(&[round(0.5), round(0.5)]);
        let rows: Vec<(&str, Case, f64)> =
            rows.iter().map(|row| (row.of, row.case, row.cpu_micros_per_call.median)).collect();
        assert_eq!(
            rows,
            [
                ("trunkline", Case::Alone, 5.0),
                ("jsonrpsee", Case::Alone, 10.0),
                ("trunkline", Case::Together, 10.0),
                ("jsonrpsee", Case::Together, 20.0),
                ("trunkline", Case::Batch, 1.0),
                ("jsonrpsee", Case::Batch, 2.0),
            ]
        );
    }
}
