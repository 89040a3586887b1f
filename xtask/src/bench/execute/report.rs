//! The report on records.

use std::fmt;

use serde::Serialize;

use super::case::{CASES, Case};
use super::{IMPORTING, Measurements};
use crate::bench::spread::Spread;

#[derive(Serialize)]
pub(in crate::bench) struct Report {
    cases: Vec<Row>,
    in_process_per_second: Spread,
}

#[derive(Serialize)]
struct Row {
    case: Case,
    cpu_micros_per_request: Spread,
    requests_per_second: Spread,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty.
    pub(in crate::bench) fn of(rounds: &[Measurements]) -> Self {
        let in_process = rounds.iter().map(|round| round.in_process_per_second);
        Self {
            cases: CASES.into_iter().map(|case| Row::of(rounds, case)).collect(),
            in_process_per_second: Spread::of(in_process),
        }
    }
}

impl Row {
    fn of(rounds: &[Measurements], case: Case) -> Self {
        let samples = || rounds.iter().filter_map(|round| round.sample(case));
        Self {
            case,
            cpu_micros_per_request: Spread::of(samples().map(|s| s.cpu_micros_per_request)),
            requests_per_second: Spread::of(samples().map(|s| s.requests_per_second)),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<44} {:>22} {:>26}", "records, at /execute", "CPU us", "requests/s")?;
        for row in &self.cases {
            let cpu = row.cpu_micros_per_request.show(1);
            let requests = row.requests_per_second.show(0);
            writeln!(f, "  {:<42} {cpu:>22} {requests:>26}", row.case.to_string())?;
        }
        let what = format!("create on disk, in process, {IMPORTING} at a time");
        writeln!(f, "  {what:<42} {:>22} {:>26}", "-", self.in_process_per_second.show(0))
    }
}
