//! `trunkline call`, and how results and failures are shown, which the client's other commands share.

mod arguments;
mod document;
mod failure;
mod printed;
mod rowset;
mod table;
mod text;
mod words;

use std::io::{ErrorKind, stdin};
use std::process::ExitCode;

use serde_json::value::RawValue;
use trunkline::client::{Client, Settings};

pub(crate) use self::arguments::{Arguments, Connection, NOTES, ToolsArguments, url};
pub(crate) use self::document::indented;
pub(crate) use self::failure::Failure;
pub(crate) use self::printed::Form;
pub(crate) use self::table::Table;
pub(crate) use self::text::{cut, line, lines};
pub(crate) use self::words::{Words, document};
use crate::client::{CallError, Observed};
use crate::output;

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
    let settings = Settings { timeout: connection.timeout(), ..Settings::default() };
    let client = Client::with_settings(transport.clone(), settings);
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

/// Runs a client to its end.
pub(crate) fn wait_for<T>(client: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::Output)?;
    let done = runtime.block_on(client);
    // A look-up of a name may still be running.
    runtime.shutdown_background();
    done
}

/// Prints what a command has to print.
pub(crate) fn finish(form: Form, command: impl FnOnce() -> Result<String, Failure>) -> ExitCode {
    let printed = command().and_then(|text| match output::data(&text) {
        // As in `trunkline call … | head -1`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(Failure::Output),
    });
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.text(form));
            failure.exit_code()
        }
    }
}
