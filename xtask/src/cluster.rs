//! `cargo xtask cluster`: three servers behind nginx, with PostgreSQL, under load.

use anyhow::{Context, Result, bail};

use crate::workspace::{Workspace, run};

const USAGE: &str = "usage: cargo xtask cluster [--only restart|outage|throughput] [--release] [--seconds N]

  restart     three nodes are restarted sequentially, and no call fails
  outage      PostgreSQL is stopped and started again: calls fail with clear errors, and the nodes recover
  throughput  calls per second, and CPU time per call, of one, two and three nodes; `--seconds` is the time of each
              measurement [default: 5]

  --release   build the server and the clients with optimization";

/// The tests of the parts.
const PARTS: [(&str, &str); 3] = [
    ("restart", "cluster::restart::"),
    ("outage", "cluster::outage::"),
    ("throughput", "cluster::throughput::"),
];

pub(crate) fn run_with(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut parts: Vec<_> = PARTS.to_vec();
    let mut seconds: u32 = 5;
    let mut is_release = false;
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(());
            }
            "--release" => is_release = true,
            "--only" => {
                let name = arguments.next().unwrap_or_default();
                parts.retain(|(part, _)| *part == name);
                if parts.is_empty() {
                    bail!("unknown part `{name}`\n\n{USAGE}");
                }
            }
            "--seconds" => {
                let text = arguments.next().unwrap_or_default();
                let number = text.parse().ok().filter(|number| *number > 0);
                seconds = number.with_context(|| format!("invalid number `{text}`\n\n{USAGE}"))?;
            }
            _ => bail!("invalid argument `{argument}`\n\n{USAGE}"),
        }
    }
    let advice = "PostgreSQL and nginx are required: `apt-get install postgresql nginx` on Debian";
    for (name, test) in parts {
        println!("\n== {name}");
        let mut command = workspace.cargo(["test", "--workspace", "--test=it"]);
        if is_release {
            command.arg("--release");
        }
        command.args([test, "--", "--ignored", "--nocapture"]);
        run(command.env("CLUSTER_SECONDS", seconds.to_string())).context(advice)?;
    }
    Ok(())
}
