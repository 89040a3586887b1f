//! Results that require input from the client ("Multi Round-Trip Requests").

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::connection::RequestParts;
use super::core::Core;
use super::error::Error;

/// The maximum number of requests in one result.
const MAX_INPUTS: usize = 32;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultMembers {
    result_type: Option<String>,
    #[serde(default)]
    input_requests: BTreeMap<String, InputRequest>,
    request_state: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct InputRequest {
    method: String,
    params: Option<Box<RawValue>>,
}

/// Sends a request, and repeats it with the input that the server requires until the result is complete. Returns the
/// result, and whether it depends on input.
pub(super) async fn request(
    core: &Core,
    method: &'static str,
    parts: &mut RequestParts<'_>,
) -> Result<(Box<RawValue>, bool), Error> {
    let max_rounds = core.inbox().config.max_rounds;
    for round in 0..=max_rounds {
        let result = core.request(method, parts).await?.result;
        let malformed = |error| Error::malformed(method, error);
        let members: ResultMembers = serde_json::from_str(result.get()).map_err(malformed)?;
        match members.result_type.as_deref() {
            None | Some("complete") => return Ok((result, round > 0)),
            Some("input_required") if core.session.borrow().is_modern() => {}
            Some(other) => {
                return Err(Error::malformed(method, format!("unknown `resultType` {other:?}")));
            }
        }
        if members.input_requests.is_empty() && members.request_state.is_none() {
            let reason = "neither `inputRequests` nor `requestState`";
            return Err(Error::malformed(method, reason));
        }
        if members.input_requests.len() > MAX_INPUTS {
            return Err(Error::malformed(method, format!("more than {MAX_INPUTS} input requests")));
        }
        let answers = members.input_requests.into_iter().map(async |(key, request)| {
            let (params, handler) = (request.params.as_deref(), parts.options.handler.as_ref());
            let answer = core.inbox().fulfil(&request.method, params, handler).await;
            let answer =
                answer.map_err(|source| Error::Input { method: request.method, source })?;
            Ok::<_, Error>((key, answer))
        });
        let answers: BTreeMap<String, Box<RawValue>> =
            try_join_all(answers).await?.into_iter().collect();
        parts.params.input_responses = (!answers.is_empty()).then_some(answers);
        parts.params.request_state = members.request_state;
    }
    Err(Error::TooManyRounds(max_rounds))
}
