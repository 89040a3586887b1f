//! A client of a child process, over its stdin and stdout. The example starts itself as the child:
//! `cargo run -p trunkline --example stdio_child`.
#![expect(clippy::print_stdout, reason = "examples print their results")]

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

/// Serves calls until the end of stdin.
async fn serve() -> Result<(), Box<dyn Error>> {
    let rpc = Router::new().merge(Counter.into_router()).build()?;
    Ok(stdio::serve(&rpc, stream::StreamConfig::default()).await?)
}

async fn call() -> Result<(), Box<dyn Error>> {
    let mut program = Command::new(std::env::current_exe()?);
    program.arg("serve");
    let words = WordsClient::new(Client::new(Child::spawn(program)?));

    println!("{} words", words.count("register once, call over every protocol".to_owned()).await?);
    // The process ends when its last client is dropped.
    Ok(())
}
