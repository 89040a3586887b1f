//! A program that calls one that it starts, over its stdin and stdout. Here it starts itself:
//! `cargo run -p trunkline --example stdio_child`.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;
use std::process::Command;

use trunkline::client::{Child, Client};
use trunkline::{Router, rpc, stdio, stream};

#[rpc(namespace = "words")]
trait Words {
    /// Counts the words of a text.
    async fn count(&self, text: String) -> usize;
}

struct Counter;

impl Words for Counter {
    async fn count(&self, text: String) -> usize {
        text.split_whitespace().count()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve().await,
        _ => call().await,
    }
}

/// Answers until stdin ends.
async fn serve() -> Result<(), Box<dyn Error>> {
    let rpc = Router::new().merge(Counter.into_router()).build()?;
    Ok(stdio::serve(&rpc, stream::StreamConfig::default()).await?)
}

async fn call() -> Result<(), Box<dyn Error>> {
    let mut program = Command::new(std::env::current_exe()?);
    program.arg("serve");
    let words = WordsClient::new(Client::new(Child::spawn(program)?));

    println!("{} words", words.count("register once, call from every door".to_owned()).await?);
    // The process ends with its last client.
    Ok(())
}
