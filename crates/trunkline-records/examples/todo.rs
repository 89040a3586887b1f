//! A to-do server: `cargo run -p trunkline-records --example todo -- DIRECTORY [ADDRESS]`.
//!
//! ```text
//! curl -s localhost:3000/execute -H 'Content-Type: application/json' \
//!   -d '{"command": "create", "resource": "todo", "id": "tea", "payload": {"title": "Make tea"}}'
//! curl -s localhost:3000/execute -H 'Content-Type: application/json' \
//!   -d '{"jsonrpc": "2.0", "method": "todo.update", "params": {"id": "tea", "done": true}, "id": 1}'
//! curl -s localhost:3000/forms
//! ```
#![expect(clippy::print_stdout, reason = "prints the address")]

use std::error::Error;
use std::path::Path;

use trunkline::{Router, Server};
use trunkline_records::{RecordTypes, Records, operations, routes};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let directory = args.next().ok_or("usage: todo DIRECTORY [ADDRESS]")?;
    let address = args.next().unwrap_or_else(|| "127.0.0.1:3000".to_owned());

    let records = Records::open(Path::new(&directory), RecordTypes::default(), Default::default())?;
    let rpc = Router::new().merge(operations(&records, |_| false)).build()?;
    let service = rpc.http().merge(routes(&rpc, &records));

    let server = Server::bind(address).serve(service).await?;
    println!("listening on http://{}", server.local_addr());
    server.stopped().await;
    Ok(())
}
