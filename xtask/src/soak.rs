//! `cargo xtask soak`: tests that take minutes, use the whole machine, or measure time.

use anyhow::Result;

use crate::workspace::{Workspace, run};

pub(crate) fn run_all(workspace: &Workspace) -> Result<()> {
    println!("== memory attacks on the server (release)");
    let attacks = ["test", "--release", "--package=trunkline-cli", "--test=soak"];
    run(workspace.cargo(attacks).args(["--", "--nocapture", "--test-threads=1"]))?;
    println!("== ignored tests: load and time limits");
    // Sequentially, since concurrent tests would distort the measurements.
    let tests = ["test", "--workspace", "--tests", "--", "--ignored", "--test-threads=1"];
    run(&mut workspace.cargo(tests))
}
