//! Measures the server against its peers, each in turn, over rounds: JSON-RPC over HTTP and in process,
//! `tools/call` of MCP, a database, clients, and EDN. And measures what its own layers cost.
//!
//! The figure that holds on a noisy machine is the server's CPU time per request, and what holds
//! best is the ratio of two of them from the same round.

mod client;
mod contender;
mod dispatch;
mod edn;
mod goals;
mod layers;
mod load;
mod options;
mod probe;
mod process;
mod report;
mod server;
mod spread;
mod sql;
mod turns;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use self::contender::{Case, Contender, Field};
use self::options::{Options, Part, USAGE};
use self::report::Report;
use self::server::Server;
use self::sql::Setup;
use crate::workspace::{self, Workspace};

/// One server under one load, once.
struct Sample {
    contender: Contender,
    case: Case,
    cpu_micros_per_request: f64,
    requests_per_second: f64,
}

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let Some(options) = Options::parse(args)? else {
        println!("{USAGE}");
        return Ok(());
    };
    if options.wants(Part::Rpc) || options.wants(Part::Mcp) {
        load::require_wrk()?;
    }
    eprintln!("building bench/ in release");
    let bench = Bench { workspace, binaries: &build(workspace)?, options: &options };

    let mut report = Report::new(options.rounds, options.seconds);
    if options.wants(Part::Rpc) {
        let rounds = bench.rounds("JSON-RPC", |bench| bench.field(&contender::JSON_RPC))?;
        eprintln!("in process");
        let in_process = dispatch::measure(bench.binaries, options.rounds)?;
        report.add_rpc(&rounds, &in_process);
    }
    if options.wants(Part::Mcp) {
        let rounds = bench.rounds("tools/call", |bench| bench.field(&contender::MCP))?;
        report.add_mcp(&rounds);
    }
    if options.wants(Part::Sql) {
        eprintln!("building the server in release, installing Toolbox, writing a database");
        let setup = Setup::provide(workspace, bench.binaries)?;
        let rounds = bench.rounds("SQL", |_| setup.round(options.seconds))?;
        report.add_sql(&rounds, &setup.sizes(workspace)?);
    }
    if options.wants(Part::Client) {
        eprintln!("clients");
        report.add_client(&client::measure(bench.binaries, options.rounds)?);
    }
    if options.wants(Part::Edn) {
        eprintln!("EDN");
        report.add_edn(&edn::measure(bench.binaries, options.rounds)?);
    }
    if options.wants(Part::Layers) {
        eprintln!("layers");
        report.add_layers(&layers::measure(bench.binaries, options.rounds)?);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}

/// The folder of the built contenders. It is `bench/target` wherever our own target folder is.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let target = workspace.path("bench/target");
    workspace::output(
        workspace
            .cargo(["build", "--release", "--manifest-path=bench/Cargo.toml"])
            .arg("--target-dir")
            .arg(&target),
    )?;
    Ok(target.join("release"))
}

struct Bench<'b> {
    workspace: &'b Workspace,
    binaries: &'b Path,
    options: &'b Options,
}

impl Bench<'_> {
    fn rounds<T>(&self, what: &str, round: impl Fn(&Self) -> Result<T>) -> Result<Vec<T>> {
        let rounds = self.options.rounds;
        (1..=rounds)
            .map(|number| {
                eprintln!("{what}, round {number} of {rounds}");
                round(self)
            })
            .collect()
    }

    fn field(&self, field: &Field) -> Result<Vec<Sample>> {
        let mut samples = Vec::new();
        for &contender in field.contenders {
            let server = Server::start(self.binaries, contender)?;
            for &case in field.cases {
                let sample = self.measure(&server, contender, case);
                let what = || format!("{} of {}", case.about(), contender.binary());
                samples.push(sample.with_context(what)?);
            }
        }
        Ok(samples)
    }

    fn measure(&self, server: &Server, contender: Contender, case: Case) -> Result<Sample> {
        probe::check(self.workspace, server, case)?;
        let before = server.cpu_time()?;
        let load = load::post(self.workspace, server, case, self.options.seconds)?;
        let cpu = server.cpu_time()? - before;
        let requests = load.requests as f64;
        Ok(Sample {
            contender,
            case,
            cpu_micros_per_request: cpu.as_secs_f64() * 1e6 / requests,
            requests_per_second: requests * 1e6 / load.micros as f64,
        })
    }
}
