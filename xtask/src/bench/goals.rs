//! Goals: ratios of two figures of the same round, or figures of ours.

use std::fmt;

use serde::Serialize;

use super::contender::{Case, Contender};
use super::dispatch::Round;
use super::edn;
use super::sample::Sample;
use super::spread::Spread;

/// The ratio of the CPU time per request of two contenders. Goals are set for instructions, which are reproducible.
struct Ratio {
    case: Case,
    of: Contender,
    over: Contender,
}

const RPC: [Ratio; 4] = [
    ours(Case::Single, Contender::Floor),
    ours(Case::Single, Contender::PeerJsonrpsee),
    ours(Case::Batch, Contender::Floor),
    ours(Case::Batch, Contender::PeerJsonrpsee),
];

const MCP: [Ratio; 4] = [
    tool(Case::LegacyTool),
    tool(Case::ModernTool),
    tool(Case::LegacyList),
    tool(Case::ModernList),
];

const fn ours(case: Case, over: Contender) -> Ratio {
    Ratio { case, of: Contender::Ours, over }
}

const fn tool(case: Case) -> Ratio {
    Ratio { case, of: Contender::McpOurs, over: Contender::McpRmcp }
}

/// Maximum ratio of the time of a call in process, with all default layers, to jsonrpsee.
const IN_PROCESS_OVER_JSONRPSEE: f64 = 0.30;
const ALLOCATIONS: f64 = 3.0;

/// Minimum ratio of the time of clojure-reader to ours.
const EDN_CLOJURE_READER: Goal = Goal::AtLeast(2.0);
/// Maximum ratio of our time to that of serde_json with the same data.
const EDN_SERDE_JSON: Goal = Goal::AtMost(3.0);

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Serialize)]
pub(super) struct Verdict {
    pub(super) what: String,
    pub(super) measured: Spread,
    pub(super) goal: Option<Goal>,
    pub(super) reached: Option<bool>,
}

impl Verdict {
    pub(super) fn of(what: impl Into<String>, measured: Spread, goal: Option<Goal>) -> Self {
        let reached = goal.map(|goal| goal.is_reached_by(measured.median));
        Self { what: what.into(), measured, goal, reached }
    }
}

impl Goal {
    fn is_reached_by(self, figure: f64) -> bool {
        match self {
            Self::AtMost(most) => figure <= most,
            Self::AtLeast(least) => figure >= least,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most:.2}"),
            Self::AtLeast(least) => write!(f, ">= {least:.2}"),
        }
    }
}

pub(super) fn of_rpc(rounds: &[Vec<Sample>], in_process: &[Round]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = RPC.iter().map(|ratio| ratio.verdict(rounds)).collect();
    verdicts.push(Verdict::of(
        "in process, default layers, ours / jsonrpsee",
        Spread::of(in_process.iter().map(|round| round.ours.nanos / round.jsonrpsee.nanos)),
        Some(Goal::AtMost(IN_PROCESS_OVER_JSONRPSEE)),
    ));
    verdicts.push(Verdict::of(
        "in process, our allocations",
        Spread::of(in_process.iter().map(|round| round.ours.allocations)),
        Some(Goal::AtMost(ALLOCATIONS)),
    ));
    verdicts
}

pub(super) fn of_mcp(rounds: &[Vec<Sample>]) -> Vec<Verdict> {
    MCP.iter().map(|ratio| ratio.verdict(rounds)).collect()
}

/// Reading includes dropping the values.
pub(super) fn of_edn(rounds: &[Vec<edn::Row>]) -> Vec<Verdict> {
    let ratio = |task: &str, of: &str, over: &str, goal| {
        let millis = |rows: &[edn::Row], of: &str| {
            rows.iter().find(|row| row.task == task && row.of == of).map(|row| row.millis)
        };
        let ratios = rounds.iter().filter_map(|rows| Some(millis(rows, of)? / millis(rows, over)?));
        Verdict::of(format!("EDN, {task}, {of} / {over}"), Spread::of(ratios), goal)
    };
    let of_task = |task| {
        [
            ratio(task, "clojure-reader", "trunkline-edn", Some(EDN_CLOJURE_READER)),
            ratio(task, "edn-format", "trunkline-edn", None),
            ratio(task, "trunkline-edn", "serde_json", Some(EDN_SERDE_JSON)),
        ]
    };
    ["read", "write"].into_iter().flat_map(of_task).collect()
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (of, over) = (self.of.binary(), self.over.binary());
        write!(f, "{}, {of} / {over}", self.case.about())
    }
}

impl Ratio {
    fn verdict(&self, rounds: &[Vec<Sample>]) -> Verdict {
        let ratios = rounds.iter().filter_map(|round| self.in_round(round));
        Verdict::of(self.to_string(), Spread::of(ratios), None)
    }

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

    /// A round in which ours costs `ours` and all others cost 10.
    fn round(ours: f64) -> Vec<Sample> {
        let rpc = [Case::Single, Case::Batch].into_iter().flat_map(|case| {
            [
                sample(Contender::Floor, case, 10.0),
                sample(Contender::Ours, case, ours),
                sample(Contender::PeerJsonrpsee, case, 10.0),
            ]
        });
        let mcp = MCP.into_iter().flat_map(|Ratio { case, .. }| {
            [sample(Contender::McpOurs, case, ours), sample(Contender::McpRmcp, case, 10.0)]
        });
        rpc.chain(mcp).collect()
    }

    fn in_process(ours: f64) -> Round {
        let cost = |nanos| Cost { nanos, allocations: 3.0 };
        Round { ours: cost(ours), jsonrpsee: cost(100.0) }
    }

    #[track_caller]
    fn check(verdicts: &[Verdict], expected: &[(&str, f64, Option<bool>)]) {
        let rows: Vec<(&str, f64, Option<bool>)> = verdicts
            .iter()
            .map(|verdict| (&*verdict.what, verdict.measured.median, verdict.reached))
            .collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn ratios_are_medians() {
        let rounds = [round(30.0), round(8.0), round(7.0)];
        check(
            &of_rpc(&rounds, &[in_process(31.0)]),
            &[
                ("single call, ours / floor", 0.8, None),
                ("single call, ours / peer_jsonrpsee", 0.8, None),
                ("batch of 100, ours / floor", 0.8, None),
                ("batch of 100, ours / peer_jsonrpsee", 0.8, None),
                ("in process, default layers, ours / jsonrpsee", 0.31, Some(false)),
                ("in process, our allocations", 3.0, Some(true)),
            ],
        );
        check(
            &of_mcp(&rounds),
            &[
                ("tools/call, 2025-11-25, mcp_ours / mcp_rmcp", 0.8, None),
                ("tools/call, 2026-07-28, mcp_ours / mcp_rmcp", 0.8, None),
                ("tools/list of 100, 2025-11-25, mcp_ours / mcp_rmcp", 0.8, None),
                ("tools/list of 100, 2026-07-28, mcp_ours / mcp_rmcp", 0.8, None),
            ],
        );
    }

    #[test]
    fn edn_is_compared_with_edn_and_json() {
        let row = |task: &str, of: &str, millis| {
            let (task, of) = (task.to_owned(), of.to_owned());
            edn::Row { task, of, bytes: 1, millis }
        };
        let round: Vec<edn::Row> = ["read", "write", "read and keep"]
            .into_iter()
            .flat_map(|task| {
                [
                    row(task, "trunkline-edn", 10.0),
                    row(task, "clojure-reader", if task == "read" { 20.0 } else { 19.0 }),
                    row(task, "edn-format", 50.0),
                    row(task, "serde_json", if task == "read" { 2.5 } else { 5.0 }),
                ]
            })
            .collect();
        check(
            &of_edn(&[round]),
            &[
                ("EDN, read, clojure-reader / trunkline-edn", 2.0, Some(true)),
                ("EDN, read, edn-format / trunkline-edn", 5.0, None),
                ("EDN, read, trunkline-edn / serde_json", 4.0, Some(false)),
                ("EDN, write, clojure-reader / trunkline-edn", 1.9, Some(false)),
                ("EDN, write, edn-format / trunkline-edn", 5.0, None),
                ("EDN, write, trunkline-edn / serde_json", 2.0, Some(true)),
            ],
        );
    }

    #[test]
    fn goals_include_their_limit() {
        assert!(Goal::AtMost(0.25).is_reached_by(0.25));
        assert!(!Goal::AtMost(0.25).is_reached_by(0.26));
        assert!(Goal::AtLeast(5.0).is_reached_by(5.0));
        assert!(!Goal::AtLeast(5.0).is_reached_by(4.9));
    }
}
