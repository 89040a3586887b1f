//! The project's own rules, which neither compiler nor linter checks.
//!
//! A rule is a pure function that returns [`Finding`](finding::Finding)s, so that it can be tested without a file system.

mod crate_graph;
mod dependencies;
mod file_size;
mod finding;
mod forbidden_feature;
mod links;
mod modules;
mod packages;
mod source;
mod unfinished;
mod unused;

use std::path::Path;

use anyhow::{Result, bail};

use crate::metadata::Metadata;
use crate::tidy::source::Source;
use crate::workspace::Workspace;

/// Checks all rules and prints the findings.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut findings = Vec::new();

    let rust = workspace.files("rs")?;
    let mut sources = Vec::new();
    for path in &rust {
        let source = Source::parse(&workspace.read(path)?);
        findings.extend(file_size::check(path, &source));
        findings.extend(unfinished::check(path, &source));
        sources.push((workspace.path(path), source));
    }

    let markdown = workspace.files("md")?;
    for path in &markdown {
        let exists = |target: &Path| workspace.path(target).exists();
        let text = workspace.read(path)?;
        findings.extend(links::check(path, &text, exists));
        sources.push((workspace.path(path), Source::of_comments(text)));
    }

    let metadata = Metadata::load(workspace)?;
    findings.extend(crate_graph::check(&metadata));
    findings.extend(forbidden_feature::check(&metadata));
    findings.extend(packages::check(&metadata, &dependencies::of_workspace(workspace)?));
    for member in metadata.members() {
        findings.extend(unused::check(&metadata, member, &sources));
        findings.extend(modules::check(workspace, member)?);
    }
    let mut counts = Vec::new();
    for (package, most) in dependencies::LIMITS {
        let count = dependencies::of(workspace, package)?.len();
        findings.extend(dependencies::check_count(package, count, most));
        counts.push(format!("{count} for {package}"));
        if package == "trunkline" {
            let readme = workspace.read(Path::new("README.md"))?;
            findings.extend(dependencies::check_readme(count, &readme));
        }
    }
    findings.extend(dependencies::check_core(&dependencies::of(workspace, "trunkline-core")?));

    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} violations of rules", findings.len());
    }
    println!("{} .rs and {} .md files", rust.len(), markdown.len());
    println!("crates that are compiled with default features: {}", counts.join(", "));
    Ok(())
}
