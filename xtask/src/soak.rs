//! `cargo xtask soak`: tests that take minutes, use the whole machine, or measure time.

use anyhow::{Result, bail};

use crate::workspace::{Workspace, run};

const USAGE: &str = "usage: cargo xtask soak [--only memory|databases|ignored] [--seconds N]

  memory     attacks on the memory of a server
  databases  clients that disconnect, and a server that is killed every 30 s, with SQLite and PostgreSQL; `--seconds`
             is the time for each [default: 600]
  ignored    load and time limits";

/// The tests of databases begin with this.
const DATABASES: &str = "database_";

pub(crate) fn run_with(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut only = None;
    let mut seconds: u32 = 600;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.next().map(String::as_str)) {
            ("--only", Some(part @ ("memory" | "databases" | "ignored"))) => only = Some(part),
            ("--seconds", Some(text)) if text.parse::<u32>().is_ok_and(|number| number > 0) => {
                seconds = text.parse()?;
            }
            _ => bail!("invalid argument `{argument}`\n\n{USAGE}"),
        }
    }
    let runs = |part| only.is_none_or(|only| only == part);
    let soak = ["test", "--release", "--package=trunkline-cli", "--test=soak", "--"];
    let sequentially = ["--nocapture", "--test-threads=1"];
    if runs("memory") {
        println!("== memory attacks on the server (release)");
        run(workspace.cargo(soak).args(sequentially).args(["--skip", DATABASES]))?;
    }
    if runs("databases") {
        println!("== databases whose server is killed (release)");
        let mut command = workspace.cargo(soak);
        run(command.args(sequentially).arg(DATABASES).env("SOAK_SECONDS", seconds.to_string()))?;
    }
    if runs("ignored") {
        println!("== ignored tests: load and time limits");
        // Sequentially, since concurrent tests would distort the measurements.
        let tests = ["test", "--workspace", "--tests", "--", "--ignored", "--test-threads=1"];
        // `cargo xtask cluster` runs these.
        run(workspace.cargo(tests).args(["--skip", "cluster::"]))?;
    }
    Ok(())
}
