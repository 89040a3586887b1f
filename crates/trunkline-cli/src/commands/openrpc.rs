//! `trunkline openrpc`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::client::call;
use crate::commands::connection::{Address, Connection, MORE, NOTES};
use crate::terminal::{Failure, Renderer, finish, indented, wait_for};

/// Print the OpenRPC document of a JSON-RPC 2.0 server
#[derive(Args)]
#[command(after_help = MORE, after_long_help = NOTES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Address,
    /// Write the document to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

/// The required members of a document.
#[derive(Deserialize)]
struct Document<'d> {
    #[serde(rename = "openrpc", borrow)]
    _version: &'d RawValue,
    #[serde(rename = "methods", borrow)]
    _methods: Vec<&'d RawValue>,
}

/// Requests the document, and prints it or writes it to a file.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let renderer = Renderer::for_streams(arguments.connection.json, None);
    finish(renderer, || {
        let document = discover(arguments)?;
        let text = match (&arguments.out, renderer.is_json()) {
            (_, true) => renderer.json(document.get()),
            (Some(_), false) => indented(document.get()) + "\n",
            (None, false) => renderer.document(document.get()),
        };
        match &arguments.out {
            Some(file) => write(file, &text).map(|()| String::new()),
            None => Ok(text),
        }
    })
}

fn discover(arguments: &Arguments) -> Result<Box<RawValue>, Failure> {
    let connection = &arguments.connection;
    let http = connection.connect(arguments.server.url()?)?;
    wait_for(async {
        let params = None::<&RawValue>;
        let document = call(http, connection.timeout(), "rpc.discover", params).await?;
        if serde_json::from_str::<Document<'_>>(document.get()).is_err() {
            let message = "trunkline: the result of rpc.discover is not an OpenRPC document\n";
            return Err(Failure::Message(message.to_owned()));
        }
        Ok(document)
    })
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|error| {
        Failure::Message(format!("trunkline: cannot write {}: {error}\n", file.display()))
    })
}
