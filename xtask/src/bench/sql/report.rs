//! The report on all sides.

use std::fmt;

use serde::Serialize;

use super::case::{CASES, Case};
use super::program::Sizes;
use super::side::{ENGINES, Engine, SIDES, Side};
use super::{Measurements, Sample};
use crate::bench::spread::Spread;

#[derive(Serialize)]
pub(crate) struct Report {
    cases: Vec<Row>,
    programs: Vec<Program>,
}

#[derive(Serialize)]
struct Row {
    engine: Engine,
    server: Side,
    case: Case,
    calls_per_second: Spread,
    cpu_micros_per_call: Option<Spread>,
}

#[derive(Serialize)]
struct Program {
    engine: Engine,
    server: Side,
    start_millis: Spread,
    idle_megabytes: Spread,
    program_megabytes: Option<f64>,
    /// During endless queries.
    health_p99_millis: Option<Spread>,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty.
    pub(in crate::bench) fn of(rounds: &[Vec<Measurements>], sizes: &Sizes) -> Self {
        let pairs = || ENGINES.into_iter().flat_map(|engine| SIDES.map(|side| (side, engine)));
        let rows = |case: Case| {
            pairs()
                .filter(move |(side, _)| side.has_stdio() || !case.is_stdio())
                .map(move |(side, engine)| Row::of(rounds, side, engine, case))
        };
        Self {
            cases: CASES.into_iter().flat_map(rows).collect(),
            programs: pairs()
                .map(|(side, engine)| Program::of(rounds, side, engine, sizes))
                .collect(),
        }
    }
}

fn of_pair(
    rounds: &[Vec<Measurements>],
    side: Side,
    engine: Engine,
) -> impl Iterator<Item = &Measurements> {
    rounds.iter().flatten().filter(move |measured| measured.is(side, engine))
}

impl Row {
    fn of(rounds: &[Vec<Measurements>], server: Side, engine: Engine, case: Case) -> Self {
        let samples: Vec<&Sample> =
            of_pair(rounds, server, engine).filter_map(|measured| measured.sample(case)).collect();
        let cpu: Option<Vec<f64>> =
            samples.iter().map(|sample| sample.cpu_micros_per_call).collect();
        Self {
            engine,
            server,
            case,
            calls_per_second: Spread::of(samples.iter().map(|sample| sample.calls_per_second)),
            cpu_micros_per_call: cpu.map(Spread::of),
        }
    }
}

impl Program {
    fn of(rounds: &[Vec<Measurements>], server: Side, engine: Engine, sizes: &Sizes) -> Self {
        let measured = || of_pair(rounds, server, engine);
        let health: Vec<f64> = measured().filter_map(Measurements::health_millis).collect();
        Self {
            engine,
            server,
            start_millis: Spread::of(measured().map(Measurements::start_millis)),
            idle_megabytes: Spread::of(measured().map(Measurements::idle_megabytes)),
            program_megabytes: sizes.megabytes(server),
            health_p99_millis: (!health.is_empty()).then(|| Spread::of(health)),
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
                let server = about(row.server, row.engine);
                writeln!(f, "  {server:<34} {calls:>26} {cpu:>26}")?;
            }
        }
        writeln!(
            f,
            "\n{:<36} {:>26} {:>26} {:>12} {:>26}",
            "program", "start to listening, ms", "idle memory, MB", "size, MB", "/health p99, ms"
        )?;
        for program in &self.programs {
            let size =
                program.program_megabytes.map_or("-".to_owned(), |size| format!("{size:.1}"));
            let health = program.health_p99_millis.map_or("-".to_owned(), |time| time.show(1));
            writeln!(
                f,
                "  {:<34} {:>26} {:>26} {size:>12} {health:>26}",
                about(program.server, program.engine),
                program.start_millis.show(1),
                program.idle_megabytes.show(1),
            )?;
        }
        Ok(())
    }
}

fn about(side: Side, engine: Engine) -> String {
    format!("{}: {}", engine.about(), side.about())
}
