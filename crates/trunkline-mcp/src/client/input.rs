//! Results that require input from the client ("Multi Round-Trip Requests").

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::try_join_all;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::connection::RequestParts;
use super::core::Core;
use super::error::Error;
use super::handler::ClientHandler;
use crate::model::InputRequests;

/// The answers to requests, by key.
pub(super) type InputResponses = BTreeMap<String, Box<RawValue>>;

/// The maximum number of requests in one result.
const MAX_INPUTS: usize = 32;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultMembers {
    result_type: Option<String>,
    #[serde(default)]
    input_requests: InputRequests,
    request_state: Option<Box<RawValue>>,
}

/// The end of a request.
pub(super) enum Outcome {
    /// The result, and whether it depends on input.
    Complete(Box<RawValue>, bool),
    /// The result that describes a task.
    Task(Box<RawValue>),
}

/// Sends a request, and repeats it with the input that the server requires until the result is complete. Returns the
/// result, and whether it depends on input.
pub(super) async fn request(
    core: &Arc<Core>,
    method: &'static str,
    parts: &mut RequestParts<'_>,
) -> Result<(Box<RawValue>, bool), Error> {
    match request_or_task(core, method, parts).await? {
        Outcome::Complete(result, has_input) => Ok((result, has_input)),
        Outcome::Task(_) => Err(Error::malformed(method, "a task instead of a result")),
    }
}

/// Like [`request`], for a method that may have a task as its result.
pub(super) async fn request_or_task(
    core: &Arc<Core>,
    method: &'static str,
    parts: &mut RequestParts<'_>,
) -> Result<Outcome, Error> {
    let max_rounds = core.inbox().config.max_rounds;
    for round in 0..=max_rounds {
        let result = core.request(method, parts).await?.result;
        let malformed = |error| Error::malformed(method, error);
        let members: ResultMembers = serde_json::from_str(result.get()).map_err(malformed)?;
        let is_modern = core.session.borrow().is_modern();
        match members.result_type.as_deref() {
            None | Some("complete") => return Ok(Outcome::Complete(result, round > 0)),
            Some("task") if is_modern && core.inbox().config.tasks => {
                return Ok(Outcome::Task(result));
            }
            Some("input_required") if is_modern => {}
            Some(other) => {
                return Err(Error::malformed(method, format!("unknown `resultType` {other:?}")));
            }
        }
        if members.input_requests.is_empty() && members.request_state.is_none() {
            let reason = "neither `inputRequests` nor `requestState`";
            return Err(Error::malformed(method, reason));
        }
        let handler = parts.options.handler.as_ref();
        let answers = answers(core, method, members.input_requests, handler).await?;
        parts.params.input_responses = (!answers.is_empty()).then_some(answers);
        parts.params.request_state = members.request_state;
    }
    Err(Error::TooManyRounds(max_rounds))
}

/// The answers to requests in a result of this method: of `handler`, or else of that of the configuration.
pub(super) async fn answers(
    core: &Core,
    method: &'static str,
    requests: InputRequests,
    handler: Option<&Arc<dyn ClientHandler>>,
) -> Result<InputResponses, Error> {
    if requests.len() > MAX_INPUTS {
        return Err(Error::malformed(method, format!("more than {MAX_INPUTS} input requests")));
    }
    let answers = requests.into_iter().map(async |(key, request)| {
        let answer = core.inbox().fulfil(&request.method, request.params.as_deref(), handler).await;
        let answer = answer.map_err(|source| Error::Input { method: request.method, source })?;
        Ok::<_, Error>((key, answer))
    });
    Ok(try_join_all(answers).await?.into_iter().collect())
}
