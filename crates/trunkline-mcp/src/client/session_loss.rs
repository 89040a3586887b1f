//! Whether an error means that the server has lost the session ("Session Management").

use http::StatusCode;
use serde_json::value::RawValue;
use trunkline::client::{Error as CallError, ProtocolError, TransportError};
use trunkline::code;

use super::error::{Error, RequestError};
use super::session::Session;

/// The conclusion from the error of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionLoss {
    /// The error has another cause, or is the answer to the request.
    No,
    /// The reply is missing, or not one of an MCP server, which may have been restarted. The request may have
    /// run.
    Possible,
    /// The server refused the request for a session, which may be one of its application. The request did not run.
    Named,
    /// The session is lost. The request did not run.
    Certain,
}

impl Error {
    /// Whether the error may mean that the server has lost the session.
    #[must_use]
    pub fn may_be_session_loss(&self) -> bool {
        classify(true, self) != SessionLoss::No
    }
}

/// Classifies an error of a request in this session. Servers of 2026-07-28 have no sessions.
pub(super) fn session_loss(session: &Session, error: &Error) -> SessionLoss {
    match session {
        Session::Modern => SessionLoss::No,
        Session::Legacy { .. } => classify(session.has_id(), error),
    }
}

/// The specification requires 404. Other servers refuse a request with 400, 401 or 503, or with an error in a reply with
/// status 200, and name the session in a text.
fn classify(has_id: bool, error: &Error) -> SessionLoss {
    let Error::Request(RequestError { error, status }) = error else { return SessionLoss::No };
    let is_gone = status.is_some_and(|it| [StatusCode::NOT_FOUND, StatusCode::GONE].contains(&it));
    let is_client_error = status.is_some_and(|status| status.is_client_error());
    let is_server_error = status.is_some_and(|status| status.is_server_error());
    let text = text(error);
    let is_refused = is_client_error && (names_session(&text) || is_uninitialized(&text));
    if is_gone && has_id || is_refused || lacks_initialize(&text) {
        return SessionLoss::Certain;
    }
    match error {
        error if names_session(&text) && error.error_object().is_some() => SessionLoss::Named,
        // Such servers refuse valid requests.
        error if error.error_object().is_some_and(|it| it.code() == code::INVALID_REQUEST) => {
            SessionLoss::Named
        }
        _ if is_server_error => match names_session(&text) {
            true => SessionLoss::Named,
            false => SessionLoss::Possible,
        },
        CallError::Protocol(ProtocolError::Refused { status, .. })
            if *status == StatusCode::BAD_REQUEST =>
        {
            SessionLoss::Possible
        }
        CallError::Protocol(ProtocolError::MediaType { .. } | ProtocolError::Missing { .. })
        | CallError::Transport(TransportError::Broken { .. } | TransportError::NotHttp { .. }) => {
            SessionLoss::Possible
        }
        _ => SessionLoss::No,
    }
}

/// The text of the server, in lower case.
fn text(error: &CallError) -> String {
    const MAX_DATA: usize = 1_000;
    let text = match (error.error_object(), error) {
        (Some(object), _) => {
            let data = object.data().map(RawValue::get).filter(|data| data.len() <= MAX_DATA);
            format!("{} {}", object.message(), data.unwrap_or_default())
        }
        (None, CallError::Protocol(ProtocolError::Refused { beginning, .. })) => beginning.clone(),
        _ => String::new(),
    };
    text.to_lowercase()
}

/// Whether a text names a session that is unknown.
fn names_session(text: &str) -> bool {
    const STATES: [&str; 17] = [
        "not found",
        "unknown",
        "invalid",
        "no valid",
        "not valid",
        "expired",
        "terminated",
        "missing",
        "required",
        "not exist",
        "no longer",
        "no such",
        "no session",
        "no active",
        "closed",
        "stale",
        "recogni",
    ];
    text.contains("session") && STATES.iter().any(|state| text.contains(state))
}

/// Whether a text names a server without `initialize`. Clients and connections are often those of a tool.
fn lacks_initialize(text: &str) -> bool {
    const SUBJECTS: [&str; 3] = ["server", "session", "mcp"];
    text.contains("before initialization")
        || is_uninitialized(text) && SUBJECTS.iter().any(|subject| text.contains(subject))
}

fn is_uninitialized(text: &str) -> bool {
    const STATES: [&str; 4] =
        ["not initialized", "not been initialized", "uninitialized", "not initialised"];
    STATES.iter().any(|state| text.contains(state))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use trunkline::client::Response;

    use super::*;
    use crate::client::message::result;

    /// A reply with a status, or 0 for one on a channel: a JSON-RPC error, or another body.
    #[track_caller]
    fn check(status: u16, body: &str, expected: SessionLoss) {
        let status = StatusCode::from_u16(status).ok();
        let error = match Response::parse(&Bytes::copy_from_slice(body.as_bytes())) {
            Ok(response) => result(&response.outcome).unwrap_err(),
            Err(_) => {
                let beginning = body.to_owned();
                match status {
                    Some(StatusCode::OK) | None => {
                        let media_type = "text/html".to_owned();
                        ProtocolError::MediaType { media_type, beginning }.into()
                    }
                    Some(status) => ProtocolError::Refused { status, beginning }.into(),
                }
            }
        };
        let found = classify(true, &RequestError { error, status }.into());
        assert_eq!(found, expected, "{status:?} {body}");
    }

    #[track_caller]
    fn check_error(status: u16, code: i64, message: &str, expected: SessionLoss) {
        let error = serde_json::json!({ "code": code, "message": message });
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "error": error });
        check(status, &body.to_string(), expected);
    }

    #[test]
    fn errors_that_mean_a_lost_session() {
        use SessionLoss::{Certain, Named, No, Possible};
        // The specification, with any body.
        check(404, "", Certain);
        check(404, "<html>nginx</html>", Certain);
        check_error(404, -32001, "Session not found", Certain);
        check_error(404, -32603, "Session not found: a992387e", Certain);
        check(410, "", Certain);
        check_error(400, -32000, "Session terminated", Certain);
        check_error(400, -32000, "Bad Request: No valid session ID provided", Certain);
        check_error(400, -32000, "Bad Request: Server not initialized", Certain);
        check_error(400, -32000, "Bad Request: Unknown Mcp-Session-Id header", Certain);
        check(400, "Invalid or missing session ID", Certain);
        check(401, "Unauthorized: Session not found", Certain);
        check(400, "client not initialized", Certain);
        check_error(200, -32002, "Server not initialized", Certain);
        check_error(0, -32600, "Received request before initialization was complete", Certain);

        // Tools may have sessions, too.
        check_error(200, -32600, "Session not found", Named);
        check_error(200, -32000, "session expired", Named);
        check_error(200, -32001, "Unknown session", Named);
        check_error(200, -32600, "Invalid Request", Named);
        check_error(200, 32600, "Session terminated", Named);
        check_error(0, -32603, "browser session abc does not exist", Named);
        check(503, "unknown session", Named);
        check(500, r#"{"error":"HTTP 400: No valid session ID provided"}"#, Named);

        check(502, "<html>Bad Gateway</html>", Possible);
        check(503, "", Possible);
        check(504, "upstream request timeout", Possible);
        check(200, "<html>Maintenance</html>", Possible);
        check(400, "", Possible);
        check_error(500, -32603, "Internal error", Possible);

        check(401, "", No);
        check(403, "Forbidden", No);
        check(405, "", No);
        check(429, "slow down", No);
        check_error(400, -32602, "Invalid params", No);
        check_error(200, -32601, "Method not found", No);
        check_error(200, -32602, "Unknown tool", No);
        check_error(200, -32000, "database not initialized", No);
        check_error(200, -32603, "the Kubernetes client is not initialized", No);
        check_error(200, -32002, "Resource not found", No);
        check_error(200, -32603, "the session has no tools", No);
    }

    #[test]
    fn failures_without_a_reply() {
        let failed = |error: TransportError| classify(true, &error.into());
        let target = || "http://h".to_owned();
        let broken = TransportError::Broken { target: target(), source: None };
        assert_eq!(failed(broken), SessionLoss::Possible);
        let source = std::sync::Arc::new(std::io::Error::other("refused"));
        let refused = TransportError::Connect { target: target(), source };
        assert_eq!(failed(refused), SessionLoss::No);
        // Without a session id, 404 is a path that does not exist.
        let missing =
            ProtocolError::Refused { status: StatusCode::NOT_FOUND, beginning: String::new() };
        let missing = RequestError::with_status(CallError::from(missing), StatusCode::NOT_FOUND);
        assert_eq!(classify(false, &missing.into()), SessionLoss::No);
    }
}
