//! The error codes of JSON-RPC 2.0 and of calls. `trunkline::code` adds those of other protocols and domains.
//!
//! | code | name | sent when |
//! |---|---|---|
//! | -32700 | [`PARSE_ERROR`] | the body is not JSON, not UTF-8, or nested too deeply |
//! | -32600 | [`INVALID_REQUEST`] | valid JSON that is not a request; an empty or too large batch |
//! | -32601 | [`METHOD_NOT_FOUND`] | unknown method |
//! | -32602 | [`INVALID_PARAMS`] | missing, unknown, duplicate or too many params, or a wrong type |
//! | -32603 | [`INTERNAL_ERROR`] | a handler panicked, or failed with an error that is not shown to clients |
//! | -32000 | [`APPLICATION`] | "Internal server error": an application failed without a specific code, for example because its storage failed |
//! | -32004 | [`TIMEOUT`] | the timeout of the call elapsed |
//! | -32005 | [`BUSY`] | too many concurrent calls; nothing was run |
//! | -32006 | [`REPLY_TOO_LARGE`] | a reply exceeds the size limit; later calls of the batch are not run |
//! | -32007 | [`UNAUTHENTICATED`] | missing or wrong credentials (HTTP 401) |
//! | -32008 | [`FORBIDDEN`] | the caller may not call the method, or the Host or Origin is not allowed (HTTP 403) |
//! | -32009 | [`REFUSED`] | the request was rejected at the HTTP level; see `data.status` |
//! | -32010 | [`RATE_LIMITED`] | the rate limit is exceeded; nothing was run; see `data.retry_after_ms` |
//! | -32800 | [`CANCELLED`] | the client cancelled the call (`$/cancelRequest`) |

/// The text is not JSON (section 5.1).
pub const PARSE_ERROR: i64 = -32700;
/// The JSON is not a request (section 5.1).
pub const INVALID_REQUEST: i64 = -32600;
/// The method is unknown (section 5.1).
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params are invalid for the method (section 5.1).
pub const INVALID_PARAMS: i64 = -32602;
/// An internal error of the server (section 5.1).
pub const INTERNAL_ERROR: i64 = -32603;
/// An application failed without a specific code. The log has the cause.
pub const APPLICATION: i64 = -32000;
/// The timeout of the call elapsed.
pub const TIMEOUT: i64 = -32004;
/// Too many concurrent calls. Nothing was run, so a retry is safe.
pub const BUSY: i64 = -32005;
/// A reply exceeds the size limit or the memory budget of the server. The call may have run.
pub const REPLY_TOO_LARGE: i64 = -32006;
/// Missing or wrong credentials.
pub const UNAUTHENTICATED: i64 = -32007;
/// The caller may not call the method, or the Host or Origin is not allowed.
pub const FORBIDDEN: i64 = -32008;
/// Rejected at the HTTP level, before the body was parsed.
pub const REFUSED: i64 = -32009;
/// The rate limit is exceeded. Nothing was run, so a later retry is safe.
pub const RATE_LIMITED: i64 = -32010;
/// The client cancelled the call. The code of the Language Server Protocol, outside of the range that JSON-RPC
/// reserves.
pub const CANCELLED: i64 = -32800;

/// Whether a call that failed with this code may succeed soon: [`BUSY`], [`RATE_LIMITED`] and [`TIMEOUT`]. After a
/// timeout, the call may have run.
#[must_use]
pub fn is_temporary(code: i64) -> bool {
    [BUSY, RATE_LIMITED, TIMEOUT].contains(&code)
}
