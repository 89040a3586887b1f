//! The gate: its steps, in order.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::agent;
use crate::bench;
use crate::book;
use crate::clojure;
use crate::conformance;
use crate::doc_index;
use crate::inspector;
use crate::openrpc;
use crate::publish;
use crate::sdk;
use crate::tidy;
use crate::tools;
use crate::workspace::{Workspace, run};

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    check: fn(&Workspace) -> Result<()>,
}

/// In order. What reads the code in seconds comes before what runs it.
pub(crate) const STEPS: &[Step] = &[
    step("fmt", "the code is formatted", fmt),
    step("clippy", "no warning, in tests and examples neither", clippy),
    step("doc", "the API documentation builds without a warning, a screen a module", doc),
    step("test", "unit and integration tests", test),
    step("doctest", "the examples in the documentation run", doctest),
    step("sdk", "the official SDKs talk to the server", sdk::run),
    step("inspector", "MCP Inspector calls every tool", inspector::run),
    step("agent", "an agent answers about Chinook, and the history shows every hop", agent::run),
    step("conformance", "the official conformance suite accepts the server", conformance::run),
    step("openrpc", "OpenRPC documents are valid, and clients made of them call", openrpc::run),
    step("book", "the documentation builds, and its commands print what it shows", book::run),
    step("clojure", "what Clojure reads and writes is what we do", clojure::run),
    step("deny", "licences, versions and sources of the dependencies", deny),
    step("machete", "no dependency that nothing uses", machete),
    step("package", "each crate can be published", publish::packages),
    step("semver", "no release is broken by the next", publish::semver),
    step("tidy", "the project's own rules", tidy::run),
    step("bench-check", "the benchmarks still compile", bench_check),
    step(
        "instructions",
        "a request takes no more instructions than recorded",
        bench::check_instructions,
    ),
];

const fn step(
    name: &'static str,
    about: &'static str,
    check: fn(&Workspace) -> Result<()>,
) -> Step {
    Step { name, about, check }
}

impl Step {
    /// Runs the step and prints what it took.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        self.time(workspace).map(drop)
    }

    fn time(&self, workspace: &Workspace) -> Result<Duration> {
        let Self { name, about, check } = self;
        println!("\n== {name}: {about}");
        let start = Instant::now();
        let result = check(workspace);
        let took = start.elapsed();
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        println!("== {name}: {verdict} in {:.1} s", took.as_secs_f64());
        result.with_context(|| format!("{name} failed (again with `cargo xtask {name}`)"))?;
        Ok(took)
    }
}

pub(crate) fn find(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

/// Runs every step; the first that fails ends it.
pub(crate) fn run_all(workspace: &Workspace) -> Result<()> {
    let start = Instant::now();
    let mut times = Vec::new();
    for step in STEPS {
        times.push((step.name, step.time(workspace)?));
    }
    println!("\nci: all {} steps passed", STEPS.len());
    times.push(("together", start.elapsed()));
    for (name, took) in times {
        println!("  {name:<12} {:>7.1} s", took.as_secs_f64());
    }
    Ok(())
}

fn fmt(workspace: &Workspace) -> Result<()> {
    let advice = "`cargo fmt --all` mends it (in `bench/` too, if that is what is named)";
    run(&mut workspace.cargo(["fmt", "--all", "--check"])).context(advice)?;
    run(&mut workspace.cargo(["fmt", "--manifest-path=bench/Cargo.toml", "--check"]))
        .context(advice)
}

fn clippy(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-Dwarnings",
    ]))?;
    // Its tests run in `cargo xtask soak` only, so that `--all-targets` leaves it out.
    let soak = ["clippy", "--package=trunkline-cli", "--test=soak", "--", "-Dwarnings"];
    run(&mut workspace.cargo(soak))?;
    // There is code that only a build without the features has.
    for package in
        ["--package=trunkline", "--package=trunkline-resources", "--package=trunkline-sql"]
    {
        let clippy = ["clippy", package, "--lib", "--no-default-features", "--", "-Dwarnings"];
        run(&mut workspace.cargo(clippy))?;
    }
    Ok(())
}

fn doc(workspace: &Workspace) -> Result<()> {
    let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps"]);
    run(doc.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    doc_index::check(workspace)
}

fn test(workspace: &Workspace) -> Result<()> {
    // The tests start an example as a process; testing does not build it as a program.
    run(&mut workspace.cargo(["build", "--workspace", "--examples"]))?;
    run(&mut workspace.cargo(["test", "--workspace", "--tests"]))
}

fn doctest(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(["test", "--workspace", "--doc"]))
}

fn deny(workspace: &Workspace) -> Result<()> {
    let deny = tools::DENY.ensure(workspace)?;
    run(workspace.command(deny).args(["check", "bans", "licenses", "sources"]))
}

fn machete(workspace: &Workspace) -> Result<()> {
    let machete = tools::MACHETE.ensure(workspace)?;
    run(workspace.command(machete).args(["--with-metadata", "crates", "xtask"]))
}

fn bench_check(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo([
        "check",
        "--manifest-path=bench/Cargo.toml",
        "--target-dir=target/bench-check",
        "--all-targets",
        "--locked",
    ]))
}
