//! Reads the output of `cargo test --no-fail-fast`: the tests that failed, and targets that failed for other reasons.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

/// A failed test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// The arguments of cargo that select its target, such as `-p trunkline --test it`.
    pub(crate) target: String,
    /// `None` if the target failed without naming a test: it did not compile, or was killed.
    pub(crate) test: Option<String>,
    /// The captured output, or the message of cargo.
    pub(crate) output: String,
}

/// Processes one line at a time.
#[derive(Default)]
pub(crate) struct Parser {
    state: State,
    /// Of the current target: failed tests with their outputs, and names in the list of failures.
    outputs: Vec<(String, String)>,
    names: Vec<String>,
    pub(crate) passed: Vec<String>,
    pub(crate) failures: Vec<Failure>,
    /// Errors of cargo and the compiler, which explain a failure without tests.
    errors: Vec<String>,
}

#[derive(Default, PartialEq, Eq)]
enum State {
    #[default]
    Tests,
    /// In the list of failures with their outputs, or with their names.
    Failures,
    /// In the output of the last test of `outputs`.
    Output,
}

impl Parser {
    pub(crate) fn line(&mut self, line: &str) {
        if let Some(target) = failed_target(line) {
            return self.end_target(target);
        }
        if line.starts_with("test result: ") {
            self.state = State::Tests;
            return;
        }
        match self.state {
            State::Tests if line == "failures:" => self.state = State::Failures,
            State::Tests => self.outside_of_failures(line),
            State::Failures | State::Output => self.inside_of_failures(line),
        }
    }

    fn outside_of_failures(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... ok"))
        {
            self.passed.push(without_note(name).to_owned());
        } else if line.starts_with("error") {
            self.errors.push(line.to_owned());
        } else if let (true, Some(last)) = (line.contains("(signal: "), self.failures.last_mut()) {
            last.output += line.trim();
        }
    }

    fn inside_of_failures(&mut self, line: &str) {
        let header = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"));
        if let Some(name) = header {
            self.outputs.push((name.to_owned(), String::new()));
            self.state = State::Output;
        } else if line == "failures:" {
            self.state = State::Failures;
        } else if self.state == State::Output {
            if let Some((_, output)) = self.outputs.last_mut() {
                *output += line;
                output.push('\n');
            }
        } else if let Some(name) = line.strip_prefix("    ") {
            self.names.push(name.to_owned());
        }
    }

    fn end_target(&mut self, target: &str) {
        self.state = State::Tests;
        let outputs = std::mem::take(&mut self.outputs);
        let names = std::mem::take(&mut self.names);
        if names.is_empty() {
            self.failures.push(Failure {
                target: target.to_owned(),
                test: None,
                output: String::new(),
            });
        }
        self.failures.extend(names.into_iter().map(|name| {
            let output = outputs.iter().find(|(test, _)| *test == name);
            Failure {
                target: target.to_owned(),
                output: output.map(|(_, output)| output.trim().to_owned()).unwrap_or_default(),
                test: Some(name),
            }
        }));
    }

    /// The failures of a run, which has succeeded as a whole or not. A failed run has at least one.
    pub(crate) fn finish(mut self, succeeded: bool) -> Vec<Failure> {
        if !succeeded && self.failures.is_empty() {
            self.failures.push(Failure {
                target: String::new(),
                test: None,
                output: self.errors.join("\n"),
            });
        }
        self.failures
    }
}

/// The target in a line such as ``error: test failed, to rerun pass `-p trunkline --lib` ``.
fn failed_target(line: &str) -> Option<&str> {
    let line = line.strip_prefix("error: ")?;
    let rest = line.strip_prefix("doctest").or_else(|| line.strip_prefix("test"))?;
    rest.strip_prefix(" failed, to rerun pass `")?.strip_suffix('`')
}

/// The name without ` - should panic`, which is not in the list of failures.
fn without_note(name: &str) -> &str {
    name.strip_suffix(" - should panic").unwrap_or(name)
}
