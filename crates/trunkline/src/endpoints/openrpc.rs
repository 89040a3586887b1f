//! `GET /openrpc.json`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use axum::routing::get;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use trunkline_server::http::{ReplyBody, Routes};

use crate::openrpc::OpenRpc;
use crate::rpc::Rpc;

impl Rpc {
    /// The OpenRPC document at `GET /openrpc.json`.
    ///
    /// The response has an `ETag`. A request with the current one in `If-None-Match` is answered with 304.
    pub fn openrpc_routes(&self) -> Routes {
        let latest = Mutex::new(Latest::of(self.openrpc()));
        let page = Arc::new(Page { rpc: self.clone(), latest });
        let page = async move |headers: HeaderMap| page.latest().response(&headers);
        Routes::new("openrpc", axum::Router::new().route("/openrpc.json", get(page)))
    }
}

struct Page {
    rpc: Rpc,
    latest: Mutex<Latest>,
}

/// The serialised document, until the operations change.
#[derive(Clone)]
struct Latest {
    openrpc: OpenRpc,
    json: Bytes,
    tag: HeaderValue,
}

impl Page {
    fn latest(&self) -> Latest {
        let openrpc = self.rpc.openrpc();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if !latest.openrpc.is_same(&openrpc) {
            *latest = Latest::of(openrpc);
        }
        latest.clone()
    }
}

impl Latest {
    fn of(openrpc: OpenRpc) -> Self {
        let json = Bytes::copy_from_slice(openrpc.as_json().as_bytes());
        let mut hasher = DefaultHasher::new();
        json.hash(&mut hasher);
        let tag = format!("\"{:016x}\"", hasher.finish());
        let tag = HeaderValue::try_from(tag).expect("hexadecimal digits are visible ASCII");
        Self { openrpc, json, tag }
    }

    fn response(&self, headers: &HeaderMap) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody::default());
        if is_known(headers, &self.tag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            *response.body_mut() = ReplyBody::from(self.json.clone());
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
        }
        response.headers_mut().insert(ETAG, self.tag.clone());
        // Caches must revalidate: the next version of a service has another document.
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

/// Whether `If-None-Match` lists the tag (RFC 9110, section 13.1.2).
fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).into_iter().filter_map(|list| list.to_str().ok());
    let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
    tags.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == tag.as_bytes())
}
