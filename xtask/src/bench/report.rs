//! The report, as text and as JSON.

use std::fmt;

use serde::Serialize;

use super::client;
use super::connections;
use super::contender::{Case, Contender, Field, JSON_RPC, MCP};
use super::dispatch::{Cost, Round};
use super::edn;
use super::execute;
use super::goals::{self, Verdict};
use super::instructions;
use super::latency;
use super::layers;
use super::sample::Sample;
use super::spread::Spread;
use super::sql::{self, Measurements, Sizes};
use super::streams;

#[derive(Serialize)]
pub(super) struct Report {
    rounds: usize,
    seconds: u32,
    http: Vec<Http>,
    in_process: Vec<InProcess>,
    latency: Option<latency::Report>,
    connections: Option<connections::Report>,
    streams: Option<streams::Report>,
    sql: Option<sql::Report>,
    execute: Option<execute::Report>,
    client: Option<client::Report>,
    edn: Option<edn::Report>,
    instructions: Option<instructions::Report>,
    layers: Option<layers::Report>,
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
    pub(super) fn new(rounds: usize, seconds: u32) -> Self {
        Self {
            rounds,
            seconds,
            http: Vec::new(),
            in_process: Vec::new(),
            latency: None,
            connections: None,
            streams: None,
            sql: None,
            execute: None,
            client: None,
            edn: None,
            instructions: None,
            layers: None,
            goals: Vec::new(),
        }
    }

    pub(super) fn add_rpc(&mut self, rounds: &[Vec<Sample>], in_process: &[Round]) {
        self.http.extend(Http::of_field(rounds, &JSON_RPC));
        self.in_process = InProcess::both(in_process);
        self.goals.extend(goals::of_rpc(rounds, in_process));
    }

    pub(super) fn add_latency(&mut self, rounds: &[Vec<latency::Sample>]) {
        self.latency = Some(latency::Report::of(rounds));
        self.goals.extend(latency::verdicts(rounds));
    }

    pub(super) fn add_connections(&mut self, rounds: &[Vec<connections::Sample>]) {
        self.connections = Some(connections::Report::of(rounds));
        self.goals.extend(connections::verdicts(rounds));
    }

    pub(super) fn add_mcp(&mut self, rounds: &[Vec<Sample>]) {
        self.http.extend(Http::of_field(rounds, &MCP));
        self.goals.extend(goals::of_mcp(rounds));
    }

    pub(super) fn add_streams(&mut self, rounds: &[streams::Sample]) {
        self.streams = Some(streams::Report::of(rounds));
    }

    pub(super) fn add_sql(&mut self, rounds: &[Vec<Measurements>], sizes: &Sizes) {
        self.sql = Some(sql::Report::of(rounds, sizes));
        self.goals.extend(sql::verdicts(rounds, sizes));
    }

    pub(super) fn add_execute(&mut self, rounds: &[execute::Measurements]) {
        self.execute = Some(execute::Report::of(rounds));
        self.goals.extend(execute::verdicts(rounds));
    }

    pub(super) fn add_client(&mut self, rounds: &[client::Round]) {
        self.client = Some(client::Report::of(rounds));
        self.goals.extend(client::verdicts(rounds));
    }

    pub(super) fn add_edn(&mut self, rounds: &[Vec<edn::Row>]) {
        self.edn = Some(edn::Report::of(rounds));
        self.goals.extend(goals::of_edn(rounds));
    }

    pub(super) fn add_instructions(&mut self, measured: instructions::Report) {
        self.goals.extend(measured.verdicts());
        self.instructions = Some(measured);
    }

    pub(super) fn add_layers(&mut self, rounds: &[Vec<layers::Row>]) {
        self.layers = Some(layers::Report::of(rounds));
    }
}

impl Http {
    /// The rows of all contenders for each case.
    fn of_field(rounds: &[Vec<Sample>], field: &Field) -> Vec<Self> {
        let of_case =
            |&case| field.contenders.iter().map(move |&server| Self::of(rounds, server, case));
        field.cases.iter().flat_map(of_case).collect()
    }

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

impl InProcess {
    fn both(rounds: &[Round]) -> Vec<Self> {
        let of = |of, cost: fn(&Round) -> &Cost| Self {
            of,
            nanos_per_call: Spread::of(rounds.iter().map(|round| cost(round).nanos)),
            allocations_per_call: Spread::of(rounds.iter().map(|round| cost(round).allocations)),
        };
        vec![of("ours", |round| &round.ours), of("jsonrpsee", |round| &round.jsonrpsee)]
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} rounds, of {} s each server; CPU time of one call, min / median / max",
            self.rounds, self.seconds
        )?;
        let mut shown = None;
        for row in &self.http {
            if shown.replace(row.case) != Some(row.case) {
                writeln!(f, "\n{:<36} {:>26} {:>12}", row.case.about(), "CPU us", "requests/s")?;
            }
            writeln!(
                f,
                "  {:<34} {:>26} {:>12.0}",
                row.server.about(),
                row.cpu_micros_per_request.show(1),
                row.requests_per_second.median
            )?;
        }

        if !self.in_process.is_empty() {
            writeln!(f, "\n{:<36} {:>26} {:>12}", "in process", "ns", "allocations")?;
        }
        for row in &self.in_process {
            writeln!(
                f,
                "  {:<34} {:>26} {:>12.1}",
                row.of,
                row.nanos_per_call.show(0),
                row.allocations_per_call.median
            )?;
        }

        let parts: [Option<&dyn fmt::Display>; 9] = [
            self.latency.as_ref().map(|part| part as _),
            self.connections.as_ref().map(|part| part as _),
            self.streams.as_ref().map(|part| part as _),
            self.sql.as_ref().map(|part| part as _),
            self.execute.as_ref().map(|part| part as _),
            self.client.as_ref().map(|part| part as _),
            self.edn.as_ref().map(|part| part as _),
            self.instructions.as_ref().map(|part| part as _),
            self.layers.as_ref().map(|part| part as _),
        ];
        parts.into_iter().flatten().try_for_each(|part| write!(f, "{part}"))?;

        if !self.goals.is_empty() {
            writeln!(f, "\n{:<54} {:>26} {:>12}", "goals", "measured", "goal")?;
        }
        for verdict in &self.goals {
            let goal = verdict.goal.map_or("-".to_owned(), |goal| goal.to_string());
            let reached = match verdict.reached {
                Some(true) => "reached",
                Some(false) => "missed",
                None => "",
            };
            let row = format!(
                "  {:<52} {:>26} {goal:>12}  {reached}",
                verdict.what,
                verdict.measured.show(3)
            );
            writeln!(f, "{}", row.trim_end())?;
        }
        Ok(())
    }
}
