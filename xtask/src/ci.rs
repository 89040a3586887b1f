//! The steps of `cargo xtask ci`, in order.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::agent;
use crate::bench;
use crate::book;
use crate::clojure;
use crate::conformance;
use crate::console;
use crate::dist;
use crate::doc_index;
use crate::example_tools;
use crate::inspector;
use crate::monitoring;
use crate::openrpc;
use crate::publish;
use crate::sdk;
use crate::tidy;
use crate::tokens;
use crate::upstreams;
use crate::workspace::{Workspace, run};

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    check: fn(&Workspace) -> Result<()>,
}

/// All steps, in order: static checks before tests.
pub(crate) const STEPS: &[Step] = &[
    step("fmt", "the code is formatted", fmt),
    step("clippy", "no warnings, tests and examples included", clippy),
    step("doc", "the API documentation builds without warnings, and its indexes are short", doc),
    step("test", "`cargo test --workspace`: unit, integration and documentation tests", test),
    step(
        "postgres",
        "the back end of PostgreSQL, the contract of both engines, and stores",
        postgres,
    ),
    step("nodes", "clients do not notice that a server of several nodes is restarted", nodes),
    step("example-tools", "the tools in examples/tools work", example_tools::run),
    step("sdk", "the official MCP SDKs and FastMCP use all features of the server", sdk::run),
    step(
        "inspector",
        "MCP Inspector calls every tool, and reads resources and prompts",
        inspector::run,
    ),
    step(
        "upstreams",
        "the MCP client, its commands and the gateway use servers of others",
        upstreams::run,
    ),
    step("tokens", "the list of tools costs few tokens", tokens::run),
    step(
        "agent",
        "an agent answers questions about Chinook, and the history records every hop",
        agent::run,
    ),
    step("console", "the web console works in Chromium, page by page", console::run),
    step(
        "monitoring",
        "the queries of the dashboard and the alerts have data in Prometheus",
        monitoring::run,
    ),
    step("conformance", "the official conformance suite accepts the server", conformance::run),
    step(
        "openrpc",
        "OpenRPC documents are valid, and generated clients call the server",
        openrpc::run,
    ),
    step("book", "the documentation builds, and its commands print what it shows", book::run),
    step(
        "clojure",
        "EDN is compatible with Clojure, and a Clojure client calls the server",
        clojure::run,
    ),
    step("package", "each crate can be published", publish::packages),
    step(
        "dist-check",
        "the templates of packages are valid, and the npm launcher works",
        dist::check,
    ),
    step("semver", "no breaking changes since the last release", publish::semver),
    step("tidy", "the project's own rules are followed", tidy::run),
    step("bench-check", "the benchmarks still compile", bench_check),
    step(
        "instructions",
        "requests need no more instructions than recorded",
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
    /// Runs the step and prints its duration.
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
        result.with_context(|| format!("{name} failed (to repeat it: `cargo xtask {name}`)"))?;
        Ok(took)
    }
}

pub(crate) fn find(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

/// Runs all steps. Stops at the first failure.
pub(crate) fn run_all(workspace: &Workspace) -> Result<()> {
    let start = Instant::now();
    let mut times = Vec::new();
    for step in STEPS {
        times.push((step.name, step.time(workspace)?));
    }
    println!("\nci: all {} steps passed", STEPS.len());
    times.push(("total", start.elapsed()));
    for (name, took) in times {
        println!("  {name:<13} {:>7.1} s", took.as_secs_f64());
    }
    Ok(())
}

fn fmt(workspace: &Workspace) -> Result<()> {
    let advice = "run `cargo fmt --all` to fix it, in `bench/` as well";
    run(&mut workspace.cargo(["fmt", "--all", "--check"])).context(advice)?;
    run(&mut workspace.cargo([
        "fmt",
        "--manifest-path=bench/Cargo.toml",
        "--package=trunkline-bench",
        "--package=rmcp-client",
        "--check",
    ]))
    .context(advice)
}

fn postgres(workspace: &Workspace) -> Result<()> {
    let advice =
        "PostgreSQL and PgBouncer are required: `apt-get install postgresql pgbouncer` on Debian";
    run(&mut workspace.cargo([
        "test",
        "--package=trunkline-sql",
        "--package=trunkline-storage",
        "--package=trunkline-resources",
        "--all-features",
        "--test=postgres",
        "--",
        "--include-ignored",
    ]))
    .context(advice)?;
    run(&mut workspace.cargo([
        "test",
        "--package=trunkline-cli",
        "--test=it",
        "postgres::",
        "--",
        "--include-ignored",
    ]))
    .context(advice)
}

fn nodes(workspace: &Workspace) -> Result<()> {
    let advice = "PostgreSQL and nginx are required: `apt-get install postgresql nginx` on Debian";
    run(&mut workspace.cargo([
        "test",
        "--package=trunkline-cli",
        "--test=it",
        "nodes::",
        "--",
        "--include-ignored",
    ]))
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
    // Not default targets, since their tests run in `cargo xtask soak` and `cargo xtask postgres` only.
    let soak = ["clippy", "--package=trunkline-cli", "--test=soak", "--", "-Dwarnings"];
    run(&mut workspace.cargo(soak))?;
    let stores = ["--package=trunkline-storage", "--package=trunkline-resources"];
    let postgres = ["clippy", "--all-features", "--test=postgres"];
    run(workspace.cargo(postgres).args(stores).args(["--", "-Dwarnings"]))?;
    // Some code is compiled only without the default features.
    for package in
        ["--package=trunkline", "--package=trunkline-resources", "--package=trunkline-sql"]
    {
        let clippy = ["clippy", package, "--lib", "--no-default-features", "--", "-Dwarnings"];
        run(&mut workspace.cargo(clippy))?;
    }
    let program = ["clippy", "--package=trunkline-cli", "--bins", "--no-default-features"];
    run(workspace.cargo(program).args(["--", "-Dwarnings"]))
}

fn doc(workspace: &Workspace) -> Result<()> {
    let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps"]);
    run(doc.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    doc_index::check(workspace)
}

fn test(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(["test", "--workspace"]))
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
