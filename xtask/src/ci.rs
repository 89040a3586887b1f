//! The gate: its steps, in order.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::tidy;
use crate::tools;
use crate::workspace::{Workspace, run};

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    check: fn(&Workspace) -> Result<()>,
}

/// What fails fastest and most often stands first.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        check: fmt,
    },
    Step {
        name: "clippy",
        about: "no warning from the compiler or clippy, tests and examples included",
        check: clippy,
    },
    Step {
        name: "doc",
        about: "the API documentation builds without a warning",
        check: doc,
    },
    Step {
        name: "test",
        about: "unit and integration tests; examples compile",
        check: test,
    },
    Step {
        name: "doctest",
        about: "the examples in the documentation run",
        check: doctest,
    },
    Step {
        name: "deny",
        about: "licences, duplicate versions and sources of the dependencies",
        check: deny,
    },
    Step {
        name: "machete",
        about: "no dependency that nothing uses",
        check: machete,
    },
    Step {
        name: "tidy",
        about: "the project's own rules: file sizes, crate graph, layers, links",
        check: tidy::run,
    },
    Step {
        name: "bench-check",
        about: "the benchmarks, a workspace of their own, still compile",
        check: bench_check,
    },
];

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

pub(crate) fn step(name: &str) -> Option<&'static Step> {
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
    ]))
}

fn doc(workspace: &Workspace) -> Result<()> {
    run(workspace
        .cargo(["doc", "--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-Dwarnings"))
}

fn test(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(["test", "--workspace", "--all-targets"]))
}

fn doctest(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(["test", "--workspace", "--doc"]))
}

fn deny(workspace: &Workspace) -> Result<()> {
    let deny = tools::DENY.ensure(workspace)?;
    run(workspace
        .command(deny)
        .args(["check", "bans", "licenses", "sources"]))
}

fn machete(workspace: &Workspace) -> Result<()> {
    let machete = tools::MACHETE.ensure(workspace)?;
    run(workspace
        .command(machete)
        .args(["--with-metadata", "crates", "xtask"]))
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
