//! Goals compared with Toolbox, and absolute ones.

use super::Measurements;
use super::case::Case;
use super::program::Sizes;
use super::side::{ENGINES, Engine, Side};
use crate::bench::goals::{Goal, Verdict};
use crate::bench::spread::Spread;

const IDLE_MEGABYTES: f64 = 15.0;
/// Maximum ratio to Toolbox's time.
const START: f64 = 0.2;
/// Maximum size of our program without symbols.
const PROGRAM_MEGABYTES: f64 = 15.0;
const HEALTH_P99_MILLIS: f64 = 50.0;

/// Maximum ratios of our CPU time per call.
const CPU: [(Case, Side, f64); 4] = [
    (Case::FiveRowsHttp, Side::Toolbox, 0.2),
    (Case::ThousandRowsHttp, Side::Toolbox, 0.1),
    (Case::FiveRowsHttp, Side::Bare, 2.0),
    (Case::ThousandRowsHttp, Side::Bare, 2.0),
];

/// Minimum ratios of our calls per second to Toolbox's, with SQLite.
const CALLS: [(Case, f64); 3] =
    [(Case::FiveRowsHttp, 5.0), (Case::FiveRowsStdio, 3.0), (Case::ThousandRowsHttp, 10.0)];

/// # Panics
/// If `rounds` is empty.
pub(in crate::bench) fn verdicts(rounds: &[Vec<Measurements>], sizes: &Sizes) -> Vec<Verdict> {
    let ratio = |engine, over, figure: &dyn Fn(&Measurements) -> Option<f64>| {
        Spread::of(rounds.iter().filter_map(|round| {
            let of_side = |side| figure(round.iter().find(|measured| measured.is(side, engine))?);
            Some(of_side(Side::Ours)? / of_side(over)?)
        }))
    };
    let mut verdicts = Vec::new();
    for engine in ENGINES {
        for (case, over, goal) in CPU {
            let cpu = |measured: &Measurements| measured.sample(case)?.cpu_micros_per_call;
            let what =
                format!("{}, {}, CPU, ours / {}", engine.about(), case.about(), over.about());
            let measured = ratio(engine, over, &cpu);
            verdicts.push(Verdict::of(what, measured, Some(Goal::AtMost(goal))));
        }
        let ours = rounds.iter().flatten().filter(|measured| measured.is(Side::Ours, engine));
        let health = Spread::of(ours.filter_map(Measurements::health_millis));
        let what = format!("{}, /health p99 during endless queries, ms", engine.about());
        verdicts.push(Verdict::of(what, health, Some(Goal::AtMost(HEALTH_P99_MILLIS))));
    }
    for (case, goal) in CALLS {
        let calls = |measured: &Measurements| Some(measured.sample(case)?.calls_per_second);
        let what = format!("SQLite, {}, calls/s, ours / MCP Toolbox", case.about());
        let measured = ratio(Engine::Sqlite, Side::Toolbox, &calls);
        verdicts.push(Verdict::of(what, measured, Some(Goal::AtLeast(goal))));
    }
    let start = |measured: &Measurements| Some(measured.start_millis());
    let start = ratio(Engine::Sqlite, Side::Toolbox, &start);
    let ours = rounds.iter().flatten().filter(|measured| measured.is(Side::Ours, Engine::Sqlite));
    let idle = Spread::of(ours.map(Measurements::idle_megabytes));
    let program = Spread::of(sizes.megabytes(Side::Ours));
    verdicts.extend([
        Verdict::of("start to listening, ours / MCP Toolbox", start, Some(Goal::AtMost(START))),
        Verdict::of("our idle memory, MB", idle, Some(Goal::AtMost(IDLE_MEGABYTES))),
        Verdict::of("our program, stripped, MB", program, Some(Goal::AtMost(PROGRAM_MEGABYTES))),
    ]);
    verdicts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bench::sql::Sample;
    use crate::bench::sql::case::CASES;

    fn measured(side: Side, engine: Engine, cpu: f64) -> Measurements {
        let sample = |case| Sample {
            case,
            calls_per_second: 1e6 / cpu,
            cpu_micros_per_call: (case != Case::FiveRowsStdio).then_some(cpu),
        };
        let ours = side == Side::Ours;
        Measurements {
            side,
            engine,
            samples: CASES.map(sample).into(),
            start: Duration::from_millis(if ours { 8 } else { 40 }),
            idle_bytes: 16_000_000,
            health: ours.then_some(Duration::from_millis(51)),
        }
    }

    #[test]
    fn the_median_of_the_ratios_decides() {
        let round = |ours| -> Vec<Measurements> {
            let sides = [(Side::Ours, ours), (Side::Bare, 10.0), (Side::Toolbox, 100.0)];
            let pairs = ENGINES.into_iter().flat_map(|engine| sides.map(|side| (side, engine)));
            pairs.map(|((side, cpu), engine)| measured(side, engine, cpu)).collect()
        };
        let sizes = Sizes::of_ours(3_000_000);
        let verdicts = verdicts(&[round(14.0), round(16.0), round(100.0)], &sizes);
        let rows: Vec<(&str, f64, Option<bool>)> = verdicts
            .iter()
            .map(|verdict| (&*verdict.what, verdict.measured.median, verdict.reached))
            .collect();
        assert_eq!(
            rows,
            [
                ("SQLite, 5 rows, HTTP, CPU, ours / MCP Toolbox", 0.16, Some(true)),
                ("SQLite, 1,000 rows, HTTP, CPU, ours / MCP Toolbox", 0.16, Some(false)),
                ("SQLite, 5 rows, HTTP, CPU, ours / axum and the driver", 1.6, Some(true)),
                ("SQLite, 1,000 rows, HTTP, CPU, ours / axum and the driver", 1.6, Some(true)),
                ("SQLite, /health p99 during endless queries, ms", 51.0, Some(false)),
                ("PostgreSQL, 5 rows, HTTP, CPU, ours / MCP Toolbox", 0.16, Some(true)),
                ("PostgreSQL, 1,000 rows, HTTP, CPU, ours / MCP Toolbox", 0.16, Some(false)),
                ("PostgreSQL, 5 rows, HTTP, CPU, ours / axum and the driver", 1.6, Some(true)),
                ("PostgreSQL, 1,000 rows, HTTP, CPU, ours / axum and the driver", 1.6, Some(true)),
                ("PostgreSQL, /health p99 during endless queries, ms", 51.0, Some(false)),
                ("SQLite, 5 rows, HTTP, calls/s, ours / MCP Toolbox", 6.25, Some(true)),
                ("SQLite, 5 rows, stdio, calls/s, ours / MCP Toolbox", 6.25, Some(true)),
                ("SQLite, 1,000 rows, HTTP, calls/s, ours / MCP Toolbox", 6.25, Some(false)),
                ("start to listening, ours / MCP Toolbox", 0.2, Some(true)),
                ("our idle memory, MB", 16.0, Some(false)),
                ("our program, stripped, MB", 3.0, Some(true)),
            ]
        );
    }
}
