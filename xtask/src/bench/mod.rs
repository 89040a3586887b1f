//! Compares the server with others, in rounds: JSON-RPC over HTTP and in process, latency, memory per connection,
//! `tools/call` of MCP, a database, records, clients, and EDN. Also measures the cost of the layers.
//!
//! On a noisy machine, the most reliable figure is the ratio of the CPU times per request from the same round.

mod build;
mod client;
mod connection;
mod connections;
mod contender;
mod dispatch;
mod edn;
mod execute;
mod goals;
mod instructions;
mod latency;
mod layers;
mod load;
mod options;
mod probe;
mod process;
mod report;
mod sample;
mod server;
mod spread;
mod sql;
mod streams;
mod turns;

use std::path::Path;

use anyhow::{Context, Result};

use self::contender::{Case, Contender, Field, PAIR};
use self::load::Post;
use self::options::{Options, Part, USAGE};
use self::report::Report;
use self::sample::Sample;
use self::server::Server;
use self::sql::Setup;
use crate::workspace::Workspace;

const CONNECTIONS: u32 = 16;

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let Some(options) = Options::parse(args)? else {
        println!("{USAGE}");
        return Ok(());
    };
    if [Part::Rpc, Part::Latency, Part::Mcp, Part::Execute]
        .into_iter()
        .any(|part| options.includes(part))
    {
        load::require_wrk()?;
    }
    if options.includes(Part::Instructions) {
        instructions::require()?;
    }
    let mut report = Report::new(options.rounds, options.seconds);
    if options.only != Some(Part::Execute) {
        beside_others(workspace, &options, &mut report)?;
    }
    if options.includes(Part::Execute) {
        eprintln!("building a server of records as it would be distributed");
        let setup = execute::Setup::provide(workspace)?;
        report.add_execute(&options.rounds_of("records", || setup.round(options.seconds))?);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}

/// Measurements with the programs of `bench/`.
fn beside_others(workspace: &Workspace, options: &Options, report: &mut Report) -> Result<()> {
    eprintln!("building bench/ as it would be distributed");
    let packages = ["trunkline-bench", PAIR];
    let binaries = build::contenders(workspace, build::DIST, &packages)?;
    let bench = Bench { workspace, binaries: &binaries, options };
    if options.includes(Part::Rpc) {
        let rounds = options.rounds_of("JSON-RPC", || bench.field(&contender::JSON_RPC))?;
        eprintln!("in process");
        let in_process = dispatch::measure(bench.binaries, options.rounds)?;
        report.add_rpc(&rounds, &in_process);
    }
    if options.includes(Part::Latency) {
        let round = || latency::round(workspace, bench.binaries, options.seconds);
        report.add_latency(&options.rounds_of("latency", round)?);
    }
    if options.includes(Part::Connections) {
        connections::allow_files()?;
        let round = || connections::round(workspace, bench.binaries);
        report.add_connections(&options.rounds_of("connections", round)?);
    }
    if options.includes(Part::Mcp) {
        let rounds = options.rounds_of("tools/call", || bench.field(&contender::MCP))?;
        report.add_mcp(&rounds);
    }
    if options.includes(Part::Streams) {
        connections::allow_files()?;
        let round = || streams::round(workspace, bench.binaries);
        report.add_streams(&options.rounds_of("streams", round)?);
    }
    if options.includes(Part::Sql) {
        eprintln!(
            "building the server as it would be distributed, installing Toolbox, writing a database"
        );
        let setup = Setup::provide(workspace, bench.binaries)?;
        let rounds = options.rounds_of("SQL", || setup.round(options.seconds))?;
        report.add_sql(&rounds, &setup.sizes(workspace)?);
    }
    if options.includes(Part::Client) {
        eprintln!("clients");
        report.add_client(&client::measure(bench.binaries, options.rounds)?);
    }
    if options.includes(Part::Edn) {
        eprintln!("EDN");
        report.add_edn(&edn::measure(bench.binaries, options.rounds)?);
    }
    if options.includes(Part::Instructions) {
        report.add_instructions(instructions::measure(workspace, bench.binaries)?);
    }
    if options.includes(Part::Layers) {
        eprintln!("layers");
        report.add_layers(&layers::measure(bench.binaries, options.rounds)?);
    }
    Ok(())
}

/// The step of `cargo xtask ci`: the instructions per request, compared with the recorded ones.
pub(crate) fn check_instructions(workspace: &Workspace) -> Result<()> {
    instructions::require()?;
    println!("building two servers with optimization");
    let binaries = build::contenders(workspace, build::INSTRUCTIONS, &[PAIR])?;
    instructions::check(workspace, &binaries)
}

struct Bench<'b> {
    workspace: &'b Workspace,
    binaries: &'b Path,
    options: &'b Options,
}

impl Bench<'_> {
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
        let load = load::post(
            self.workspace,
            &Post {
                url: format!("http://{}{}", server.address, case.path()),
                body_file: case.body_file(),
                headers: case.headers(),
                connections: CONNECTIONS,
                seconds: self.options.seconds,
            },
        )?;
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
