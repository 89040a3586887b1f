//! `cargo xtask soak`: tests that take minutes, use the whole machine, or measure time.

use anyhow::Result;

use crate::options::Options;
use crate::workspace::{Workspace, run};

const USAGE: &str = "usage: cargo xtask soak [--only PART] [--seconds N]

  memory     attacks on the memory of a server
  databases  clients that disconnect, and a server that is killed every 30 s, with SQLite and PostgreSQL; `--seconds`
             is the time for each [default: 600]
  ignored    load and time limits";

/// The arguments of cargo for each part. Tests run sequentially, since concurrent tests would distort the measurements.
/// Tests of databases begin with `database_`. `cargo xtask cluster` runs those of clusters.
const PARTS: [(&str, &[&str]); 3] = [
    (
        "memory",
        &["--release", "-p=trunkline-cli", "--test=soak", "--", "--nocapture", "--skip=database_"],
    ),
    (
        "databases",
        &["--release", "-p=trunkline-cli", "--test=soak", "--", "--nocapture", "database_"],
    ),
    ("ignored", &["--workspace", "--tests", "--", "--ignored", "--skip=cluster::"]),
];

pub(crate) fn run_with(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Some(options) = Options::parse(arguments, USAGE)? else { return Ok(()) };
    let seconds = options.number("--seconds", 600)?.to_string();
    for part in options.only(&PARTS.map(|(part, _)| part))? {
        println!("\n== {part}");
        let arguments = PARTS.iter().find(|(name, _)| *name == part).map_or(&[][..], |row| row.1);
        let mut command = workspace.cargo(["test"]);
        run(command.args(arguments).arg("--test-threads=1").env("SOAK_SECONDS", &seconds))?;
    }
    Ok(())
}
