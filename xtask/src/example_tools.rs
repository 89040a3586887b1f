//! Tests of the tools in `examples/tools`, which need Python and curl.

use anyhow::{Context, Result};

use crate::suite;
use crate::workspace::{self, Workspace};

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    for program in ["python3", "curl"] {
        workspace::output(workspace.command(program).arg("--version"))
            .with_context(|| format!("{program} is missing: `apt-get install {program}`"))?;
    }
    suite::run(workspace, &["--test=it"], &["tool::examples", "--include-ignored"])
}
