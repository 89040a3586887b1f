//! Reads the output of `cargo test --no-fail-fast`: the tests that failed, and targets that failed for other reasons.

#[cfg(test)]
mod tests;

/// A failed test.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The arguments of cargo that select its target, such as `-p trunkline --test it`.
    pub(crate) target: String,
    /// `None` if the target failed without naming a test: it did not compile, or was killed.
    pub(crate) test: Option<String>,
    /// The captured output, or the message of cargo.
    pub(crate) output: String,
}

/// The result of a run.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) passed: Vec<String>,
    /// A run that has not succeeded has at least one.
    pub(crate) failures: Vec<Failure>,
}

pub(crate) fn parse(text: &str, succeeded: bool) -> Run {
    let Run { mut passed, mut failures } = Run::default();
    // Errors of cargo and the compiler, which explain a failure without tests.
    let mut errors = Vec::new();
    // Of the current target: failed tests with their outputs, and names in the list of failures.
    let (mut outputs, mut names) = (Vec::<(&str, String)>::new(), Vec::new());
    let (mut is_in_failures, mut is_in_output) = (false, false);
    for line in text.lines() {
        let test = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... ok"));
        let header = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----"));
        if let Some(target) = failed_target(line) {
            is_in_failures = false;
            let failure = |test, output| Failure { target: target.to_owned(), test, output };
            if names.is_empty() {
                failures.push(failure(None, String::new()));
            }
            failures.extend(names.drain(..).map(|name: String| {
                let output = outputs.iter().find(|(test, _)| *test == name);
                let output = output.map_or("", |(_, output)| output.trim()).to_owned();
                failure(Some(name), output)
            }));
            outputs.clear();
        } else if line.starts_with("test result: ") {
            is_in_failures = false;
        } else if line == "failures:" {
            (is_in_failures, is_in_output) = (true, false);
        } else if !is_in_failures {
            // The note is not in the list of failures.
            passed.extend(test.map(|test| test.trim_end_matches(" - should panic").to_owned()));
            errors.extend(line.starts_with("error").then_some(line));
            if let (true, Some(last)) = (line.contains("(signal: "), failures.last_mut()) {
                last.output += line.trim();
            }
        } else if let Some(name) = header {
            outputs.push((name, String::new()));
            is_in_output = true;
        } else if let (true, Some((_, output))) = (is_in_output, outputs.last_mut()) {
            *output += line;
            output.push('\n');
        } else if let Some(name) = line.strip_prefix("    ") {
            names.push(name.to_owned());
        }
    }
    if !succeeded && failures.is_empty() {
        let (target, output) = (String::new(), errors.join("\n"));
        failures.push(Failure { target, test: None, output });
    }
    Run { passed, failures }
}

/// The target in a line such as ``error: test failed, to rerun pass `-p trunkline --lib` ``.
fn failed_target(line: &str) -> Option<&str> {
    let line = line.strip_prefix("error: ")?;
    let rest = line.strip_prefix("doctest").or_else(|| line.strip_prefix("test"))?;
    rest.strip_prefix(" failed, to rerun pass `")?.strip_suffix('`')
}
