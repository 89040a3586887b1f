//! `GET /tools` and `POST /tools/reload`: the tools of a folder, for people and programs that look after it.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::json;
use tower::Service;
use trunkline::http::{Door, DoorFuture, DoorRequest, ReplyBody, StatusPolicy, respond};
use trunkline::{Call, ErrorObject, Extensions, Id, Reply, Rpc, code};

use crate::tools::{LIST_TOOLS, RELOAD_TOOLS};

/// The door of a folder's tools, for [`HttpService::door`](trunkline::http::HttpService::door): `rpc` is the
/// service of its [management](crate::tools::management).
///
/// `GET /tools` is answered with the result of `agent.list_tools`, `POST /tools/reload` with that of
/// `agent.reload_tools`, and a failure with a JSON-RPC error and a status other than 200.
#[must_use]
pub fn tools(rpc: &Rpc) -> Arc<dyn Door> {
    Arc::new(Tools(rpc.clone()))
}

struct Tools(Rpc);

impl Door for Tools {
    fn paths(&self) -> &[(&'static str, &'static [Method])] {
        &[("/tools", &[Method::GET, Method::HEAD]), ("/tools/reload", &[Method::POST])]
    }

    fn name(&self) -> &'static str {
        "tools"
    }

    fn answer(&self, request: DoorRequest) -> DoorFuture<'_> {
        let method = if request.method == Method::POST { RELOAD_TOOLS } else { LIST_TOOLS };
        Box::pin(async move {
            let mut response = match self.call(method, request.extensions).await {
                Ok(json) => found(json),
                Err(error) => failed(error),
            };
            let no_cache = HeaderValue::from_static("no-cache");
            response.headers_mut().insert(CACHE_CONTROL, no_cache);
            response
        })
    }
}

impl Tools {
    async fn call(&self, method: &str, extensions: Extensions) -> Result<Vec<u8>, ErrorObject> {
        let mut call = Call::request(&Id::from(1), method, &json!({}))?;
        *call.extensions_mut() = extensions;
        let Ok(outcome) = Service::call(&mut self.0.clone(), call).await;
        outcome.as_result().map(<[u8]>::to_vec).map_err(Clone::clone)
    }
}

fn found(json: Vec<u8>) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::from(json));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn failed(error: ErrorObject) -> Response<ReplyBody> {
    let code = error.code();
    let reply = Reply::error(error, None);
    let status = match StatusPolicy::ByError.status(&reply) {
        StatusCode::OK if code == code::BUSY => StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::OK if code == code::TIMEOUT => StatusCode::GATEWAY_TIMEOUT,
        StatusCode::OK => StatusCode::INTERNAL_SERVER_ERROR,
        status => status,
    };
    respond(status, reply)
}
