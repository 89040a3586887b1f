//! What was measured, for people and as JSON.

use std::fmt;

use serde::Serialize;

use super::Sample;
use super::contender::{CASES, CONTENDERS, Case, Contender};
use super::dispatch::Round;
use super::goals::{self, Verdict};
use super::spread::Spread;

#[derive(Serialize)]
pub(super) struct Report {
    rounds: usize,
    seconds: u32,
    http: Vec<Http>,
    in_process: Vec<InProcess>,
    goals: Vec<Verdict>,
}

#[derive(Serialize)]
struct Http {
    server: Contender,
    case: Case,
    cpu_micros_per_request: Spread,
    requests_per_second: Spread,
}

#[derive(Serialize)]
struct InProcess {
    of: &'static str,
    nanos_per_call: Spread,
    allocations_per_call: Spread,
}

impl Report {
    pub(super) fn of(rounds: &[Vec<Sample>], in_process: &[Round], seconds: u32) -> Self {
        let http = CASES
            .into_iter()
            .flat_map(|case| CONTENDERS.map(|contender| Http::of(rounds, contender, case)))
            .collect();
        Self {
            rounds: rounds.len(),
            seconds,
            http,
            in_process: vec![
                InProcess {
                    of: "ours",
                    nanos_per_call: Spread::of(in_process.iter().map(|r| r.ours.nanos)),
                    allocations_per_call: Spread::of(in_process.iter().map(|r| r.ours.allocations)),
                },
                InProcess {
                    of: "jsonrpsee",
                    nanos_per_call: Spread::of(in_process.iter().map(|r| r.jsonrpsee.nanos)),
                    allocations_per_call: Spread::of(
                        in_process.iter().map(|r| r.jsonrpsee.allocations),
                    ),
                },
            ],
            goals: goals::verdicts(rounds, in_process),
        }
    }
}

impl Http {
    fn of(rounds: &[Vec<Sample>], server: Contender, case: Case) -> Self {
        let samples = || {
            rounds
                .iter()
                .flatten()
                .filter(|sample| sample.contender == server && sample.case == case)
        };
        Self {
            server,
            case,
            cpu_micros_per_request: Spread::of(samples().map(|s| s.cpu_micros_per_request)),
            requests_per_second: Spread::of(samples().map(|s| s.requests_per_second)),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} rounds of {} s; server CPU per request in us, min / median / max",
            self.rounds, self.seconds
        )?;
        for case in CASES {
            writeln!(f, "\n{:<36} {:>26} {:>12}", case.about(), "CPU us", "requests/s")?;
            for row in self.http.iter().filter(|row| row.case == case) {
                writeln!(
                    f,
                    "  {:<34} {:>26} {:>12.0}",
                    row.server.about(),
                    show(row.cpu_micros_per_request, 1),
                    row.requests_per_second.median
                )?;
            }
        }

        writeln!(f, "\n{:<36} {:>26} {:>12}", "in process", "ns", "allocations")?;
        for row in &self.in_process {
            writeln!(
                f,
                "  {:<34} {:>26} {:>12.1}",
                row.of,
                show(row.nanos_per_call, 0),
                row.allocations_per_call.median
            )?;
        }

        writeln!(f, "\n{:<36} {:>26} {:>12}", "goals", "measured", "at most")?;
        for verdict in &self.goals {
            let goal = verdict.goal.map_or("-".to_owned(), |goal| format!("{goal:.2}"));
            let reached = match verdict.reached {
                Some(true) => "reached",
                Some(false) => "missed",
                None => "",
            };
            let row = format!(
                "  {:<34} {:>26} {goal:>12}  {reached}",
                verdict.what,
                show(verdict.measured, 3)
            );
            writeln!(f, "{}", row.trim_end())?;
        }
        Ok(())
    }
}

fn show(spread: Spread, decimals: usize) -> String {
    let Spread { min, median, max } = spread;
    format!("{min:.decimals$} / {median:.decimals$} / {max:.decimals$}")
}
