//! `cargo xtask cluster`: three servers behind nginx, with PostgreSQL, under load.

use anyhow::{Context, Result};

use crate::options::Options;
use crate::workspace::{Workspace, run};

const USAGE: &str = "usage: cargo xtask cluster [--only PART] [--release] [--seconds N]

  restart     three nodes are restarted sequentially, and no call fails
  outage      PostgreSQL is stopped and started again: calls fail with clear errors, and the nodes recover
  throughput  calls per second, and CPU time per call, of one, two and three nodes; `--seconds` is the time of each
              measurement [default: 5]

  --release   build the server and the clients with optimization";

pub(crate) fn run_with(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Some(options) = Options::parse(arguments, USAGE)? else { return Ok(()) };
    let seconds = options.number("--seconds", 5)?.to_string();
    for part in options.only(&["restart", "outage", "throughput"])? {
        println!("\n== {part}");
        let mut command = workspace.cargo(["test", "--workspace", "--test=it"]);
        command.args(options.has("--release").then_some("--release"));
        command.args([&format!("cluster::{part}::"), "--", "--ignored", "--nocapture"]);
        run(command.env("CLUSTER_SECONDS", &seconds)).context(
            "PostgreSQL and nginx are required: `apt-get install postgresql nginx` on Debian",
        )?;
    }
    Ok(())
}
