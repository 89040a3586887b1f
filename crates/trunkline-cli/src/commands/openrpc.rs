//! `trunkline openrpc`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;
use trunkline::client::{Client, ClientConfig};

use crate::client::{CallError, Observed};
use crate::commands::connection::{Connection, NOTES, url};
use crate::terminal::{Failure, Form, finish, indented, wait_for};
use trunkline::client::http::Url;

/// Prints the OpenRPC document of a JSON-RPC 2.0 server.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// Where the server answers, like http://127.0.0.1:8080
    #[arg(value_parser = url)]
    url: Url,
    /// Write the document to this file, and print nothing.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

/// What a document has at least.
#[derive(Deserialize)]
struct Document<'d> {
    #[serde(rename = "openrpc", borrow)]
    _version: &'d RawValue,
    #[serde(rename = "methods", borrow)]
    _methods: Vec<&'d RawValue>,
}

/// Asks for the document, and prints it or writes it to a file.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let form = Form::of_streams(arguments.connection.json);
    finish(form, || {
        let text = discover(arguments, form)?;
        match &arguments.out {
            Some(file) => write(file, &text).map(|()| String::new()),
            None => Ok(text),
        }
    })
}

fn discover(arguments: &Arguments, form: Form) -> Result<String, Failure> {
    let connection = &arguments.connection;
    let transport = Observed::new(connection.connect(arguments.url.clone())?);
    let settings = ClientConfig { timeout: connection.timeout(), ..ClientConfig::default() };
    let client = Client::with_config(transport.clone(), settings);
    wait_for(async {
        let answer = client.call("rpc.discover", None::<&RawValue>).await;
        let failed = |error| Failure::from(CallError { error, status: transport.status() });
        let document: Box<RawValue> = answer.map_err(failed)?;
        if serde_json::from_str::<Document<'_>>(document.get()).is_err() {
            let told = "trunkline: the answer of rpc.discover is no OpenRPC document\n";
            return Err(Failure::Told(told.to_owned()));
        }
        Ok(match form.is_json {
            true => form.json(document.get()),
            false => indented(document.get()) + "\n",
        })
    })
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).map_err(|error| {
        Failure::Told(format!("trunkline: cannot write {}: {error}\n", file.display()))
    })
}
