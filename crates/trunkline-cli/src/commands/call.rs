//! `trunkline call`.

use std::io::stdin;
use std::process::ExitCode;

use clap::Args;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::client::Client;
use trunkline::code;

use super::connection::{Connection, MORE, NOTES, Output, split_address};
use crate::client::{CallError, StatusTransport};
use crate::terminal::{Failure, Params, Renderer, finish, print_pages, similar, wait_for};

/// Call a method of a JSON-RPC 2.0 server
#[derive(Args)]
#[command(
    after_help = MORE, after_long_help = NOTES,
    override_usage = "trunkline call [OPTIONS] [ADDRESS] <METHOD> [PARAMS]..."
)]
pub(crate) struct Arguments {
    /// Server URL or HOST:PORT [env: TRUNKLINE_URL] [default: http://127.0.0.1:8080]
    address: Option<String>,
    /// Method, such as db.list_tables
    method: Option<String>,
    /// Params: key=value for each, one JSON object or array, or - to read it from stdin
    ///
    /// A value that is valid JSON is sent as JSON, any other as a string. key:=JSON accepts JSON only.
    #[arg(value_name = "PARAMS")]
    params: Vec<String>,
    /// Send a notification: no response, no output
    #[arg(long, conflicts_with_all = ["json", "format", "all"])]
    notify: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: Connection,
}

/// Calls the method and prints the result.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let renderer = arguments.output.renderer(&arguments.connection);
    finish(renderer, || call(arguments, renderer))
}

fn call(arguments: &Arguments, renderer: Renderer) -> Result<String, Failure> {
    let Arguments { address, method, params, connection, .. } = arguments;
    let words = address.iter().chain(method).chain(params).map(String::as_str);
    let (url, words) = split_address(words)?;
    let [method, params @ ..] = &*words else {
        let reason = "missing METHOD; `trunkline openrpc` lists the methods";
        return Err(Failure::Usage(reason.to_owned()));
    };
    let params = Params::read(params, stdin()).map_err(Failure::Usage)?;
    let params = params.into_json(|_| false);
    let (client, transport) =
        StatusTransport::client(connection.connect(url)?, connection.timeout());
    let failed = |error| CallError { error, status: transport.status() };
    wait_for(async {
        if arguments.notify {
            client.notify(method, params.as_deref()).await.map_err(failed)?;
            return Ok(String::new());
        }
        print_pages(renderer, arguments.output.all, async |cursor| {
            let params = with_cursor(params.as_deref(), cursor)?;
            match client.call(method, params.as_deref()).await {
                Ok(result) => Ok(Some(result)),
                Err(error) => Err(with_suggestion(&client, method, failed(error)).await),
            }
        })
        .await
    })
}

/// The params of the call for the page that begins at the cursor.
pub(super) fn with_cursor(
    params: Option<&RawValue>,
    cursor: Option<&str>,
) -> Result<Option<Box<RawValue>>, Failure> {
    let Some(cursor) = cursor else { return Ok(params.map(ToOwned::to_owned)) };
    let members = serde_json::from_str(params.map_or("{}", RawValue::get));
    let Ok::<IndexMap<String, &RawValue>, _>(mut members) = members else {
        return Err(Failure::Usage("--all requires params by name".to_owned()));
    };
    let cursor = serde_json::value::to_raw_value(cursor).expect("a string is JSON");
    members.insert("cursor".to_owned(), &cursor);
    let params = serde_json::value::to_raw_value(&members).expect("JSON members are an object");
    Ok(Some(params))
}

/// Suggests methods of the server for one that it does not have.
async fn with_suggestion(client: &Client, method: &str, failed: CallError) -> Failure {
    #[derive(Deserialize)]
    struct Document {
        methods: Vec<Method>,
    }
    #[derive(Deserialize)]
    struct Method {
        name: String,
    }
    let error = failed.error.error_object();
    if error.is_none_or(|error| error.code() != code::METHOD_NOT_FOUND) {
        return failed.into();
    }
    let document: Result<Value, _> = client.call("rpc.discover", None::<&RawValue>).await;
    let document = document.ok().and_then(|document| serde_json::from_value(document).ok());
    let Some(Document { methods }) = document else { return failed.into() };
    let names = similar(method, methods.iter().map(|method| &*method.name));
    let remedy = match &*names {
        [] => "list the methods with `trunkline openrpc`".to_owned(),
        names => names.join(", or "),
    };
    Failure::CallWithRemedy(failed, remedy)
}
