//! The HTTP routes of native commands, which accept JSON-RPC on the same path: `POST /execute`, `/repeat`, `/revert`,
//! `GET /forms`, `/ping`.
//!
//! | native status | reason |
//! |---|---|
//! | 200, 201, 204 | success; 201 for `create`, 204 for `delete` |
//! | 400 | unreadable message, unknown command, invalid value |
//! | 401, 403, 429 | missing authentication, missing permission, rate limit |
//! | 404, 409 | unknown record; the record already exists or has changed |
//! | 500 | failed storage |
//! | 503, 504 | overload; timeout |

mod forms;
mod repeat;
mod response;
mod revert;

use axum::extract::State;
use axum::routing::{get, post};
use http::{Response, Uri};
use tower::Service;
use trunkline::http::{self as endpoint, Context, Message, ReplyBody, respond};
use trunkline::protocol::FORMATS;
use trunkline::{Call, ErrorObject, Extensions, Outcome, Rpc, code};

use crate::adapter::{self, NativeReply};
use crate::command::{Command, Protocol};
use crate::excerpt::excerpt;
use crate::records::{Mode, Records};
use response::NativeResponse;

/// Returns the routes of native commands.
///
/// `POST /execute` accepts native commands and JSON-RPC, in JSON or EDN: a command `{"command", "resource", …}` calls
/// the operation `resource.command` of `rpc`, which need not be an operation of `records`, through all layers.
/// `POST /repeat` does the same for commands that may have been executed before. `POST /revert` reverts a request to
/// `records`, `GET /forms` describes the available commands, and `GET /ping` is a liveness check.
pub fn routes(rpc: &Rpc, records: &Records) -> endpoint::Routes {
    let forms = async |State(routes): State<Routes>, uri: Uri, context: Context| {
        plain(routes.forms(&uri, &context.extensions), &context)
    };
    let ping = async |context: Context| plain(*br#"{"status":"ok"}"#, &context);
    let handler = |action| {
        post(async move |State(routes): State<Routes>, message: Message| {
            routes.handle(message, action).await
        })
    };
    let router = axum::Router::new()
        .route("/execute", handler(Action::Command(Mode::Execute)))
        .route("/repeat", handler(Action::Command(Mode::Repeat)))
        .route("/revert", handler(Action::Revert))
        .route("/forms", get(forms))
        .route("/ping", get(ping))
        .with_state(Routes { rpc: rpc.clone(), records: records.clone() });
    endpoint::Routes::new("execute", router)
        .formats(FORMATS)
        .protocol(adapter::NATIVE)
        .refusals(|error| NativeReply::error(&error).body.unwrap_or_default())
}

#[derive(Clone)]
struct Routes {
    rpc: Rpc,
    records: Records,
}

/// The key of JSON-RPC messages, which is also searched in invalid EDN.
const JSON_RPC: &[u8] = b"jsonrpc";

/// The action of a path.
#[derive(Clone, Copy)]
enum Action {
    Command(Mode),
    Revert,
}

impl Routes {
    async fn handle(&self, message: Message, action: Action) -> Response<ReplyBody> {
        let Message { extensions, body, formats, status_policy, .. } = message;
        let read = formats.request.read(body.clone(), self.rpc.limits());
        let read = read.map_err(ErrorObject::from);
        let is_json_rpc = match &read {
            Ok(json) => adapter::protocol(json) == Protocol::JsonRpc,
            // Invalid EDN has no members to check; invalid JSON is passed on.
            Err(_) => body.windows(JSON_RPC.len()).any(|part| part == JSON_RPC),
        };
        if is_json_rpc {
            let mut extensions = extensions.with_protocol(adapter::JSON_RPC);
            if let Action::Command(mode) = action {
                extensions.insert(mode);
            }
            // The unchanged body, so that an id in EDN is returned exactly.
            let reply = match action {
                Action::Command(Mode::Repeat) => self.repeat(formats, body, extensions).await,
                _ => self.rpc.handle_in(formats, body, extensions).await,
            };
            return respond(status_policy.status(&reply), reply);
        }
        let json = match read {
            Ok(json) => json,
            Err(error) => {
                self.record(&error, &extensions);
                return NativeResponse::from(NativeReply::unreadable(&error))
                    .into_http(formats.reply);
            }
        };
        let response = match action {
            Action::Command(mode) => self.execute(&json, extensions.clone(), mode).await,
            Action::Revert => self.revert(&json, extensions.clone()).await,
        };
        match response {
            Ok(response) => response.into_http(formats.reply),
            Err(error) => {
                self.record(&error, &extensions);
                NativeResponse::from(NativeReply::error(&error)).into_http(formats.reply)
            }
        }
    }

    /// Executes a native message. Returns an error for invalid commands.
    async fn execute(
        &self,
        json: &[u8],
        mut extensions: Extensions,
        mode: Mode,
    ) -> Result<NativeResponse, ErrorObject> {
        let command = adapter::read(json)?;
        let call = adapter::call_of(&command)?;
        if mode == Mode::Repeat
            && let Some(error) = self.repetition_error(&call.method())
        {
            return Err(error);
        }
        extensions.insert(mode);
        let outcome = self.run(call, extensions).await;
        if outcome.code() == Some(code::METHOD_NOT_FOUND) {
            return Ok(NativeReply::unknown(&self.known_commands(&command)).into());
        }
        Ok(NativeResponse::of(&command, &outcome))
    }

    /// The known commands, for the error of an unknown one.
    fn known_commands(&self, Command { command, resource, .. }: &Command) -> String {
        let operations = self.rpc.operations();
        let names = operations.iter().filter_map(|one| one.name().rsplit_once('.'));
        let names: Vec<_> = names.collect();
        let of_resource = names.iter().filter(|(name, _)| name == resource);
        let commands: Vec<&str> = of_resource.map(|(_, command)| *command).collect();
        if commands.is_empty() {
            let records = names.iter().map(|(name, _)| *name).filter(|name| *name != "rpc");
            let mut records: Vec<&str> = records.collect();
            records.sort_unstable();
            records.dedup();
            let (name, others) = (excerpt(resource), records.join(", "));
            return format!("unknown resource {name:?}; the resources are {others}");
        }
        let (name, commands) = (excerpt(command), commands.join(", "));
        format!("{resource} has no command {name:?}; its commands are {commands}")
    }

    async fn run(&self, mut call: Call, extensions: Extensions) -> Outcome {
        *call.extensions_mut() = extensions;
        let Ok(outcome) = Service::call(&mut self.rpc.clone(), call).await;
        let limit = self.rpc.limits().reply_bytes;
        match outcome.as_result() {
            Ok(result) if result.len() > limit => Outcome::error(too_large(limit)),
            _ => outcome,
        }
    }

    /// Records a message that was rejected before it became a call.
    fn record(&self, error: &ErrorObject, extensions: &Extensions) {
        if let Some(history) = self.rpc.history() {
            history.record_refusal(extensions, error);
        }
    }
}

fn plain(json: impl Into<Vec<u8>>, context: &Context) -> Response<ReplyBody> {
    NativeResponse::from(NativeReply::plain(json)).into_http(context.format)
}

fn too_large(limit: usize) -> ErrorObject {
    let reason = format!("the reply exceeds the limit of {limit} bytes; request less data");
    ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large")
        .with_data(&serde_json::json!({ "reason": reason }))
}
