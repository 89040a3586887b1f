//! The commands `trunkline tools`, `resources` and `prompts` with servers of others.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::server::{Server, Target};
use crate::workspace::{self, Workspace};

struct Run {
    /// The file with the requests of the server.
    steps: &'static str,
    subcommand: &'static str,
    arguments: &'static [&'static str],
    /// A part of the output.
    output: &'static str,
}

const RUNS: [Run; 8] = [
    run("everything.json", "tools", &[], "get-structured-content"),
    run("everything.json", "tools", &["get-sum", "a=40", "b=2"], "42"),
    run("everything.json", "resources", &["read", "demo://resource/dynamic/text/7"], "Resource 7"),
    run("everything.json", "prompts", &["get", "args-prompt", "city=Köln"], "weather in Köln?"),
    run("filesystem.json", "tools", &["list_allowed_directories"], "upstreams/files"),
    run("python.json", "tools", &["add", "a=40", "b=2", "--format", "json"], r#"{"sum":42}"#),
    run("python.json", "resources", &["read", "note://today"], "Buy milk."),
    run("python.json", "prompts", &["get", "review", "language=Rust"], "Review this Rust code."),
];

const fn run(
    steps: &'static str,
    subcommand: &'static str,
    arguments: &'static [&'static str],
    output: &'static str,
) -> Run {
    Run { steps, subcommand, arguments, output }
}

/// Runs all commands for the server.
pub(super) fn check(
    workspace: &Workspace,
    trunkline: &Path,
    server: &Server,
    target: &Target,
) -> Result<()> {
    for run in RUNS.iter().filter(|run| run.steps == server.steps) {
        let mut command = workspace.command(trunkline);
        command.arg(run.subcommand);
        add_arguments(&mut command, run.arguments, target);
        let words = || format!("trunkline {} {:?}", run.subcommand, run.arguments);
        let output = workspace::output(&mut command).with_context(words)?;
        ensure!(output.contains(run.output), "{}: expected {:?} in {output}", words(), run.output);
    }
    Ok(())
}

/// A URL is the first argument; a command follows the other arguments.
fn add_arguments(command: &mut Command, arguments: &[&str], target: &Target) {
    match target {
        Target::Process { url, .. } => command.args(url).args(arguments),
        Target::Command(words) => command.args(arguments).arg("--").args(words),
    };
}
