//! The goal: JSON-RPC costs little more than native commands.

use super::Measurements;
use super::case::{CASES, Case, Command, Form};
use crate::bench::goals::{Goal, Verdict};
use crate::bench::spread::Spread;

/// Maximum ratio to the CPU time of the native form.
const JSON_RPC: f64 = 1.10;

/// # Panics
/// If `rounds` is empty.
pub(in crate::bench) fn verdicts(rounds: &[Measurements]) -> Vec<Verdict> {
    let json_rpc = CASES.into_iter().filter(|case| case.form == Form::JsonRpc);
    json_rpc.map(|case| verdict(rounds, case)).collect()
}

fn verdict(rounds: &[Measurements], case: Case) -> Verdict {
    let ratios = rounds.iter().filter_map(|round| {
        let cpu = |case| round.sample(case).map(|sample| sample.cpu_micros_per_request);
        Some(cpu(case)? / cpu(case.natively())?)
    });
    let goal = (case.command == Command::Update).then_some(Goal::AtMost(JSON_RPC));
    let (command, place) = (case.command.name(), case.place.about());
    let what = format!("{command} {place}, JSON-RPC / native");
    Verdict::of(what, Spread::of(ratios), goal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::execute::Sample;

    /// A round in which JSON-RPC takes this multiple of the time of the native form.
    fn round(times: f64) -> Measurements {
        let sample = |case: Case| {
            let cpu_micros_per_request =
                if case.form == Form::Native { 10.0 } else { 10.0 * times };
            Sample { case, cpu_micros_per_request, requests_per_second: 1.0 }
        };
        Measurements { samples: CASES.map(sample).into(), in_process_per_second: 1.0 }
    }

    #[test]
    fn the_median_of_the_ratios_decides() {
        let verdicts = verdicts(&[round(1.5), round(1.2), round(0.5)]);
        let rows: Vec<(&str, f64, Option<bool>)> = verdicts
            .iter()
            .map(|verdict| (&*verdict.what, verdict.measured.median, verdict.reached))
            .collect();
        assert_eq!(
            rows,
            [
                ("read in memory, JSON-RPC / native", 1.2, None),
                ("update in memory, JSON-RPC / native", 1.2, Some(false)),
                ("update on disk, JSON-RPC / native", 1.2, Some(false)),
            ]
        );
    }
}
