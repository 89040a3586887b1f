//! The project's own rules, which neither compiler nor linter checks. Each returns its findings as lines of text.

mod crates;
mod links;
mod modules;
mod packages;

use std::path::Path;

use anyhow::{Result, ensure};

use crate::metadata::Metadata;
use crate::workspace::Workspace;

/// Maximum lines of code in a file. Blank lines, comments and test modules do not count.
const MAX_LINES: usize = 500;
/// A mark of unfinished work. Lints reject `todo!`.
const UNFINISHED: &str = concat!("FIX", "ME");

/// Checks all rules and prints the findings.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut findings = Vec::new();
    let mut texts = Vec::new();
    for path in workspace.files("rs")? {
        let text = workspace.read(&path)?;
        let lines = lines_of_code(&path, &text);
        if lines > MAX_LINES {
            findings
                .push(format!("{}: {lines} lines of code, more than {MAX_LINES}", path.display()));
        }
        if text.contains(UNFINISHED) {
            findings.push(format!("{}: `{UNFINISHED}`: finish it", path.display()));
        }
        texts.push((workspace.path(path), text));
    }
    for path in workspace.files("md")? {
        let text = workspace.read(&path)?;
        findings.extend(links::check(&path, &text, |target| workspace.path(target).exists()));
        texts.push((workspace.path(path), text));
    }
    let metadata = Metadata::load(workspace)?;
    findings.extend(crates::check(&metadata, &texts));
    findings.extend(packages::check(workspace)?);
    for member in metadata.members() {
        findings.extend(modules::check(workspace, member)?);
    }
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "{} violations of rules", findings.len());
    println!("{} .rs and .md files", texts.len());
    Ok(())
}

/// 0 for a file of tests, and outside of the crates.
fn lines_of_code(path: &Path, text: &str) -> usize {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    let ours = matches!(parts[..], ["crates", _, "src", ..] | ["xtask", "src", ..]);
    if !ours || parts.iter().any(|part| ["tests", "tests.rs"].contains(part)) {
        return 0;
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, expected: usize) {
        assert_eq!(lines_of_code(Path::new(file), text), expected, "{file}");
    }

    #[test]
    fn tests_and_comments_are_no_lines_of_code() {
        check("crates/trunkline/src/id.rs", "a\n\n  // b\nc\n", 2);
        check("crates/trunkline/src/http/body.rs", "a\n#[cfg(test)]\nmod tests {\nb\n}\n", 1);
        check("xtask/src/main.rs", "a\n#[cfg(test)]\nmod tests;\nb\n", 4);
        check("crates/trunkline/src/id/tests.rs", "a\n", 0);
        check("crates/trunkline/src/id/tests/rows.rs", "a\n", 0);
        check("crates/trunkline/tests/http.rs", "a\n", 0);
        check("bench/src/lib.rs", "a\n", 0);
    }
}
