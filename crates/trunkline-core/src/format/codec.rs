//! The interface of formats other than JSON.

use std::fmt;

use bytes::Bytes;

use crate::error::ErrorObject;
use crate::limits::calls::Limits;
use crate::outcome::{Native, Outcome};

/// A format other than JSON.
///
/// Calls and outcomes are JSON text in every protocol. A codec converts messages from and to it. Values that JSON cannot
/// represent exactly are kept next to the text, as [`Native`] values, for handlers and clients of the same format.
pub trait Codec: Send + Sync {
    /// The media type, without parameters.
    fn media_type(&self) -> &'static str;

    /// The `Content-Type` of messages.
    fn content_type(&self) -> &'static str {
        self.media_type()
    }

    /// Converts a message that contains no calls to JSON.
    ///
    /// # Errors
    /// If the message is not of this format or cannot be represented in JSON.
    fn read(&self, message: &[u8], limits: &Limits) -> Result<Bytes, CodecError>;

    /// Converts JSON to a message.
    ///
    /// # Errors
    /// If the text is not JSON or cannot be represented in this format.
    fn write(&self, json: &[u8]) -> Result<Vec<u8>, CodecError>;

    /// Converts a body with a request or a batch to JSON. Also returns the parts of each request that its text lacks.
    ///
    /// A request that cannot be represented in JSON becomes one without params, with the reason as its
    /// [refusal](SentRequest::refusal), so that the other requests of its batch are not affected.
    ///
    /// # Errors
    /// If the body is not of this format.
    fn read_requests(
        &self,
        body: &[u8],
        limits: &Limits,
    ) -> Result<(Bytes, Vec<SentRequest>), CodecError>;

    /// The response object for the call with this id, which is JSON text. `sent` is the call's id in this format.
    ///
    /// # Errors
    /// If the outcome cannot be represented in this format, which is not the case for an error whose data is serialised
    /// by serde.
    fn write_response(
        &self,
        outcome: &Outcome,
        id: &[u8],
        sent: Option<&Native>,
    ) -> Result<Vec<u8>, CodecError>;

    /// Appends a response to an array of responses, which is empty before the first one and complete after each.
    fn append_response(&self, array: &mut Vec<u8>, response: &[u8]);

    /// Whether a line of a stream has no message, such as a comment.
    fn is_blank(&self, line: &[u8]) -> bool {
        let _ = line;
        false
    }
}

/// The parts of a request that its JSON text lacks.
#[derive(Debug, Default)]
pub struct SentRequest {
    /// The id.
    pub id: Option<Native>,
    /// The params.
    pub params: Option<Native>,
    /// The reason why the call cannot be run.
    pub refusal: Option<ErrorObject>,
}

/// The reason why a message cannot be converted.
#[derive(Clone)]
pub struct CodecError {
    text: String,
    object: Box<ErrorObject>,
}

impl CodecError {
    /// An error with this text, and its error object for the sender of the message.
    #[must_use]
    pub fn new(text: impl Into<String>, object: ErrorObject) -> Self {
        Self { text: text.into(), object: Box::new(object) }
    }
}

impl From<CodecError> for ErrorObject {
    fn from(error: CodecError) -> Self {
        *error.object
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CodecError").field(&self.text).finish()
    }
}

impl std::error::Error for CodecError {}
