//! The HTTP routes of native commands and of JSON-RPC on the same path: `POST /execute`, `/repeat`, `/revert`, `GET /forms`,
//! `/ping`.
//!
//! | native status | when |
//! |---|---|
//! | 200, 201, 204 | done; 201 of `create`, 204 of `delete` |
//! | 400 | no command that could be read; unknown; a value that does not fit |
//! | 401, 403, 429 | who may not call, or calls too often |
//! | 404, 409 | no such record; it is there already, or has changed |
//! | 500 | the storage fails |
//! | 503, 504 | too many calls wait; the call's time is up |

mod forms;
mod repeat;
mod response;
mod revert;

use axum::extract::State;
use axum::routing::{get, post};
use http::{Response, Uri};
use tower::Service;
use trunkline::http::{self as endpoint, Context, Message, ReplyBody, respond};
use trunkline::protocol::Format;
use trunkline::{Call, ErrorObject, Extensions, Outcome, Rpc, code};

use crate::adapter::{self, NativeReply};
use crate::command::{Command, Protocol};
use crate::excerpt::excerpt;
use crate::resources::{Mode, Resources};
use response::NativeResponse;

/// The routes of native commands.
///
/// `POST /execute` takes native commands and JSON-RPC, in JSON or EDN: a command
/// `{"command", "resource", …}` is a call of the operation `resource.command` of `rpc`, whatever
/// registered it, through all layers. `POST /repeat` does the same for what may have been done already.
/// `POST /revert` undoes a request to `resources`, `GET /forms` describes what can be asked for, and
/// `GET /ping` is answered as long as the server runs.
pub fn routes(rpc: &Rpc, resources: &Resources) -> endpoint::Routes {
    let forms = async |State(routes): State<Routes>, uri: Uri, context: Context| {
        plain(routes.forms(&uri, &context.extensions), &context)
    };
    let ping = async |context: Context| plain(*br#"{"status":"ok"}"#, &context);
    let router = axum::Router::new()
        .route("/execute", post(Routes::answer_execute))
        .route("/repeat", post(Routes::answer_repeat))
        .route("/revert", post(Routes::answer_revert))
        .route("/forms", get(forms))
        .route("/ping", get(ping))
        .with_state(Routes { rpc: rpc.clone(), resources: resources.clone() });
    endpoint::Routes::new("execute", router)
        .formats(Format::ALL)
        .protocol(adapter::NATIVE)
        .refusals(|error| NativeReply::error(&error).body.unwrap_or_default())
}

#[derive(Clone)]
struct Routes {
    rpc: Rpc,
    resources: Resources,
}

/// The key of JSON-RPC messages, which is also searched in EDN that cannot be read.
const JSON_RPC: &[u8] = b"jsonrpc";

/// The action of a path.
#[derive(Clone, Copy)]
enum Action {
    Command(Mode),
    Revert,
}

impl Routes {
    async fn answer_execute(State(routes): State<Self>, message: Message) -> Response<ReplyBody> {
        routes.answer(message, Action::Command(Mode::Execute)).await
    }

    async fn answer_repeat(State(routes): State<Self>, message: Message) -> Response<ReplyBody> {
        routes.answer(message, Action::Command(Mode::Repeat)).await
    }

    async fn answer_revert(State(routes): State<Self>, message: Message) -> Response<ReplyBody> {
        routes.answer(message, Action::Revert).await
    }

    async fn answer(&self, message: Message, action: Action) -> Response<ReplyBody> {
        let Message { extensions, body, formats, status_policy, .. } = message;
        let read = formats.request.read(body.clone(), self.rpc.limits());
        let is_json_rpc = match &read {
            Ok(json) => adapter::protocol(json) == Protocol::JsonRpc,
            // EDN that cannot be read has no members to check; invalid JSON is passed on.
            Err(_) => body.windows(JSON_RPC.len()).any(|part| part == JSON_RPC),
        };
        if is_json_rpc {
            let mut extensions = extensions.speaking(adapter::JSON_RPC);
            if let Action::Command(mode) = action {
                extensions.insert(mode);
            }
            if let (Action::Command(Mode::Repeat), Ok(json)) = (action, &read) {
                let sent = (formats, body.clone());
                if let Some(reply) = self.refuse_repetition(json, sent, &extensions) {
                    return respond(status_policy.status(&reply), reply);
                }
            }
            // Unchanged, so that an id in EDN is returned exactly.
            let reply = self.rpc.handle_in(formats, body, extensions).await;
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

    /// Executes a native message. The error is that of an invalid command.
    async fn execute(
        &self,
        json: &[u8],
        mut extensions: Extensions,
        mode: Mode,
    ) -> Result<NativeResponse, ErrorObject> {
        let command = adapter::read(json)?;
        let call = adapter::call_of(&command)?;
        if mode == Mode::Repeat
            && let Some(error) = self.would_act_again(&call.method())
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
            let resources = names.iter().map(|(name, _)| *name).filter(|name| *name != "rpc");
            let mut resources: Vec<&str> = resources.collect();
            resources.sort_unstable();
            resources.dedup();
            let (name, others) = (excerpt(resource), resources.join(", "));
            return format!("there is no resource {name:?}: there is {others}");
        }
        let (name, commands) = (excerpt(command), commands.join(", "));
        format!("{resource} has no command {name:?}: it has {commands}")
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

    /// Records a message that was refused before it became a call.
    fn record(&self, error: &ErrorObject, extensions: &Extensions) {
        if let Some(history) = self.rpc.history() {
            history.refused(extensions, error);
        }
    }
}

fn plain(json: impl Into<Vec<u8>>, context: &Context) -> Response<ReplyBody> {
    NativeResponse::from(NativeReply::plain(json)).into_http(context.format)
}

fn too_large(limit: usize) -> ErrorObject {
    let reason = format!("the reply is over the limit of {limit} bytes: ask for less");
    ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large")
        .with_data(&serde_json::json!({ "reason": reason }))
}
