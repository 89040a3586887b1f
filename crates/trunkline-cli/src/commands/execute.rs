//! `trunkline execute`.

use std::collections::HashMap;
use std::io::stdin;
use std::process::ExitCode;

use clap::Args;
use indexmap::IndexMap;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use trunkline::client::http::Url;

use crate::client::Native;
use crate::commands::connection::{Connection, MORE, NOTES, Output, split_address};
use crate::terminal::{Failure, document, finish, print_pages, wait_for};

/// Send a native command to a server
#[derive(Args)]
#[command(
    after_help = MORE, after_long_help = NOTES,
    override_usage = "trunkline execute [OPTIONS] [ADDRESS] <COMMAND>\n       \
                      trunkline execute [OPTIONS] [ADDRESS] --revert <REQUEST_ID>"
)]
pub(crate) struct Arguments {
    /// Server URL or HOST:PORT [env: TRUNKLINE_URL] [default: http://127.0.0.1:8080]
    ///
    /// The default path is /execute.
    address: Option<String>,
    /// Command, such as '{"command": "list", "resource": "todo"}'; - reads it from stdin
    #[arg(conflicts_with = "revert")]
    command: Option<String>,
    /// Send to /repeat, which does not execute a command again
    #[arg(long, conflicts_with = "revert")]
    repeat: bool,
    /// Undo the command with this metadata.requestId
    #[arg(long, value_name = "REQUEST_ID", conflicts_with = "all")]
    revert: Option<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: Connection,
}

/// The paths of commands.
const ENDPOINTS: [&str; 3] = ["/execute", "/repeat", "/revert"];

/// Sends the command and prints the result.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let renderer = arguments.output.renderer(&arguments.connection);
    finish(renderer, || {
        let words = arguments.address.iter().chain(&arguments.command).map(String::as_str);
        let (url, words) = split_address(words)?;
        let (path, body) = match (&arguments.revert, &*words) {
            (Some(id), []) => ("/revert", json!({ "requestId": id }).to_string()),
            (None, [command]) => {
                (if arguments.repeat { "/repeat" } else { "/execute" }, native(command)?)
            }
            (Some(_), _) => return usage("COMMAND cannot be used with --revert"),
            (None, []) => return usage("missing COMMAND, a JSON object"),
            (None, [address, ..]) => {
                return usage(&format!("`{address}` is not an address like 127.0.0.1:8080"));
            }
        };
        let url = endpoint(url, path)?;
        let connection = &arguments.connection;
        let native = Native::new(connection.connect(url)?, connection.timeout());
        wait_for(async {
            print_pages(renderer, arguments.output.all, async |cursor| {
                let body = match cursor {
                    None => body.clone(),
                    Some(cursor) => with_cursor(&body, cursor),
                };
                Ok(native.post(body).await?)
            })
            .await
        })
    })
}

/// Reads the JSON text of a native command. The server validates it.
fn native(word: &str) -> Result<String, Failure> {
    let json = document(word, stdin()).map_err(Failure::Usage)?;
    let Ok(members) = serde_json::from_str::<HashMap<String, IgnoredAny>>(json.get()) else {
        return usage("COMMAND must be a JSON object");
    };
    if members.contains_key("jsonrpc") {
        return usage("COMMAND is a JSON-RPC request; use `trunkline call`");
    }
    Ok(String::from(Box::<str>::from(json)))
}

/// The command for the page that begins at the cursor.
fn with_cursor(command: &str, cursor: &str) -> String {
    type Members = IndexMap<String, Box<RawValue>>;
    let read = |json: &str| serde_json::from_str::<Members>(json).unwrap_or_default();
    let mut members = read(command);
    let mut metadata = read(members.get("metadata").map_or("{}", |json| json.get()));
    metadata.insert("cursor".to_owned(), raw(&cursor));
    members.insert("metadata".to_owned(), raw(&metadata));
    raw(&members).get().to_owned()
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("strings and JSON are JSON")
}

/// Appends the path if the URL has none. A URL with the path of another endpoint would have another effect.
fn endpoint(url: Url, path: &'static str) -> Result<Url, Failure> {
    let url = url.or_path(path);
    let text = url.to_string();
    let named = text.split('?').next().unwrap_or_default();
    match ENDPOINTS.iter().find(|known| **known != path && named.ends_with(*known)) {
        Some(other) => {
            usage(&format!("{text} is the URL of {other}, not of {path}; leave out the path"))
        }
        None => Ok(url),
    }
}

fn usage<T>(reason: &str) -> Result<T, Failure> {
    Err(Failure::Usage(reason.to_owned()))
}
