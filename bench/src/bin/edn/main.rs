//! Compares reading and writing EDN with clojure-reader and edn-format, and with serde_json for the same data as JSON.
//!
//! Prints the figures of one round. For a profiler, `edn --profile OF TASK` runs one of them twenty times.

mod contenders;
mod data;
mod heap;

use std::time::Duration;

use anyhow::{Context, Result};
use trunkline_bench::print_figure;

use crate::data::Data;

/// Length of the EDN text in bytes.
const BYTES: usize = 10_000_000;
const PROFILED_TURNS: usize = 20;

/// A timed task, which processes the whole text once.
struct Subject {
    task: &'static str,
    of: &'static str,
    /// Length of the text in bytes.
    bytes: usize,
    turn: Box<dyn Fn() -> Duration>,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [option, of, task] = &*args
        && option == "--profile"
    {
        return profile(of, task);
    }
    for subject in contenders::subjects(Data::generate(BYTES))? {
        // The previous subject must not affect the state of the allocator.
        heap::trim();
        (subject.turn)();
        let seconds = (subject.turn)().as_secs_f64();
        let table = format!("EDN, {}", subject.task);
        print_figure(&table, subject.of, "ms", seconds * 1e3);
        print_figure(&table, subject.of, "MB/s", subject.bytes as f64 / 1e6 / seconds);
    }
    Ok(())
}

fn profile(of: &str, task: &str) -> Result<()> {
    let subjects = contenders::subjects(Data::generate(BYTES))?;
    let wanted = subjects.iter().find(|subject| subject.of == of && subject.task == task);
    let subject = wanted.with_context(|| format!("`{of}` has no task `{task}`"))?;
    (0..PROFILED_TURNS).for_each(|_| println!("{:?}", (subject.turn)()));
    Ok(())
}
