//! `trunkline execute`.

use std::collections::HashMap;
use std::io::stdin;
use std::process::ExitCode;

use clap::Args;
use serde::de::IgnoredAny;
use serde_json::json;
use trunkline::client::http::Url;

use crate::client::Native;
use crate::commands::connection::{Connection, NOTES, url};
use crate::terminal::{Failure, Form, document, finish, wait_for};

/// Sends a native command to a server, and prints its result.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// The server, like http://127.0.0.1:8080 (its /execute is asked), or the endpoint itself
    #[arg(value_parser = url)]
    url: Url,
    /// The command, a JSON object like '{"command": "list", "resource": "todo"}'; - reads it from
    /// stdin.
    #[arg(required_unless_present = "revert", conflicts_with = "revert")]
    command: Option<String>,
    /// It may have been executed before: ask /repeat, which does nothing a second time.
    #[arg(long, conflicts_with = "revert")]
    repeat: bool,
    /// Undo what the command with this `metadata.requestId` has done: ask /revert.
    #[arg(long, value_name = "REQUEST_ID")]
    revert: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Where commands are sent, which a URL may name.
const ENDPOINTS: [&str; 3] = ["/execute", "/repeat", "/revert"];

/// Sends the command, and prints its result.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let form = Form::of_streams(arguments.connection.json);
    finish(form, || {
        let (path, body) = match &arguments.revert {
            Some(id) => ("/revert", json!({ "requestId": id }).to_string()),
            None => {
                let command = arguments.command.as_deref();
                let command = command.expect("clap asks for one where nothing is reverted");
                (if arguments.repeat { "/repeat" } else { "/execute" }, native(command)?)
            }
        };
        let url = endpoint(arguments.url.clone(), path)?;
        let connection = &arguments.connection;
        let native = Native::new(connection.connect(url)?, connection.timeout());
        wait_for(async {
            let result = native.post(body).await?;
            Ok(result.map(|result| form.value(&result)).unwrap_or_default())
        })
    })
}

/// The JSON text of a native command, which the server looks into.
fn native(word: &str) -> Result<String, Failure> {
    let json = document(word, stdin()).map_err(Failure::Usage)?;
    let told = |text: &str| Err(Failure::Usage(text.to_owned()));
    let Ok(members) = serde_json::from_str::<HashMap<String, IgnoredAny>>(json.get()) else {
        return told("a command is a JSON object");
    };
    if members.contains_key("jsonrpc") {
        return told("this is JSON-RPC: use `trunkline call`");
    }
    Ok(String::from(Box::<str>::from(json)))
}

/// A URL that names another endpoint than the one that is asked for would do something else.
fn endpoint(url: Url, path: &'static str) -> Result<Url, Failure> {
    let url = url.or_path(path);
    let text = url.to_string();
    let named = text.split('?').next().unwrap_or_default();
    match ENDPOINTS.iter().find(|known| **known != path && named.ends_with(*known)) {
        Some(other) => Err(Failure::Usage(format!(
            "{text} is where {other} is, not {path}: leave out its path"
        ))),
        None => Ok(url),
    }
}
