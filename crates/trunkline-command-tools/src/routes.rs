//! `GET /tools` and `POST /tools/reload`: the management of a folder over HTTP.

use axum::extract::State;
use axum::routing::{get, post};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Map, Value, json};
use tower::Service;
use trunkline::http::{Context, Message, ReplyBody, Routes, StatusPolicy, respond};
use trunkline::protocol::Reply;
use trunkline::{Call, ErrorObject, Extensions, Id, Rpc, code};

use crate::operations::{LIST_TOOLS, RELOAD_TOOLS};

/// The HTTP routes of a folder. `rpc` is the service of its [management](crate::management).
///
/// `GET /tools` returns the result of `agent.list_tools`, `POST /tools/reload` that of `agent.reload_tools`. A
/// failure is a JSON-RPC error with a status other than 200. The body of a reload is `{}`, or empty.
pub fn routes(rpc: &Rpc) -> Routes {
    let router = axum::Router::new()
        .route("/tools", get(Tools::list))
        .route("/tools/reload", post(Tools::reload));
    Routes::new("tools", router.with_state(Tools(rpc.clone())))
}

#[derive(Clone)]
struct Tools(Rpc);

impl Tools {
    async fn list(State(tools): State<Self>, context: Context) -> Response<ReplyBody> {
        tools.answer(LIST_TOOLS, context.extensions, None).await
    }

    async fn reload(State(tools): State<Self>, message: Message) -> Response<ReplyBody> {
        tools.answer(RELOAD_TOOLS, message.extensions, body_error(&message.body)).await
    }

    async fn answer(
        &self,
        method: &str,
        extensions: Extensions,
        error: Option<ErrorObject>,
    ) -> Response<ReplyBody> {
        let mut response = match self.call(method, extensions, error).await {
            Ok(json) => ok_response(json),
            Err(error) => error_response(error),
        };
        let no_cache = HeaderValue::from_static("no-cache");
        response.headers_mut().insert(CACHE_CONTROL, no_cache);
        response
    }

    /// An invalid request passes the layers, too, so that rules and rate limits apply to it.
    async fn call(
        &self,
        method: &str,
        extensions: Extensions,
        error: Option<ErrorObject>,
    ) -> Result<Vec<u8>, ErrorObject> {
        let mut call = Call::request(&Id::from(1), method, &json!({}))?;
        if let Some(error) = error {
            call = call.with_refusal(error);
        }
        *call.extensions_mut() = extensions;
        let Ok(outcome) = Service::call(&mut self.0.clone(), call).await;
        outcome.as_result().map(<[u8]>::to_vec).map_err(Clone::clone)
    }
}

/// The error of a body that is neither empty nor an empty object.
fn body_error(body: &[u8]) -> Option<ErrorObject> {
    if body.is_empty() {
        return None;
    }
    let invalid = |reason: &str| Some(ErrorObject::invalid_params(reason));
    match serde_json::from_slice::<Map<String, Value>>(body) {
        Ok(members) if members.is_empty() => None,
        Ok(_) => invalid("the method has no params; send `{}`"),
        Err(error) => invalid(&format!("the body is not a JSON object: {error}")),
    }
}

fn ok_response(json: Vec<u8>) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::from(json));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn error_response(error: ErrorObject) -> Response<ReplyBody> {
    let code = error.code();
    let reply = Reply::error(error, None);
    let status = match StatusPolicy::ByError.status(&reply) {
        StatusCode::OK if code == code::INVALID_PARAMS => StatusCode::BAD_REQUEST,
        StatusCode::OK if code == code::BUSY => StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::OK if code == code::TIMEOUT => StatusCode::GATEWAY_TIMEOUT,
        StatusCode::OK => StatusCode::INTERNAL_SERVER_ERROR,
        status => status,
    };
    respond(status, reply)
}
