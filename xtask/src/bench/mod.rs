//! Measures the server against its peers.
use anyhow::{Result, bail};

use crate::workspace::Workspace;

pub(crate) fn run(_workspace: &Workspace, _args: &[String]) -> Result<()> {
    bail!("not yet")
}
