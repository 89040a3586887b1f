//! Compares the server with others, in rounds.
//!
//! On a noisy machine, the most reliable figure is the ratio of the CPU times per request from the same round.

mod connection;
mod instructions;
mod load;
mod memory;
mod records;
mod report;
mod server;
mod sql;

use anyhow::Result;

pub(crate) use self::instructions::check as check_instructions;

use self::load::{CALLS, CPU, JSON_RPC, LATENCY, MCP, OURS, RMCP, TOOLS};
use self::report::{Figure, Goal, Ratio, Report};
use self::server::SERVER_CORE;
use crate::options::Options;
use crate::workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask bench [--only PART] [--json] [--rounds N] [--seconds S]

  --only PART   rpc: JSON-RPC beside jsonrpsee and others, over HTTP and in process
                latency: requests per second and latency of a single call, at 1, 16 and 256 connections
                connections: memory of an idle connection
                mcp: tools/call and tools/list of 100 tools beside rmcp
                streams: memory of open subscriptions and abandoned sessions of MCP
                sql: a database beside Google's MCP Toolbox
                execute: records natively and by JSON-RPC, and how many can be made to last
                client: a client and a server in one process, beside jsonrpsee's
                edn: EDN read and written beside clojure-reader, edn-format and serde_json
                layers: what each optional layer costs a call, in process
                instructions: user instructions per request, under callgrind
  --json        print the report as JSON
  --rounds N    how often each of them is measured (default 5; instructions once)
  --seconds S   how long each measurement of a server takes (default 3)";

/// The measurements of one round of a part.
type Round<'w> = Box<dyn FnMut() -> Result<Vec<Figure>> + 'w>;

/// The goals of a part.
type Ratios = fn() -> Vec<Ratio>;

const NAMES: &str =
    "rpc latency connections mcp streams sql execute client edn layers instructions";
const INSTRUCTIONS: &str = "instructions";

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Some(options) = Options::parse(arguments, USAGE)? else { return Ok(()) };
    let (rounds, seconds) = (options.number("--rounds", 5)?, options.number("--seconds", 3)?);
    let mut report = Report::new(rounds, seconds);
    for name in options.only(&NAMES.split(' ').collect::<Vec<_>>())? {
        let (mut round, ratios) = part(workspace, name, seconds)?;
        let mut measured = Vec::new();
        for number in 1..=if name == INSTRUCTIONS { 1 } else { rounds } {
            eprintln!("{name}: round {number}");
            measured.push(round()?);
        }
        report.add(&measured, &ratios());
    }
    if options.has("--json") {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}

fn part<'w>(workspace: &'w Workspace, name: &str, seconds: u32) -> Result<(Round<'w>, Ratios)> {
    let program =
        |name, core| -> Round<'w> { Box::new(move || load::program(workspace, name, core)) };
    let none: Ratios = Vec::new;
    Ok(match name {
        "rpc" => {
            let round = move || {
                let mut figures = load::round(workspace, JSON_RPC, &CALLS, (&[16], seconds))?;
                figures.extend(load::program(workspace, "dispatch", Some(SERVER_CORE))?);
                Ok(figures)
            };
            (Box::new(round), in_process as _)
        }
        "latency" => {
            let load = (&[1, 16, 256][..], seconds);
            (Box::new(move || load::round(workspace, LATENCY, &CALLS[..1], load)), none)
        }
        "connections" | "streams" => {
            memory::allow_files()?;
            let round = if name == "streams" { memory::streams } else { memory::connections };
            (Box::new(move || round(workspace)), none)
        }
        "mcp" => {
            let round = move || load::round(workspace, MCP, &TOOLS, (&[16], seconds));
            (Box::new(round), tools as _)
        }
        "sql" => (Box::new(sql::rounds(workspace, seconds)?), sql::ratios as _),
        "execute" => (Box::new(move || records::round(workspace, seconds)), records::ratios as _),
        "client" => (program("clients", None), none),
        "edn" => (program("edn", Some(SERVER_CORE)), edn as _),
        "layers" => (program("layers", Some(SERVER_CORE)), none),
        _ => (Box::new(|| instructions::round(workspace)), instructions::ratios as _),
    })
}

fn in_process() -> Vec<Ratio> {
    let table = "in process, default layers";
    vec![
        Ratio::new((table, "ns"), OURS, load::JSONRPSEE, Some(Goal::AtMost(0.30))),
        Ratio::new((table, "allocations"), OURS, "", Some(Goal::AtMost(3.0))),
    ]
}

fn tools() -> Vec<Ratio> {
    let table = |case: &load::Case| format!("{}, connections: 16", case.name);
    TOOLS.iter().map(|case| Ratio::new((&table(case), CPU), OURS, RMCP, None)).collect()
}

fn edn() -> Vec<Ratio> {
    let (ours, theirs) = ("trunkline-edn", "clojure-reader");
    let of_task = |table| {
        [
            Ratio::new((table, "ms"), theirs, ours, Some(Goal::AtLeast(2.0))),
            Ratio::new((table, "ms"), ours, "serde_json", Some(Goal::AtMost(3.0))),
        ]
    };
    ["EDN, read", "EDN, write"].into_iter().flat_map(of_task).collect()
}
