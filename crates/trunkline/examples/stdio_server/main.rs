//! A server over stdin and stdout, for a parent process that calls it with `client::Child`.
//!
//! ```text
//! echo '{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}' | cargo run -p trunkline --example stdio_server
//! echo '{:jsonrpc "2.0", :method "subtract", :params [42 23], :id 1}' | cargo run -p trunkline --example stdio_server -- --edn
//! ```

mod service;

use clap::Parser;
use trunkline::{edn, stdio, stream};

#[derive(Parser)]
struct Options {
    /// Frame messages with Content-Length headers instead of lines.
    #[arg(long)]
    headers: bool,
    /// Read and write EDN instead of JSON.
    #[arg(long)]
    edn: bool,
    /// Maximum size of a message, in bytes.
    #[arg(long, default_value_t = 1 << 20)]
    message_bytes: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    let mut settings =
        stream::StreamConfig { message_bytes: options.message_bytes, ..Default::default() };
    if options.headers {
        settings.framing = stream::Framing::Headers;
    }
    if options.edn {
        settings.format = edn::FORMAT;
    }
    let rpc = service::CallCounts::new().router().build()?;
    stdio::serve(&rpc, settings).await?;
    Ok(())
}
