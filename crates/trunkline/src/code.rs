//! All error codes.
//!
//! | code | name | sent when |
//! |---|---|---|
//! | -32700 | [`PARSE_ERROR`] | the body is not JSON, not UTF-8, or nested too deep |
//! | -32600 | [`INVALID_REQUEST`] | valid JSON that is not a request; an empty batch, or one over the limit |
//! | -32601 | [`METHOD_NOT_FOUND`] | unknown method |
//! | -32602 | [`INVALID_PARAMS`] | params that are missing, unknown, duplicate, too many, or of the wrong type |
//! | -32603 | [`INTERNAL_ERROR`] | a handler panicked, or failed with an error that clients must not see |
//! | -32000 | [`APPLICATION`] | "Internal server error": an application failure without a more specific code |
//! | -32001 | [`TOOL_NOT_FOUND`] | MCP: unknown tool |
//! | -32002 | [`TOOL_EXECUTION`] | MCP: a tool failed |
//! | -32003 | [`DATABASE`] | the database refused the operation, or failed |
//! | -32004 | [`TIMEOUT`] | the call timed out |
//! | -32005 | [`BUSY`] | too many concurrent calls; the call did not run |
//! | -32006 | [`REPLY_TOO_LARGE`] | the reply is over the size limit; in a batch, later calls do not run |
//! | -32007 | [`UNAUTHENTICATED`] | missing or invalid credentials (HTTP 401) |
//! | -32008 | [`FORBIDDEN`] | the caller lacks permission, or Host or Origin is not allowed (HTTP 403) |
//! | -32009 | [`REFUSED`] | the HTTP request was refused before it was read as JSON-RPC; `data.status` |
//! | -32010 | [`RATE_LIMITED`] | the caller is over its rate limit; the call did not run; `data.retry_after_ms` |
//! | -32011 | [`NOT_FOUND`] | the record was not found |
//! | -32012 | [`CONFLICT`] | the record exists, has another version, or was changed; the request id was used for another request |
//! | -32013 | [`CONFIRMATION`] | the call must be confirmed, or its confirmation is invalid; it did not run |
//! | -32014 | [`AUDIT`] | the audit log cannot be written; the call did not run |
//! | -32800 | [`CANCELLED`] | the client has cancelled the call (`$/cancelRequest`) |
//!
//! Applications use other codes: -32099 to -32015, which JSON-RPC 2.0 leaves to servers (section 5.1), and those outside
//! of -32768 to -32000.

pub use trunkline_core::error::code::*;

/// The tool is unknown (MCP).
pub const TOOL_NOT_FOUND: i64 = -32001;
/// A tool failed (MCP).
pub const TOOL_EXECUTION: i64 = -32002;
/// The database refused the operation, or failed.
pub const DATABASE: i64 = -32003;
/// The record was not found.
pub const NOT_FOUND: i64 = -32011;
/// The operation conflicts with the state of a record. Nothing was changed.
pub const CONFLICT: i64 = -32012;
/// The call must be confirmed, or its confirmation is invalid. It did not run.
pub const CONFIRMATION: i64 = -32013;
/// The audit log cannot be written. The call did not run.
pub const AUDIT: i64 = -32014;
