//! Compares reading and writing EDN with clojure-reader and edn-format, and with serde_json for the same data as JSON.
//!
//! `edn [--json] [--rounds N]`. The libraries alternate within a round. For a profiler,
//! `edn --profile OF TASK` runs one of them twenty times.

mod contenders;
mod data;
mod heap;

use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use trunkline_bench::{median, turns};

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

/// One subject in one round.
#[derive(Serialize)]
struct Row {
    task: &'static str,
    of: &'static str,
    bytes: usize,
    millis: f64,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [option, of, task] = &*args
        && option == "--profile"
    {
        return profile(of, task);
    }
    let (json, rounds) = turns()?;
    let subjects = contenders::subjects(Data::generate(BYTES))?;
    let measured: Vec<Vec<Row>> = (0..rounds).map(|_| round(&subjects)).collect();
    if json {
        println!("{}", serde_json::to_string(&measured)?);
    } else {
        print(&measured);
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

fn round(subjects: &[Subject]) -> Vec<Row> {
    let row = |subject: &Subject| {
        // The previous subject must not affect the state of the allocator.
        heap::trim();
        (subject.turn)();
        let millis = (subject.turn)().as_secs_f64() * 1e3;
        Row { task: subject.task, of: subject.of, bytes: subject.bytes, millis }
    };
    subjects.iter().map(row).collect()
}

fn print(rounds: &[Vec<Row>]) {
    println!("medians of {} rounds", rounds.len());
    let mut shown = None;
    for (index, row) in rounds[0].iter().enumerate() {
        if shown.replace(row.task) != Some(row.task) {
            println!("{}", row.task);
        }
        let millis = median(rounds.iter().map(|rows| rows[index].millis));
        let rate = row.bytes as f64 / 1e3 / millis;
        println!("  {:<20} {millis:>8.1} ms {rate:>7.0} MB/s", row.of);
    }
}
