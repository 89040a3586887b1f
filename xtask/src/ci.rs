//! The steps of `cargo xtask ci`.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

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
use crate::suite;
use crate::tidy;
use crate::tokens;
use crate::upstreams;
use crate::workspace::{Workspace, run as run_command};

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    check: fn(&Workspace) -> Result<()>,
}

/// The steps of `cargo xtask ci`, in order. Each has found regressions, and takes little time after `test`, which compiles
/// the programs that later steps use.
pub(crate) const GATE: &[Step] = &[
    step("fmt", "the code is formatted", fmt),
    step("tidy", "the project's own rules are followed", tidy::run),
    step("clippy", "no warnings, tests and examples included", clippy),
    step("test", "`cargo test --workspace`: unit, integration and documentation tests", test),
    step(
        "postgres",
        "the back end of PostgreSQL, the contract of both engines, and stores",
        postgres,
    ),
    step("nodes", "clients do not notice that a server of several nodes is restarted", nodes),
    step("example-tools", "the tools in examples/tools work", example_tools::run),
    step(
        "sdk",
        "the official MCP SDKs for Python and TypeScript, and FastMCP, use all features of the server",
        sdk::run,
    ),
    step("conformance", "the official conformance suite accepts the server", conformance::run),
    step(
        "agent",
        "an agent answers questions about Chinook, and the history records every hop",
        agent::run,
    ),
    step("tokens", "the list of tools costs few tokens", tokens::run),
    step(
        "instructions",
        "requests need no more instructions than recorded",
        bench::check_instructions,
    ),
];

/// The further steps of `cargo xtask ci --all`.
pub(crate) const REST: &[Step] = &[
    step("features", "no warnings in libraries without their default features", features),
    step(
        "unified",
        "the libraries work with features of serde_json that other dependencies may enable",
        unified,
    ),
    step("rmcp", "the official MCP SDK for Rust uses all features of the server", sdk::run_rmcp),
    step("doc", "the API documentation builds without warnings, and its indexes are short", doc),
    step("book", "the documentation builds, and its commands print what it shows", book::run),
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
    step("console", "the web console works in Chromium, page by page", console::run),
    step(
        "monitoring",
        "the queries of the dashboard and the alerts have data in Prometheus",
        monitoring::run,
    ),
    step(
        "openrpc",
        "OpenRPC documents are valid, and generated clients call the server",
        openrpc::run,
    ),
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
    step("bench-check", "the benchmarks still compile", bench_check),
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
    fn run(&self, workspace: &Workspace) -> Result<()> {
        let Self { name, about, check } = self;
        println!("\n== {name}: {about}");
        let start = Instant::now();
        let result = check(workspace);
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        println!("== {name}: {verdict} in {:.1} s", start.elapsed().as_secs_f64());
        result.with_context(|| format!("{name} failed (to repeat it: `cargo xtask {name}`)"))
    }
}

/// Runs the step with this name, if there is one.
pub(crate) fn run_step(workspace: &Workspace, name: &str) -> Option<Result<()>> {
    let step = GATE.iter().chain(REST).find(|step| step.name == name)?;
    let result = step.run(workspace);
    // Reported in any case.
    let flaky = suite::report_flaky();
    Some(result.and(flaky))
}

/// Runs the steps of the gate, or all with `--all`. Continues after a failure, and reports all of them at the end.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let rest = match arguments {
        [] => &[],
        [argument] if argument == "--all" => REST,
        _ => bail!("`ci` takes only `--all`, got {arguments:?}"),
    };
    let start = Instant::now();
    let mut times = String::new();
    let mut failures = Vec::new();
    let mut add_time = |name: &str, took: Duration| {
        times += &format!("  {name:<13} {:>7.1} s\n", took.as_secs_f64());
    };
    for step in GATE.iter().chain(rest) {
        let start = Instant::now();
        failures.extend(step.run(workspace).err());
        add_time(step.name, start.elapsed());
    }
    add_time("total", start.elapsed());
    failures.extend(suite::report_flaky().err());
    println!("\n{times}");
    ensure!(failures.is_empty(), "{} failures\n\n{}", failures.len(), list(&failures));
    println!("ci: all {} steps passed", GATE.len() + rest.len());
    Ok(())
}

fn list(failures: &[anyhow::Error]) -> String {
    failures.iter().map(|failure| format!("{failure:#}")).collect::<Vec<_>>().join("\n\n")
}

fn fmt(workspace: &Workspace) -> Result<()> {
    let advice = "run `cargo fmt --all` to fix it, in `bench/` and `unified/` as well";
    run_command(&mut workspace.cargo(["fmt", "--all", "--check"])).context(advice)?;
    run_command(&mut workspace.cargo([
        "fmt",
        "--manifest-path=bench/Cargo.toml",
        "--package=trunkline-bench",
        "--package=trunkline-bench-pair",
        "--package=rmcp-client",
        "--check",
    ]))
    .context(advice)?;
    run_command(&mut workspace.cargo([
        "fmt",
        "--manifest-path=unified/Cargo.toml",
        "--package=trunkline-unified",
        "--check",
    ]))
    .context(advice)
}

fn postgres(workspace: &Workspace) -> Result<()> {
    let advice =
        "PostgreSQL and PgBouncer are required: `apt-get install postgresql pgbouncer` on Debian";
    suite::run(workspace, &["--test=postgres"], &["--include-ignored"]).context(advice)?;
    suite::run(workspace, &["--lib"], &["tests::texts_are_split", "--include-ignored"])
        .context(advice)?;
    suite::run(workspace, &["--test=it"], &["postgres::", "--include-ignored"]).context(advice)
}

fn nodes(workspace: &Workspace) -> Result<()> {
    let advice = "PostgreSQL and nginx are required: `apt-get install postgresql nginx` on Debian";
    suite::run(workspace, &["--test=it"], &["nodes::", "--include-ignored"]).context(advice)
}

/// Two configurations: the default features, and the program without them, as a user installs it. The features of
/// dependencies for tests are not enabled in the latter.
fn clippy(workspace: &Workspace) -> Result<()> {
    lint(workspace, &["--workspace", "--all-targets"])?;
    // Not default targets, since `cargo xtask postgres` and `cargo xtask soak` run them.
    lint(workspace, &["--workspace", "--test=postgres", "--test=soak"])?;
    lint(workspace, &["--package=trunkline-cli", "--bins", "--no-default-features"])
}

/// Some code is compiled only without the default features.
fn features(workspace: &Workspace) -> Result<()> {
    for library in ["trunkline", "trunkline-mcp", "trunkline-records", "trunkline-sql"] {
        lint(workspace, &["--package", library, "--lib", "--no-default-features"])?;
    }
    Ok(())
}

fn lint(workspace: &Workspace, selection: &[&str]) -> Result<()> {
    run_command(workspace.cargo(["clippy"]).args(selection).args(["--", "-Dwarnings"]))
}

fn doc(workspace: &Workspace) -> Result<()> {
    let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps"]);
    run_command(doc.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    doc_index::check(workspace)
}

fn test(workspace: &Workspace) -> Result<()> {
    suite::run(workspace, &[], &[])
}

fn unified(workspace: &Workspace) -> Result<()> {
    run_command(&mut workspace.cargo([
        "test",
        "--manifest-path=unified/Cargo.toml",
        "--target-dir=target/unified",
        "--locked",
    ]))
}

fn bench_check(workspace: &Workspace) -> Result<()> {
    run_command(&mut workspace.cargo([
        "check",
        "--manifest-path=bench/Cargo.toml",
        "--target-dir=target/bench-check",
        "--workspace",
        "--all-targets",
        "--locked",
    ]))
}
