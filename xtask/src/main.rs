//! The project's chores, run as `cargo xtask <task>`.
//!
//! `ci` is the gate: what it accepts may be merged. Every step of it is also a task of its own.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person who runs it: results on stdout, progress on stderr"
)]

mod agent;
mod bench;
mod book;
mod ci;
mod clojure;
mod conformance;
mod doc_index;
mod inspector;
mod metadata;
mod model_check;
mod openrpc;
mod peers;
mod publish;
mod sample_db;
mod sdk;
mod served;
mod soak;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let workspace = Workspace::find()?;
    let Some((task, rest)) = args.split_first() else {
        bail!("which task?\n\n{}", usage());
    };
    match task.as_str() {
        "help" | "-h" | "--help" => println!("{}", usage()),
        "bench" => bench::run(&workspace, rest)?,
        "sample-db" => sample_db::run(&workspace, rest)?,
        _ if !rest.is_empty() => bail!("`{task}` takes no arguments, but was given {rest:?}"),
        "ci" => ci::run_all(&workspace)?,
        "model-check" => model_check::run(&workspace)?,
        "book-update" => book::update(&workspace)?,
        "soak" => soak::run_all(&workspace)?,
        "publish-dry-run" => publish::dry_run(&workspace)?,
        name => match ci::find(name) {
            Some(step) => step.run(&workspace)?,
            None => bail!("there is no task `{name}`\n\n{}", usage()),
        },
    }
    Ok(())
}

fn usage() -> String {
    let mut usage = String::from(
        "usage: cargo xtask <task>\n\n  ci           every step below, in this order; stops at the first failure\n",
    );
    for step in ci::STEPS {
        usage += &format!("  {:<12} {}\n", step.name, step.about);
    }
    usage += "\n  publish-dry-run  all of publishing but the upload; takes minutes";
    usage +=
        "\n  bench        measure the server against its peers; see `cargo xtask bench --help`";
    usage += "\n  book-update  write the generated page of the documentation";
    usage += "\n  soak         load tests, attacks on memory, bounds on time; takes 10 minutes";
    usage += "\n  model-check  a small language model finds the agent's tools; downloads 110 MB";
    usage +=
        "\n  sample-db    write a SQLite database to try things on: `cargo xtask sample-db FILE`";
    usage
}
