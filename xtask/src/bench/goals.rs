//! What we aim at. A goal is a ratio of two figures of one round, or a count.

use std::fmt;

use serde::Serialize;

use super::Sample;
use super::contender::{Case, Contender};
use super::dispatch::Round;
use super::spread::Spread;

/// The CPU time per request of one contender over that of another.
struct Ratio {
    case: Case,
    of: Contender,
    over: Contender,
    /// `None` is for information.
    goal: Option<f64>,
}

const RATIOS: [Ratio; 6] = [
    ours(Case::Single, Contender::Floor, Some(1.15)),
    ours(Case::Single, Contender::PeerJsonrpsee, Some(0.80)),
    // Where this is close to the goal above it, the goal asks for less than HTTP itself costs.
    floor(Case::Single, Contender::PeerJsonrpsee),
    ours(Case::Batch, Contender::Floor, None),
    ours(Case::Batch, Contender::PeerJsonrpsee, Some(0.17)),
    floor(Case::Batch, Contender::PeerJsonrpsee),
];

const fn ours(case: Case, over: Contender, goal: Option<f64>) -> Ratio {
    Ratio { case, of: Contender::Ours, over, goal }
}

const fn floor(case: Case, over: Contender) -> Ratio {
    Ratio { case, of: Contender::Floor, over, goal: None }
}

const IN_PROCESS_OVER_JSONRPSEE: f64 = 0.10;
const ALLOCATIONS: f64 = 3.0;

#[derive(Serialize)]
pub(super) struct Verdict {
    pub(super) what: String,
    pub(super) measured: Spread,
    pub(super) goal: Option<f64>,
    pub(super) reached: Option<bool>,
}

impl Verdict {
    fn of(what: String, measured: Spread, goal: Option<f64>) -> Self {
        let reached = goal.map(|goal| measured.median <= goal);
        Self { what, measured, goal, reached }
    }
}

pub(super) fn verdicts(rounds: &[Vec<Sample>], in_process: &[Round]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = RATIOS
        .iter()
        .map(|ratio| {
            let what = ratio.to_string();
            let ratios = rounds.iter().filter_map(|round| ratio.in_round(round));
            Verdict::of(what, Spread::of(ratios), ratio.goal)
        })
        .collect();
    verdicts.push(Verdict::of(
        "in process, ours / jsonrpsee".to_owned(),
        Spread::of(in_process.iter().map(|round| round.ours.nanos / round.jsonrpsee.nanos)),
        Some(IN_PROCESS_OVER_JSONRPSEE),
    ));
    verdicts.push(Verdict::of(
        "in process, our allocations".to_owned(),
        Spread::of(in_process.iter().map(|round| round.ours.allocations)),
        Some(ALLOCATIONS),
    ));
    verdicts
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (of, over) = (self.of.binary(), self.over.binary());
        write!(f, "{}, {of} / {over}", self.case.about())
    }
}

impl Ratio {
    fn in_round(&self, round: &[Sample]) -> Option<f64> {
        let cpu = |contender| {
            round
                .iter()
                .find(|sample| sample.contender == contender && sample.case == self.case)
                .map(|sample| sample.cpu_micros_per_request)
        };
        Some(cpu(self.of)? / cpu(self.over)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::dispatch::Cost;

    fn sample(contender: Contender, case: Case, cpu: f64) -> Sample {
        Sample { contender, case, cpu_micros_per_request: cpu, requests_per_second: 1.0 }
    }

    /// A round in which we cost `ours` and everybody else costs 10.
    fn round(ours: f64) -> Vec<Sample> {
        [Case::Single, Case::Batch]
            .into_iter()
            .flat_map(|case| {
                [
                    sample(Contender::Floor, case, 10.0),
                    sample(Contender::Ours, case, ours),
                    sample(Contender::PeerJsonrpsee, case, 10.0),
                ]
            })
            .collect()
    }

    fn in_process(ours: f64) -> Round {
        let cost = |nanos| Cost { nanos, allocations: 3.0 };
        Round { ours: cost(ours), jsonrpsee: cost(100.0) }
    }

    #[test]
    fn the_median_of_the_ratios_decides() {
        let rounds = [round(30.0), round(8.0), round(7.0)];
        let verdicts = verdicts(&rounds, &[in_process(11.0)]);
        let rows: Vec<(&str, f64, Option<bool>)> = verdicts
            .iter()
            .map(|verdict| (&*verdict.what, verdict.measured.median, verdict.reached))
            .collect();
        assert_eq!(
            rows,
            [
                ("single call, ours / floor", 0.8, Some(true)),
                ("single call, ours / peer_jsonrpsee", 0.8, Some(true)),
                ("single call, floor / peer_jsonrpsee", 1.0, None),
                ("batch of 100, ours / floor", 0.8, None),
                ("batch of 100, ours / peer_jsonrpsee", 0.8, Some(false)),
                ("batch of 100, floor / peer_jsonrpsee", 1.0, None),
                ("in process, ours / jsonrpsee", 0.11, Some(false)),
                ("in process, our allocations", 3.0, Some(true)),
            ]
        );
    }
}
