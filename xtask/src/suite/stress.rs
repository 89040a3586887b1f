//! `cargo xtask stress`: runs the tests repeatedly next to busy loops, to find those that fail sometimes.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::{command, execute};
use crate::options::Options;
use crate::workspace::{self, Process, Workspace};

const USAGE: &str = "usage: cargo xtask stress [--rounds N] [--test FILTER]

  --rounds N     number of rounds [default: 10]
  --test FILTER  only tests whose name contains this";

pub(crate) fn run_with(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Some(options) = Options::parse(arguments, USAGE)? else { return Ok(()) };
    let rounds = options.number("--rounds", 10)?;
    let filter: Vec<&str> = options.text("--test").into_iter().collect();
    workspace::run(&mut workspace.cargo(["test", "--workspace", "--no-run"]))?;
    let mut table = String::new();
    let mut failed = BTreeMap::<String, Vec<String>>::new();
    for round in 1..=rounds {
        let start = Instant::now();
        let busy_loop =
            || Process::start(workspace.command("sh").args(["-c", "while :; do :; done"]));
        let _busy_loops = [busy_loop()?, busy_loop()?];
        let run = execute(&mut command(workspace, &[], &filter))?;
        let (seconds, failures) = (start.elapsed().as_secs(), run.failures.len());
        let passed = run.passed.len();
        table += &format!("round {round}: {seconds} s, {passed} passed, {failures} failed\n");
        println!("\n{table}");
        for failure in run.failures {
            println!("{failure}\n{}", failure.output);
            failed.entry(failure.to_string()).or_default().push(round.to_string());
        }
    }
    for (failure, rounds) in &failed {
        println!("{failure}: failed in round {}", rounds.join(", "));
    }
    ensure!(failed.is_empty(), "{} tests failed in some round", failed.len());
    Ok(())
}
