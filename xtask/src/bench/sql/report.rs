//! The report on both sides.

use std::fmt;

use serde::Serialize;

use super::case::{CASES, Case};
use super::program::Sizes;
use super::side::{SIDES, Side};
use super::{MEGABYTE, Measurements, Sample};
use crate::bench::spread::Spread;

#[derive(Serialize)]
pub(crate) struct Report {
    cases: Vec<Row>,
    programs: Vec<Program>,
}

#[derive(Serialize)]
struct Row {
    server: Side,
    case: Case,
    calls_per_second: Spread,
    cpu_micros_per_call: Option<Spread>,
}

#[derive(Serialize)]
struct Program {
    server: Side,
    start_millis: Spread,
    idle_megabytes: Spread,
    program_megabytes: f64,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty.
    pub(in crate::bench) fn of(rounds: &[Vec<Measurements>], sizes: &Sizes) -> Self {
        let rows = |case| SIDES.map(|side| Row::of(rounds, side, case));
        Self {
            cases: CASES.into_iter().flat_map(rows).collect(),
            programs: SIDES.map(|side| Program::of(rounds, side, sizes)).into(),
        }
    }
}

fn of_side(rounds: &[Vec<Measurements>], side: Side) -> impl Iterator<Item = &Measurements> {
    rounds.iter().flatten().filter(move |measured| measured.side == side)
}

impl Row {
    fn of(rounds: &[Vec<Measurements>], server: Side, case: Case) -> Self {
        let samples: Vec<&Sample> =
            of_side(rounds, server).filter_map(|measured| measured.sample(case)).collect();
        let cpu: Option<Vec<f64>> =
            samples.iter().map(|sample| sample.cpu_micros_per_call).collect();
        Self {
            server,
            case,
            calls_per_second: Spread::of(samples.iter().map(|sample| sample.calls_per_second)),
            cpu_micros_per_call: cpu.map(Spread::of),
        }
    }
}

impl Program {
    fn of(rounds: &[Vec<Measurements>], server: Side, sizes: &Sizes) -> Self {
        let bytes = match server {
            Side::Ours => sizes.ours,
            Side::Toolbox => sizes.toolbox,
        };
        Self {
            server,
            start_millis: Spread::of(of_side(rounds, server).map(Measurements::start_millis)),
            idle_megabytes: Spread::of(of_side(rounds, server).map(Measurements::idle_megabytes)),
            program_megabytes: bytes as f64 / MEGABYTE,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in CASES {
            writeln!(f, "\n{:<36} {:>26} {:>26}", case.about(), "calls/s", "CPU us")?;
            for row in self.cases.iter().filter(|row| row.case == case) {
                let cpu = row.cpu_micros_per_call.map_or("-".to_owned(), |cpu| cpu.show(1));
                let calls = row.calls_per_second.show(0);
                writeln!(f, "  {:<34} {calls:>26} {cpu:>26}", row.server.about())?;
            }
        }
        writeln!(
            f,
            "\n{:<36} {:>26} {:>26} {:>12}",
            "program", "start to listening, ms", "idle memory, MB", "size, MB"
        )?;
        for program in &self.programs {
            writeln!(
                f,
                "  {:<34} {:>26} {:>26} {:>12.1}",
                program.server.about(),
                program.start_millis.show(1),
                program.idle_megabytes.show(1),
                program.program_megabytes
            )?;
        }
        Ok(())
    }
}
