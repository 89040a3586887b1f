//! Runs tests with cargo, and repeats those that fail.
//!
//! All runs select the whole workspace, so that they use the artifacts of `cargo test --workspace`: with `--package`, cargo
//! would enable other features and compile everything again.

mod output;
mod stress;

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};

pub(crate) use self::output::Failure;
use self::output::{Run, parse};
pub(crate) use self::stress::run_with as stress;
use crate::workspace::{Workspace, show};

/// If more tests fail, the program is broken, and they are not repeated.
const MOST_REPEATED: usize = 10;

/// If more tests are flaky, the gate fails.
const MOST_FLAKY: usize = 2;

/// The flaky tests of this process.
static FLAKY: Mutex<Vec<Failure>> = Mutex::new(Vec::new());

/// Runs tests of the targets that `selection` selects. Repeats each failed test alone, once: if it passes then, it is flaky;
/// otherwise, this is an error.
pub(crate) fn run(workspace: &Workspace, selection: &[&str], filter: &[&str]) -> Result<()> {
    let Run { failures, .. } = execute(&mut command(workspace, selection, filter))?;
    let is_repeated = failures.len() <= MOST_REPEATED;
    let mut lasting = Vec::new();
    for failure in failures {
        if is_repeated && passes_alone(workspace, &failure)? {
            FLAKY.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        } else {
            lasting.push(failure);
        }
    }
    if lasting.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = lasting.iter().map(Failure::to_string).collect();
    bail!("{} failures:\n{}", names.len(), names.join("\n"))
}

/// Prints the flaky tests with their outputs. Fails if there are more than [`MOST_FLAKY`].
pub(crate) fn report_flaky() -> Result<()> {
    let flaky = std::mem::take(&mut *FLAKY.lock().unwrap_or_else(PoisonError::into_inner));
    for failure in &flaky {
        println!("\nflaky, passed when it ran again:\n{failure}\n{}", failure.output);
    }
    ensure!(flaky.len() <= MOST_FLAKY, "{} flaky tests; the maximum is {MOST_FLAKY}", flaky.len());
    Ok(())
}

fn passes_alone(workspace: &Workspace, failure: &Failure) -> Result<bool> {
    let Some(test) = &failure.test else { return Ok(false) };
    println!("\n== {test} failed, and runs again");
    let (selection, filter) = selection(&failure.target, test);
    let run = execute(&mut command(workspace, &selection, &filter))?;
    // The selection may include a test of the same name of another crate, whose failure does not matter.
    let fails = run.failures.iter().any(|other| {
        other.target == failure.target && other.test.as_ref().is_none_or(|other| other == test)
            || other.target.is_empty()
    });
    Ok(!fails && run.passed.contains(test))
}

/// The arguments that run a test: of cargo, and of the test binary. rustdoc splits arguments at spaces, which the names of
/// doctests contain, so all doctests of a file are run.
fn selection<'f>(target: &'f str, test: &'f str) -> (Vec<&'f str>, Vec<&'f str>) {
    let mut words = target.split_whitespace();
    let mut selection = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-p" => _ = words.next(),
            word => selection.push(word),
        }
    }
    let filter = if selection.contains(&"--doc") {
        vec![test.split_whitespace().next().unwrap_or(test)]
    } else {
        vec![test, "--exact", "--include-ignored"]
    };
    (selection, filter)
}

fn command(workspace: &Workspace, selection: &[&str], filter: &[&str]) -> Command {
    let mut command = workspace.cargo(["test", "--workspace", "--locked", "--no-fail-fast"]);
    command.args(selection);
    if !filter.is_empty() {
        command.arg("--").args(filter);
    }
    command
}

/// Runs a command and prints its output unchanged. stdout and stderr share a pipe, since the names of targets are in one and
/// those of tests in the other.
fn execute(command: &mut Command) -> Result<Run> {
    let shown = show(command);
    println!("$ {shown}");
    let (reader, writer) = std::io::pipe()?;
    // The parser does not expect colours.
    command.env("CARGO_TERM_COLOR", "never");
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
    // Otherwise, the command keeps the writers, and the pipe never ends.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (mut text, mut line) = (Vec::new(), Vec::new());
    let mut reader = BufReader::new(reader);
    while reader.read_until(b'\n', &mut line)? > 0 {
        std::io::stdout().write_all(&line)?;
        text.append(&mut line);
    }
    Ok(parse(&String::from_utf8_lossy(&text), child.wait()?.success()))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.test {
            Some(test) => write!(f, "  {test} (`{}`)", self.target),
            None => write!(f, "  `cargo test {}` failed: {}", self.target, self.output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &str, test: &str, cargo: &[&str], filter: &[&str]) {
        assert_eq!(selection(target, test), (cargo.to_vec(), filter.to_vec()), "{target}");
    }

    #[test]
    fn a_test_is_selected_in_its_target() {
        check("-p a --lib", "b::c", &["--lib"], &["b::c", "--exact", "--include-ignored"]);
        check("--test it", "c", &["--test", "it"], &["c", "--exact", "--include-ignored"]);
        check("-p a --bin b", "c", &["--bin", "b"], &["c", "--exact", "--include-ignored"]);
        check("-p a --doc", "a/src/lib.rs - b (line 5)", &["--doc"], &["a/src/lib.rs"]);
    }
}
