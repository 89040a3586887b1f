//! Imports records without a server, and prints the duration:
//! `cargo run --release -p trunkline-records --example import -- DIRECTORY [RECORDS [TASKS]]`.
//!
//! Each task waits until its record is on disk before it creates the next one. One commit contains the records of
//! many tasks, so more tasks create more records per second.
#![expect(clippy::print_stdout, reason = "prints the duration")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use tokio::task::JoinSet;
use trunkline::CancellationToken;
use trunkline_records::{Command, Context, RecordTypes, Records};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let directory = args.next().ok_or("usage: import DIRECTORY [RECORDS [TASKS]]")?;
    let records: usize = args.next().map_or(Ok(10_000), |records| records.parse())?;
    let tasks: usize = args.next().map_or(Ok(64), |tasks| tasks.parse())?;

    let store = Records::open(Path::new(&directory), RecordTypes::default(), Default::default())?;
    let start = Instant::now();
    let mut imports = JoinSet::new();
    for task in 0..tasks {
        let store = store.clone();
        imports.spawn(async move {
            for number in (task..records).step_by(tasks) {
                let mut command = Command::new("todo", "create");
                command.payload.insert("title".to_owned(), format!("Number {number}").into());
                let cancel = CancellationToken::new();
                store.execute(command, &Context::default(), &cancel).await?;
            }
            Ok::<_, trunkline_records::Error>(())
        });
    }
    while let Some(task) = imports.join_next().await {
        task??;
    }
    let micros = start.elapsed().as_micros() as u64;
    println!("{}", json!({ "records": records, "tasks": tasks, "micros": micros }));
    Ok(())
}
