//! `trunkline call`.

use std::io::stdin;
use std::process::ExitCode;

use clap::Args;
use serde_json::value::RawValue;
use trunkline::client::http::Url;
use trunkline::client::{Client, ClientConfig};

use super::connection::{Connection, NOTES, url};
use crate::client::{CallError, Observed};
use crate::terminal::{Failure, Form, Words, finish, wait_for};

/// Calls a method of a JSON-RPC 2.0 server over HTTP, and prints its result.
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct Arguments {
    /// Where the server answers, like http://127.0.0.1:8080
    #[arg(value_parser = url)]
    url: Url,
    /// The method, like db.list_tables
    method: String,
    /// Params: nothing; one JSON object or array; - to read it from stdin; or key=value for each
    /// param by name. A value that is a JSON number, true, false, null, object, array or quoted
    /// string is taken as that, any other as a string; key:=JSON takes nothing but JSON.
    #[arg(value_name = "PARAMS")]
    params: Vec<String>,
    /// Send a notification: nothing answers, and nothing is printed.
    #[arg(long, conflicts_with = "json")]
    notify: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Calls the method, and prints its result.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let form = Form::of_streams(arguments.connection.json);
    finish(form, || call(arguments, form))
}

fn call(arguments: &Arguments, form: Form) -> Result<String, Failure> {
    let params = Words::read(&arguments.params, stdin()).map_err(Failure::Usage)?;
    let params = params.into_json(|_| false);
    let (method, params) = (arguments.method.as_str(), params.as_deref());
    let connection = &arguments.connection;
    let transport = Observed::new(connection.connect(arguments.url.clone())?);
    let settings = ClientConfig { timeout: connection.timeout(), ..ClientConfig::default() };
    let client = Client::with_config(transport.clone(), settings);
    let failed = |error| Failure::from(CallError { error, status: transport.status() });
    wait_for(async {
        if arguments.notify {
            client.notify(method, params).await.map_err(failed)?;
            return Ok(String::new());
        }
        let result: Box<RawValue> = client.call(method, params).await.map_err(failed)?;
        Ok(form.value(&result))
    })
}
