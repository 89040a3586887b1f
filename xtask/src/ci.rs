//! The steps of `cargo xtask ci`.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::{Workspace, run as run_command};
use crate::{
    bench, book, conformance, dist, doc_index, inspector, monitoring, publish, scripts, sdk,
};
use crate::{suite, tidy, upstreams};

/// A step: its name, what it checks, and the check.
pub(crate) type Step = (&'static str, &'static str, fn(&Workspace) -> Result<()>);

/// The steps of `cargo xtask ci`, in order. Each has found regressions, and takes little time after `test`, which compiles
/// the programs that later steps use.
pub(crate) const GATE: &[Step] = &[
    ("fmt", "the code is formatted", fmt),
    ("tidy", "the project's own rules are followed", tidy::run),
    ("clippy", "no warnings, tests and examples included", clippy),
    ("test", "`cargo test --workspace`: all tests without other programs", |workspace| {
        suite::run(workspace, &[], &[])
    }),
    ("postgres", "the back end of PostgreSQL, the contract of both engines, and stores", postgres),
    ("nodes", "clients do not notice that a server of several nodes is restarted", nodes),
    ("example-tools", "the tools in examples/tools work", example_tools),
    (
        "sdk",
        "the official MCP SDKs for Python and TypeScript, and FastMCP, use all features",
        sdk::run,
    ),
    ("conformance", "the official conformance suite accepts the server", conformance::run),
    ("agent", "an agent answers questions, and the history records every hop", scripts::agent),
    ("tokens", "the list of tools costs few tokens", scripts::tokens),
    ("instructions", "requests need no more instructions than recorded", bench::check_instructions),
];

/// The further steps of `cargo xtask ci --all`.
pub(crate) const REST: &[Step] = &[
    ("features", "no warnings in libraries without their default features", features),
    ("unified", "the libraries work with other features of serde_json", unified),
    ("rmcp", "the official MCP SDK for Rust uses all features of the server", sdk::run_rmcp),
    ("doc", "the API documentation builds without warnings, and its indexes are short", doc),
    ("book", "the documentation builds, and its commands print what it shows", book::run),
    ("inspector", "MCP Inspector calls every tool", inspector::run),
    ("upstreams", "the MCP client, its commands and the gateway use other servers", upstreams::run),
    ("console", "the web console works in Chromium, page by page", scripts::console),
    ("monitoring", "the queries of the dashboard and the alerts have data", monitoring::run),
    (
        "openrpc",
        "OpenRPC documents are valid, and generated clients call the server",
        scripts::openrpc,
    ),
    ("clojure", "EDN is compatible with Clojure, and a client calls the server", scripts::clojure),
    ("package", "each crate can be published", publish::packages),
    ("dist-check", "the templates of packages and the npm launcher are valid", dist::check),
    ("semver", "no breaking changes since the last release", publish::semver),
    ("bench-check", "the benchmarks still compile", bench_check),
];

/// Runs a step and prints its duration.
fn run_one(workspace: &Workspace, (name, about, check): Step) -> Result<String> {
    println!("\n== {name}: {about}");
    let start = Instant::now();
    let result = check(workspace);
    let verdict = if result.is_ok() { "ok" } else { "FAILED" };
    let time = format!("{name:<13} {verdict:<6} {:>7.1} s", start.elapsed().as_secs_f64());
    println!("== {time}");
    result.with_context(|| format!("{name} failed (to repeat it: `cargo xtask {name}`)"))?;
    Ok(time)
}

/// Runs the step with this name, if there is one.
pub(crate) fn run_step(workspace: &Workspace, name: &str) -> Option<Result<()>> {
    let step = GATE.iter().chain(REST).find(|(step, ..)| *step == name)?;
    let result = run_one(workspace, *step);
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
    let (mut times, mut failures) = (Vec::new(), Vec::new());
    for step in GATE.iter().chain(rest) {
        match run_one(workspace, *step) {
            Ok(time) => times.push(time),
            Err(failure) => failures.push(format!("{failure:#}")),
        }
    }
    failures.extend(suite::report_flaky().err().map(|failure| format!("{failure:#}")));
    println!("\n{}\ntotal: {:.1} s", times.join("\n"), start.elapsed().as_secs_f64());
    ensure!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
    println!("ci: all {} steps passed", GATE.len() + rest.len());
    Ok(())
}

/// The packages of each workspace. With `--all`, cargo would format those of their path dependencies again.
fn fmt(workspace: &Workspace) -> Result<()> {
    let bench = ["-p=trunkline-bench", "-p=trunkline-bench-pair", "-p=rmcp-client"];
    for (manifest, packages) in [
        ("Cargo.toml", &["--all"][..]),
        ("bench/Cargo.toml", &bench),
        ("unified/Cargo.toml", &["-p=trunkline-unified"]),
    ] {
        let mut fmt = workspace.cargo(["fmt", "--manifest-path", manifest]);
        run_command(fmt.args(packages).arg("--check"))
            .with_context(|| format!("`cargo fmt --manifest-path {manifest}` fixes it"))?;
    }
    Ok(())
}

fn postgres(workspace: &Workspace) -> Result<()> {
    for (target, filter) in [
        (&["--test=postgres"][..], None),
        (&["--lib"], Some("tests::texts_are_split")),
        (&["--test=it"], Some("postgres::")),
    ] {
        let filter: Vec<&str> = filter.into_iter().chain(["--include-ignored"]).collect();
        suite::run(workspace, target, &filter)
            .context("if it is missing: `apt-get install postgresql pgbouncer` on Debian")?;
    }
    Ok(())
}

fn nodes(workspace: &Workspace) -> Result<()> {
    suite::run(workspace, &["--test=it"], &["nodes::", "--include-ignored"])
        .context("if it is missing: `apt-get install postgresql nginx` on Debian")
}

fn example_tools(workspace: &Workspace) -> Result<()> {
    suite::run(workspace, &["--test=it"], &["tool::examples", "--include-ignored"])
        .context("if it is missing: `apt-get install python3 curl` on Debian")
}

/// Two configurations: the default features, and the program without them, as a user installs it. The features of
/// dependencies for tests are not enabled in the latter. Some test targets are not default ones, since
/// `cargo xtask postgres` and `cargo xtask soak` run them.
fn clippy(workspace: &Workspace) -> Result<()> {
    lint(workspace, &["--workspace", "--all-targets"])?;
    lint(workspace, &["--workspace", "--test=postgres", "--test=soak"])?;
    lint(workspace, &["--package=trunkline-cli", "--bins", "--no-default-features"])
}

/// Some code is compiled only without the default features.
fn features(workspace: &Workspace) -> Result<()> {
    ["trunkline", "trunkline-mcp", "trunkline-records", "trunkline-sql"].into_iter().try_for_each(
        |library| lint(workspace, &["--package", library, "--lib", "--no-default-features"]),
    )
}

fn lint(workspace: &Workspace, selection: &[&str]) -> Result<()> {
    run_command(workspace.cargo(["clippy"]).args(selection).args(["--", "-Dwarnings"]))
}

fn doc(workspace: &Workspace) -> Result<()> {
    let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps"]);
    run_command(doc.env("RUSTDOCFLAGS", "-Dwarnings"))?;
    doc_index::check(workspace)
}

fn unified(workspace: &Workspace) -> Result<()> {
    let target = ["--manifest-path=unified/Cargo.toml", "--target-dir=target/unified"];
    run_command(workspace.cargo(["test", "--locked"]).args(target))
}

fn bench_check(workspace: &Workspace) -> Result<()> {
    let target = ["--manifest-path=bench/Cargo.toml", "--target-dir=target/bench-check"];
    run_command(workspace.cargo(["check", "--locked", "--workspace", "--all-targets"]).args(target))
}
