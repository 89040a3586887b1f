//! Many records made at once, without a server, and how long it takes to make them last:
//! `cargo run --release -p trunkline-resources --example import -- DIRECTORY [RECORDS [TASKS]]`.
//!
//! Each of the tasks waits until its record is on the disk before it makes the next one. One commit makes
//! those of many tasks last, so more tasks make more records a second.
#![expect(clippy::print_stdout, reason = "it tells how long it took")]

use std::error::Error;
use std::time::Instant;

use serde_json::json;
use tokio::task::JoinSet;
use trunkline::CancellationToken;
use trunkline_resources::{Command, Context, ResourceTypes, Resources};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let directory = args.next().ok_or("usage: import DIRECTORY [RECORDS [TASKS]]")?;
    let records: usize = args.next().map_or(Ok(10_000), |records| records.parse())?;
    let tasks: usize = args.next().map_or(Ok(64), |tasks| tasks.parse())?;

    let resources = Resources::open(directory, ResourceTypes::default(), Default::default())?;
    let begun = Instant::now();
    let mut importing = JoinSet::new();
    for task in 0..tasks {
        let resources = resources.clone();
        importing.spawn(async move {
            for number in (task..records).step_by(tasks) {
                let mut command = Command::new("todo", "create");
                command.payload.insert("title".to_owned(), format!("Number {number}").into());
                let cancel = CancellationToken::new();
                resources.execute(command, &Context::default(), &cancel).await?;
            }
            Ok::<_, trunkline_resources::Error>(())
        });
    }
    while let Some(task) = importing.join_next().await {
        task??;
    }
    let micros = begun.elapsed().as_micros() as u64;
    println!("{}", json!({ "records": records, "tasks": tasks, "micros": micros }));
    Ok(())
}
