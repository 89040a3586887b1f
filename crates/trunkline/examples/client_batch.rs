//! Calls of several types in one message: `cargo run -p trunkline --example client_batch`.
#![expect(clippy::print_stdout, reason = "examples print their results")]

use std::error::Error;

use trunkline::client::{self, Client, Http};
use trunkline::{Params, Router, Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let rpc = Router::new()
        .method("add", |Params((a, b)): Params<(i64, i64)>| a + b)
        .method("upper", |Params((text,)): Params<(String,)>| text.to_uppercase())
        .method("log", |Params((line,)): Params<(String,)>| println!("the server logs: {line}"))
        .build()?;
    let server = Server::bind("127.0.0.1:0").serve(rpc).await?;

    let client = Client::new(Http::connect(&format!("http://{}", server.local_addr()))?);
    let mut batch = client.batch();
    let sum = batch.add(client.call::<i64>("add", [40, 2]));
    let upper = batch.add(client.call::<String>("upper", ["quiet"]));
    let unknown = batch.add(client.call::<i64>("no_such_method", ()));
    batch.notify(client.notify("log", ["a batch was received"]));

    // One request and one reply. The order of the replies in it does not matter.
    let mut replies = batch.send().await?;
    println!("add: {}", replies.take(sum)?);
    println!("upper: {}", replies.take(upper)?);
    match replies.take(unknown) {
        Err(client::Error::Application(error)) => println!("no_such_method: {error}"),
        other => println!("no_such_method: {other:?}"),
    }
    server.stop().await;
    Ok(())
}
