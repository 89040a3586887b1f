//! `GET /tools` and `POST /tools/reload`: the tools of a folder, for people and programs that look after it.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use serde::Serialize;
use serde_json::json;
use trunkline::ErrorObject;
use trunkline::http::{Door, DoorFuture, DoorRequest, ReplyBody};

use crate::tools::{Reloaded, ToolFolder};

/// The door of a folder's tools, for [`HttpService::door`](trunkline::http::HttpService::door).
///
/// `GET /tools` tells what there is: `{tools, rejected, added, changed, removed}`. `POST /tools/reload` reads
/// the folder first, and tells what is new by that.
#[must_use]
pub fn tools(folder: &ToolFolder) -> Arc<dyn Door> {
    Arc::new(Tools(folder.clone()))
}

struct Tools(ToolFolder);

impl Door for Tools {
    fn paths(&self) -> &[(&'static str, &'static [Method])] {
        &[("/tools", &[Method::GET, Method::HEAD]), ("/tools/reload", &[Method::POST])]
    }

    fn name(&self) -> &'static str {
        "tools"
    }

    fn answer(&self, request: DoorRequest) -> DoorFuture<'_> {
        if request.method != Method::POST {
            return Box::pin(std::future::ready(respond(StatusCode::OK, &self.0.listing())));
        }
        let folder = self.0.clone();
        Box::pin(async move {
            // Files are read.
            let reloaded = tokio::task::spawn_blocking(move || folder.reload()).await;
            match reloaded {
                Ok(Ok(reloaded)) => respond::<Reloaded>(StatusCode::OK, &reloaded),
                Ok(Err(error)) => {
                    tracing::warn!(%error, cause = %error.source, "the tools could not be reloaded");
                    failed(&format!("{error}: {}; the tools are those of before", error.source))
                }
                Err(_) => failed("reading the folder has failed; the tools are those of before"),
            }
        })
    }

    fn refusal(&self, error: ErrorObject) -> Vec<u8> {
        json!({ "error": error.to_string() }).to_string().into_bytes()
    }
}

fn failed(reason: &str) -> Response<ReplyBody> {
    respond(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "error": reason }))
}

fn respond<T: Serialize>(status: StatusCode, body: &T) -> Response<ReplyBody> {
    let json = serde_json::to_vec(body).expect("manifests are text, numbers and JSON");
    let mut response = Response::new(ReplyBody::from(json));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
