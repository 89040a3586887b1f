//! Development tasks, run as `cargo xtask <task>`.
//!
//! `ci` runs all checks that a change must pass. Each step is also a separate task.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks print results to stdout and progress to stderr"
)]

mod bench;
mod book;
mod ci;
mod cluster;
mod conformance;
mod dist;
mod doc_index;
mod inspector;
mod metadata;
mod monitoring;
mod options;
mod peers;
mod publish;
mod sample_db;
mod scripts;
mod sdk;
mod server_process;
mod soak;
mod sqlite;
mod suite;
mod tidy;

mod upstreams;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let workspace = Workspace::find()?;
    let Some((task, rest)) = args.split_first() else {
        bail!("no task is given\n\n{}", usage());
    };
    match task.as_str() {
        "help" | "-h" | "--help" => println!("{}", usage()),
        "ci" => ci::run(&workspace, rest)?,
        "bench" => bench::run(&workspace, rest)?,
        "cluster" => cluster::run_with(&workspace, rest)?,
        "dist" => dist::run_all(&workspace, rest)?,
        "sample-db" => sample_db::run(&workspace, rest)?,
        "soak" => soak::run_with(&workspace, rest)?,
        "stress" => suite::stress(&workspace, rest)?,
        _ if !rest.is_empty() => bail!("`{task}` takes no arguments, got {rest:?}"),
        "model-check" => scripts::model_check(&workspace)?,
        "book-update" => book::update(&workspace)?,
        "publish-dry-run" => publish::dry_run(&workspace)?,
        name => match ci::run_step(&workspace, name) {
            Some(result) => result?,
            None => bail!("unknown task `{name}`\n\n{}", usage()),
        },
    }
    Ok(())
}

fn usage() -> String {
    let list = |steps: &[ci::Step]| -> String {
        steps.iter().map(|(name, about, _)| format!("  {name:<15}  {about}\n")).collect()
    };
    let (gate, rest) = (list(ci::GATE), list(ci::REST));
    format!(
        "usage: cargo xtask <task>

  ci             these steps, in this order; reports all failures at the end
{gate}
  ci --all       these steps, too
{rest}
  dist             build all packages, install each and use it; `cargo xtask dist [PROGRAM]`
  publish-dry-run  publish without the upload; takes minutes
  bench            compare the server with others; see `cargo xtask bench --help`
  cluster          restart nodes and PostgreSQL under load, and measure; see `cargo xtask cluster --help`
  book-update      write the generated page of the documentation
  soak             load tests, databases whose server is killed, memory attacks and time limits; takes 30 minutes
  stress           run the tests ten times next to busy loops; see `cargo xtask stress --help`
  model-check      a small language model uses the agent's tools; downloads 110 MB
  sample-db        write the Chinook sample database: `cargo xtask sample-db FILE`"
    )
}
