//! What people read on their terminal.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this module is the terminal")]

use std::net::SocketAddr;
use std::path::Path;

/// What is served and how to try it.
pub(crate) fn started(database: &Path, address: SocketAddr, methods: &[&str], token_needed: bool) {
    let url = format!("http://{address}");
    println!("trunkline {}", env!("CARGO_PKG_VERSION"));
    println!("  serving   {} (read-only)", database.display());
    println!("  listening {url}  (POST /, /rpc, /jsonrpc; GET /health)");
    println!("  methods   {}", methods.join(", "));
    let token = if token_needed { " -H 'Authorization: Bearer TOKEN'" } else { "" };
    println!("Try it:");
    println!("  curl -s {url}/ -H 'Content-Type: application/json'{token} \\");
    println!("    -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"db.list_tables\"}}'");
}

pub(crate) fn note(text: &str) {
    println!("{text}");
}

/// An error and its causes, each on its line.
pub(crate) fn error(error: &anyhow::Error) {
    eprintln!("trunkline: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("  because: {cause}");
    }
}
