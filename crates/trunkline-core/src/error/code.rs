//! The product-wide table of error codes.
//!
//! | code | name | sent when |
//! |---|---|---|
//! | -32700 | [`PARSE_ERROR`] | the body is not JSON, not UTF-8, or nested too deep |
//! | -32600 | [`INVALID_REQUEST`] | valid JSON that is not a request; an empty or too long batch |
//! | -32601 | [`METHOD_NOT_FOUND`] | no method of that name |
//! | -32602 | [`INVALID_PARAMS`] | params missing, unknown, twice, too many, or of the wrong type |
//! | -32603 | [`INTERNAL_ERROR`] | a handler failed in a way that the client may not see, or panicked |
//! | -32000 | [`APPLICATION`] | "Internal server error": an application failed and has no code of its own for it, as when a resource's storage fails |
//! | -32001 | [`TOOL_NOT_FOUND`] | MCP: no tool of that name |
//! | -32002 | [`TOOL_EXECUTION`] | MCP: a tool failed |
//! | -32003 | [`DATABASE`] | the database refused or failed |
//! | -32004 | [`TIMEOUT`] | the call's deadline passed |
//! | -32005 | [`BUSY`] | too many calls at once; nothing was run |
//! | -32006 | [`REPLY_TOO_LARGE`] | a reply is over its byte budget; in a batch, calls after it are not run |
//! | -32007 | [`UNAUTHENTICATED`] | no credentials, or wrong ones (HTTP 401) |
//! | -32008 | [`FORBIDDEN`] | not allowed, or a Host or Origin that is not listed (HTTP 403) |
//! | -32009 | [`REFUSED`] | HTTP refused the request before it was read as JSON-RPC; `data.status` |
//! | -32010 | [`RATE_LIMITED`] | too many calls in too short a time; nothing was run; `data.retry_after_ms` |
//! | -32011 | [`NOT_FOUND`] | there is no such record |
//! | -32012 | [`CONFLICT`] | a record is there already, has another version, or was changed since; a request id is another request's |
//! | -32800 | [`CANCELLED`] | the client has cancelled the call (`$/cancelRequest`) |
//!
//! New codes of ours continue from -32013. Applications use codes outside -32768 to -32000,
//! which JSON-RPC 2.0, section 5.1, reserves.

/// The text is not JSON (section 5.1).
pub const PARSE_ERROR: i64 = -32700;
/// The JSON is not a request (section 5.1).
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method (section 5.1).
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params do not fit the method (section 5.1).
pub const INVALID_PARAMS: i64 = -32602;
/// The server failed (section 5.1).
pub const INTERNAL_ERROR: i64 = -32603;
/// An application failed, and has no code of its own for it. What went wrong is in the log.
pub const APPLICATION: i64 = -32000;
/// There is no such tool (MCP doors).
pub const TOOL_NOT_FOUND: i64 = -32001;
/// A tool failed (MCP doors).
pub const TOOL_EXECUTION: i64 = -32002;
/// The database refused or failed.
pub const DATABASE: i64 = -32003;
/// The call's deadline passed.
pub const TIMEOUT: i64 = -32004;
/// Too many calls at once; nothing was run, so trying again is safe.
pub const BUSY: i64 = -32005;
/// A reply is over its byte budget, or that of all replies of the server. The call may have run.
pub const REPLY_TOO_LARGE: i64 = -32006;
/// No credentials, or wrong ones.
pub const UNAUTHENTICATED: i64 = -32007;
/// Not allowed.
pub const FORBIDDEN: i64 = -32008;
/// Refused by HTTP before it was read as JSON-RPC.
pub const REFUSED: i64 = -32009;
/// Too many calls in too short a time; nothing was run, so trying again later is safe.
pub const RATE_LIMITED: i64 = -32010;
/// There is no such record.
pub const NOT_FOUND: i64 = -32011;
/// The state of a record stands against it: nothing was done.
pub const CONFLICT: i64 = -32012;
/// The client has cancelled the call, on a connection where it can say so. The Language Server
/// Protocol's code, outside of what JSON-RPC reserves.
pub const CANCELLED: i64 = -32800;
