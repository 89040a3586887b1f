//! `cargo xtask dist`: shell completions and man pages, for packages of the binary.

use std::ffi::OsStr;
use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::workspace::{Workspace, output, run};

/// The shells that the binary has completions for, and the names of their files.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "trunkline.bash"),
    ("elvish", "trunkline.elv"),
    ("fish", "trunkline.fish"),
    ("powershell", "trunkline.ps1"),
    ("zsh", "_trunkline"),
];

/// Writes both to `target/dist`.
pub(crate) fn run_all(workspace: &Workspace) -> Result<()> {
    let completions = workspace.fresh_folder("target/dist/completions")?;
    let man_pages = workspace.fresh_folder("target/dist/man")?;
    let trunkline = workspace.build("trunkline")?;
    for (shell, file) in COMPLETIONS {
        let mut command = workspace.command(&trunkline);
        let script = output(command.args(["completions", shell]).stderr(Stdio::inherit()))?;
        let path = completions.join(file);
        fs::write(&path, script).with_context(|| format!("cannot write {}", path.display()))?;
    }
    run(workspace.command(&trunkline).args([OsStr::new("man"), man_pages.as_os_str()]))?;
    println!("{}\n{}", completions.display(), man_pages.display());
    Ok(())
}
