//! Confirmation of destructive calls.

mod codes;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tower::Layer;
use trunkline::access::Principal;
use trunkline::layers::{CallLayer, CallService, Layered};
use trunkline::protocol::{CallFuture, Description, canonical, excerpt, read_params};
use trunkline::tool::{CONFIRMATION_PARAM as PARAM, Confirmed};
use trunkline::{Call, Effect, ErrorObject, Outcome, Router, RpcError, code};

use self::codes::{CodeError, Codes, LIFETIME, RequestDigest};
use crate::model::ElicitResult;
use crate::peer::{Peer, PeerError, StateKey};

/// A layer that lets callers confirm destructive calls before they run.
///
/// The effect of a call is that of its [description](trunkline::protocol::Description::effect_of); a tool without a
/// declared effect is destructive, as in MCP.
///
/// * The user of an MCP client that supports elicitation is asked. If the user declines, the call fails without a code,
///   and so it does if the client cancels the question, unless codes are [enabled](Self::codes_after_cancel) then. If the
///   client responds with an error, or not within [2 minutes](Self::question_timeout), it is treated like one without
///   elicitation.
/// * Other calls, over every protocol, fail with -32013 and a confirmation code in `data`. The same call with the code as
///   the param `trunkline_confirm` runs. The code is valid once, for 5 minutes, and for the same caller, operation and
///   params. If the operation has the param `dry_run`, `data.preview` is the result of a dry run.
/// * Calls that a user has [confirmed](Confirmed) already run.
///
/// Access rules are checked before the confirmation.
///
/// ```
/// # use trunkline::{Operation, Router};
/// # use trunkline_mcp::ConfirmLayer;
/// let delete = Operation::new("delete", || "deleted").destructive().tool("delete");
/// let router: Router = ConfirmLayer::new().add_to(Router::new().operation(delete));
/// # router.build().unwrap();
/// ```
///
/// Codes are sealed with a random key of the layer, so they are valid in this process only, or with the key that several
/// servers [share](Self::with_key).
#[derive(Debug, Clone, Default)]
pub struct ConfirmLayer {
    codes: Arc<Codes>,
    questions: Questions,
}

/// The handling of questions to users.
#[derive(Debug, Clone, Copy)]
struct Questions {
    timeout: Duration,
    codes_after_cancel: bool,
}

impl Default for Questions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), codes_after_cancel: false }
    }
}

/// The param of operations that can count their changes without keeping them.
const DRY_RUN: &str = "dry_run";

impl ConfirmLayer {
    /// A layer with its own key.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A layer whose codes are valid on all servers with this key. Each of them accepts a code once.
    #[must_use]
    pub fn with_key(key: StateKey) -> Self {
        Self { codes: Arc::new(Codes::with_key(key)), ..Self::default() }
    }

    /// Sets the maximum time until a user answers a question. Afterwards, the question is withdrawn, and the call fails
    /// with a confirmation code. [`McpConfig::client_timeout`](crate::McpConfig::client_timeout) applies as well. Default
    /// 2 minutes.
    #[must_use]
    pub fn question_timeout(mut self, timeout: Duration) -> Self {
        self.questions.timeout = timeout;
        self
    }

    /// Issues a code, too, when a client cancels the question. Some clients do so without showing it. Others do when a user
    /// closes it, and then the model that has made the call could confirm it.
    #[must_use]
    pub fn codes_after_cancel(mut self) -> Self {
        self.questions.codes_after_cancel = true;
        self
    }

    /// Wraps the operations of a router, and adds the param of the code to the schemas of those that may be destructive.
    #[must_use]
    pub fn add_to<S: Clone + Send + Sync + 'static>(self, router: Router<S>) -> Router<S> {
        router.describe(add_param).layer(self)
    }
}

fn add_param(description: &mut Description) {
    if needs_confirmation(description.effect, description)
        && let Some(input) = description.input.take()
    {
        let param = json!({ "type": "string", "description": "The code of the refusal" });
        description.input = Some(input.with_member(PARAM, &param));
    }
}

fn needs_confirmation(effect: Option<Effect>, description: &Description) -> bool {
    match effect {
        Some(effect) => effect == Effect::Destructive,
        None => description.tool.is_some(),
    }
}

impl<S> Layer<S> for ConfirmLayer {
    type Service = Layered<Self, S>;

    fn layer(&self, inner: S) -> Self::Service {
        Layered::new(self, inner)
    }
}

impl CallLayer for ConfirmLayer {
    fn call<S: CallService>(&self, call: Call, inner: &mut S) -> CallFuture<S::Error> {
        let (call, sent_code) = match take_code(call) {
            Ok(taken) => taken,
            Err(error) => return CallFuture::value(Ok(Outcome::error(error))),
        };
        let needs_confirmation = call
            .operation()
            .is_some_and(|operation| needs_confirmation(call.effect(), operation.description()));
        if !needs_confirmation || call.extensions().get::<Confirmed>().is_some() {
            return inner.run(call);
        }
        let mut inner = inner.take();
        let Self { codes, questions } = self.clone();
        if let Some(sent_code) = sent_code {
            return CallFuture::boxed(async move {
                let (call, request) = match read_params(call, request_digest).await {
                    Ok(read) => read,
                    Err(error) => return Ok(Outcome::error(error)),
                };
                if let Err(error) = codes.accept(&sent_code, caller(&call).as_deref(), request) {
                    return Ok(Outcome::error(refused_code(error, &call)));
                }
                inner.run(call).await
            });
        }
        let peer = call.extensions().get::<Peer>().filter(|peer| peer.supports("elicitation"));
        let peer = peer.cloned();
        CallFuture::boxed(async move {
            if let Some(peer) = peer {
                match ask(&peer, &call, questions).await {
                    Answer::Confirmed => return inner.run(call).await,
                    Answer::Refused(error) => return Ok(Outcome::error(error)),
                    Answer::None => {}
                }
            }
            refuse(inner, &codes, call).await
        })
    }
}

/// Refuses a call with a confirmation code, and the result of its dry run.
async fn refuse<S: CallService>(
    mut inner: S,
    codes: &Codes,
    call: Call,
) -> Result<Outcome, S::Error> {
    let preview = match dry_run(&call) {
        None => None,
        Some(call) => {
            poll_fn(|cx| inner.poll_ready(cx)).await?;
            let outcome = inner.run(call).await?;
            match outcome.as_result() {
                Ok(result) => serde_json::from_slice(result).ok(),
                // The call would fail, too.
                Err(_) => return Ok(outcome),
            }
        }
    };
    Ok(Outcome::error(refusal(codes, call, preview).await))
}

/// Removes the param of the code from a call.
fn take_code(call: Call) -> Result<(Call, Option<String>), ErrorObject> {
    let mut sent = call.members().filter(|(name, _)| name == PARAM).map(|(_, value)| value);
    let (first, second) = (sent.next(), sent.next());
    drop(sent);
    let Some(part) = first else { return Ok((call, None)) };
    let sent: Option<String> = serde_json::from_slice(call.text(part)).ok();
    let (Some(sent), None) = (sent, second) else {
        let reason =
            format!("`{PARAM}` must be one string: the `confirmation_code` of the refusal");
        let error = ErrorObject::new(code::INVALID_PARAMS, "Invalid params");
        return Err(error.with_data(&json!({ "reason": reason, "param": PARAM })));
    };
    let Some(operation) = call.operation().cloned() else { return Ok((call, None)) };
    let params = raw(call.params_without(&[PARAM]).unwrap_or_default())?;
    Ok((call.redirect_with(operation, &params)?, Some(sent)))
}

fn raw(json: String) -> Result<Box<RawValue>, ErrorObject> {
    RawValue::from_string(json).map_err(|error| ErrorObject::internal(&error))
}

/// The same call as a dry run, if the operation supports it.
fn dry_run(call: &Call) -> Option<Call> {
    let operation = call.operation()?;
    let input = operation.description().input.as_ref()?.as_value();
    input.get("properties")?.get(DRY_RUN)?;
    let params = call.params_without(&[DRY_RUN])?;
    let separator = if params.len() > 2 { "," } else { "" };
    let params = format!("{}{separator}\"{DRY_RUN}\":true}}", params.strip_suffix('}')?);
    call.duplicate().redirect_with(Arc::clone(operation), &raw(params).ok()?).ok()
}

/// The owner of a code. Callers without a name differ from those without a principal.
fn caller(call: &Call) -> Option<String> {
    Principal::of(call.extensions()).map(|caller| caller.owner_key().unwrap_or_default())
}

/// The operation and the params that a code confirms.
fn request_digest(call: &Call) -> RequestDigest {
    let description = call.operation().map(|operation| operation.description());
    let name = description.map_or("", |one| one.name.as_str());
    let revision = description.and_then(|one| one.revision.as_deref()).unwrap_or_default();
    let params = canonical(call.params().unwrap_or(b"{}"));
    RequestDigest::of(&[name.as_bytes(), revision.as_bytes(), &params])
}

async fn refusal(codes: &Codes, call: Call, preview: Option<Value>) -> ErrorObject {
    let operation = call.method().into_owned();
    let error = ErrorObject::new(code::CONFIRMATION, "Confirmation required");
    if call.params().is_some_and(|params| params.starts_with(b"[")) {
        let reason = format!(
            "`{operation}` changes or removes data; send its params by name to receive a confirmation code"
        );
        let data =
            json!({ "kind": "confirmation_required", "reason": reason, "operation": operation });
        return error.with_data(&data);
    }
    let (call, request) = match read_params(call, request_digest).await {
        Ok(read) => read,
        Err(error) => return error,
    };
    let Some(issued) = codes.issue(caller(&call).as_deref(), request, LIFETIME) else {
        return ErrorObject::internal(&"the random number generator of the system fails");
    };
    let expires_in = LIFETIME.as_secs();
    let effect = preview.as_ref().map(|preview| format!(" ({preview})")).unwrap_or_default();
    // Models see only the reason.
    let reason = format!(
        "`{operation}` changes or removes data{effect}. If the user agrees, send the same call again with \
         \"{PARAM}\": \"{issued}\" within {expires_in} s"
    );
    let mut data = json!({
        "kind": "confirmation_required",
        "reason": reason,
        "confirmation_code": issued,
        "expires_in": expires_in,
        "operation": operation,
    });
    if let Some(preview) = preview {
        data["preview"] = preview;
    }
    error.with_data(&data)
}

fn refused_code(error: CodeError, call: &Call) -> ErrorObject {
    if error == CodeError::Full {
        let data = json!({ "reason": error.to_string() });
        return ErrorObject::new(code::BUSY, "Too many confirmed calls").with_data(&data);
    }
    let reason = format!("{error}; send the call without `{PARAM}` to receive a new code");
    let data = json!({ "kind": error.kind(), "reason": reason, "operation": call.method() });
    ErrorObject::new(code::CONFIRMATION, "Invalid confirmation").with_data(&data)
}

/// The answer of a user to the question whether a call runs.
enum Answer {
    Confirmed,
    /// The user has refused, or has answered in a way that is not understood.
    Refused(ErrorObject),
    /// The client has not answered, so the user may not have seen the question.
    None,
}

async fn ask(peer: &Peer, call: &Call, questions: Questions) -> Answer {
    const MAX_CHARS: usize = 500;
    let params = String::from_utf8_lossy(call.params().unwrap_or_default());
    let params = excerpt(&params, MAX_CHARS);
    let message = format!("`{}` changes or removes data. Run it? {params}", call.method());
    // Without a default, an answer without content can only be a yes.
    let schema = json!({
        "type": "object",
        "properties": { "confirm": { "type": "boolean", "title": "Run it" } },
        "required": ["confirm"],
    });
    let asked = peer.elicit_form::<Map<String, Value>>(PARAM, &message, schema);
    let refused = || {
        let message = "The user has not confirmed the call";
        Answer::Refused(ErrorObject::new(code::TOOL_EXECUTION, message))
    };
    match timeout(questions.timeout, asked).await {
        Ok(Ok(ElicitResult::Accept(content))) if content.get("confirm") == Some(&true.into()) => {
            Answer::Confirmed
        }
        Ok(Ok(ElicitResult::Cancel)) if questions.codes_after_cancel => Answer::None,
        Ok(Ok(_)) => refused(),
        Ok(Err(PeerError::Refused { error, .. })) if error.code() == USER_REJECTED => refused(),
        Err(_)
        | Ok(Err(
            PeerError::Refused { .. } | PeerError::Timeout { .. } | PeerError::Unsupported(_),
        )) => {
            tracing::debug!(method = %call.method(), "the client has not answered a question");
            Answer::None
        }
        Ok(Err(error)) => Answer::Refused(error.into_error_object()),
    }
}

/// The code of an error with which clients report the refusal of a user (2025-11-25, "Sampling", "Error Handling").
const USER_REJECTED: i64 = -1;
