//! `cargo xtask soak`: what takes minutes, or the whole machine, or measures time.

use anyhow::Result;

use crate::workspace::{Workspace, run};

pub(crate) fn run_all(workspace: &Workspace) -> Result<()> {
    println!("== attacks on the memory of the server (release)");
    let attacks = ["test", "--release", "--package=trunkline-cli", "--test=soak"];
    run(workspace.cargo(attacks).args(["--", "--nocapture", "--test-threads=1"]))?;
    println!("== load, and bounds on time");
    // One at a time: each measures what the others would disturb.
    let tests = ["test", "--workspace", "--tests", "--", "--ignored", "--test-threads=1"];
    run(&mut workspace.cargo(tests))
}
