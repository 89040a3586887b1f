use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};
use trunkline::Outcome;
use trunkline::http::{ReplyBody, respond};
use trunkline::protocol::{Format, Reply};

use crate::adapter::NativeReply;
use crate::command::Command;

/// The HTTP response to a native message.
pub(super) struct NativeResponse {
    reply: NativeReply,
    /// Headers for rejected callers: how to authenticate, or when to retry.
    headers: HeaderMap,
}

impl NativeResponse {
    pub(super) fn of(command: &Command, outcome: &Outcome) -> Self {
        let reply = NativeReply::of(command, outcome);
        let headers = match outcome.as_result() {
            Ok(_) => HeaderMap::new(),
            // The headers of the same error in JSON-RPC.
            Err(error) => {
                let response = respond(reply.status, Reply::error(error.clone(), None));
                response.into_parts().0.headers
            }
        };
        Self { reply, headers }
    }

    pub(super) fn into_http(self, format: Format) -> Response<ReplyBody> {
        let Self { reply: NativeReply { mut status, body }, headers } = self;
        let body = match body.map(|json| format.write(json)).transpose() {
            Ok(body) => body,
            Err(error) => {
                let reply = NativeReply::error(&error.into());
                status = reply.status;
                reply.body.and_then(|json| format.write(json).ok())
            }
        };
        let mut response = Response::new(ReplyBody::default());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        if let Some(body) = body {
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
            *response.body_mut() = ReplyBody::from(body);
        }
        response
    }
}

impl From<NativeReply> for NativeResponse {
    fn from(reply: NativeReply) -> Self {
        Self { reply, headers: HeaderMap::new() }
    }
}
