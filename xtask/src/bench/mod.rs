//! Measures the server against its peers: on HTTP, each in turn, over rounds; then in process.
//!
//! The figure that holds on a noisy machine is the server's CPU time per request, and what holds
//! best is the ratio of two of them from the same round.

mod contender;
mod dispatch;
mod goals;
mod load;
mod options;
mod probe;
mod report;
mod server;
mod spread;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use self::contender::{CASES, CONTENDERS, Case, Contender};
use self::options::{Options, USAGE};
use self::report::Report;
use self::server::Server;
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
    load::require_wrk()?;
    eprintln!("building bench/ in release");
    let binaries = build(workspace)?;

    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        rounds.push(measure_round(workspace, &binaries, options.seconds)?);
    }
    eprintln!("in process");
    let in_process = dispatch::measure(workspace, &binaries, options.rounds)?;

    let report = Report::of(&rounds, &in_process, options.seconds);
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

fn measure_round(workspace: &Workspace, binaries: &Path, seconds: u32) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for contender in CONTENDERS {
        let server = Server::start(binaries, contender)?;
        for case in CASES {
            let sample = measure(workspace, &server, contender, case, seconds);
            let what = || format!("{} of {}", case.about(), contender.binary());
            samples.push(sample.with_context(what)?);
        }
    }
    Ok(samples)
}

fn measure(
    workspace: &Workspace,
    server: &Server,
    contender: Contender,
    case: Case,
    seconds: u32,
) -> Result<Sample> {
    probe::check(workspace, server, case)?;
    let before = server.cpu_time()?;
    let load = load::post(workspace, server, case, seconds)?;
    let cpu = server.cpu_time()? - before;
    let requests = load.requests as f64;
    Ok(Sample {
        contender,
        case,
        cpu_micros_per_request: cpu.as_secs_f64() * 1e6 / requests,
        requests_per_second: requests * 1e6 / load.micros as f64,
    })
}
