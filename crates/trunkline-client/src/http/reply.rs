//! Replies over HTTP, read up to a limit.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use trunkline_core::format::Format;
use trunkline_core::limits::calls::Limits;

use crate::error::{Failure, ProtocolError, TransportError};
use crate::response::{self, malformed};

/// The status and headers of a reply. Read the body in [`chunk`](Self::chunk)s, or as a whole with
/// [`json`](Self::json).
#[derive(Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    target: Arc<str>,
    left: usize,
    limit: usize,
    /// The accepted format besides JSON.
    format: Format,
}

/// The maximum memory allocated on the basis of the announced size.
const MAX_PREALLOCATED: usize = 1 << 20;

/// A text without a byte order mark.
fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body)
}

/// The number of bytes of an unexpected body to read for the error message.
const BEGINNING: usize = 256;

impl Reply {
    pub(super) fn new(
        response: Response<Incoming>,
        target: Arc<str>,
        limit: usize,
        format: Format,
    ) -> Self {
        let (parts, body) = response.into_parts();
        let (status, headers) = (parts.status, parts.headers);
        Self { status, headers, body, target, left: limit, limit, format }
    }

    /// Sets the maximum size of the rest of the body, in bytes. It replaces that of the configuration.
    pub fn set_limit(&mut self, limit: usize) {
        self.left = limit;
        self.limit = limit;
    }

    /// The media type without parameters, in lower case. Empty if it is missing.
    #[must_use]
    pub fn media_type(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = value.unwrap_or_default().split(';').next().unwrap_or_default();
        media_type.trim().to_ascii_lowercase()
    }

    /// The next part of the body, or `None` at its end.
    ///
    /// # Errors
    /// When the connection closes, or when the body exceeds
    /// [`max_reply`](super::HttpClientConfig::max_reply). A body that announces a larger size is not read.
    ///
    /// # Cancel safety
    /// No data is lost: the next call returns the part.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        if self.body.size_hint().lower() > self.left as u64 {
            return Err(self.too_large());
        }
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|source| TransportError::Broken {
                target: self.target.to_string(),
                source: Some(Arc::new(source)),
            })?;
            // Trailers are ignored.
            let Ok(data) = frame.into_data() else { continue };
            self.left = self.left.checked_sub(data.len()).ok_or_else(|| self.too_large())?;
            return Ok(Some(data));
        }
        Ok(None)
    }

    /// The body as the reply to a JSON-RPC message, or `None` if it is empty.
    ///
    /// A redirect is an error. A status other than success requires a JSON-RPC error in the body. The media
    /// type must be that of JSON, or of the format of the transport, which is converted to JSON.
    ///
    /// # Errors
    /// When the body cannot be read or is not a JSON-RPC reply.
    pub async fn json(self) -> Result<Option<Bytes>, Failure> {
        let Some((body, format, _)) = self.read().await? else { return Ok(None) };
        let json = format.read(body.clone(), &Limits::default());
        Ok(Some(json.map_err(|error| malformed(error.to_string(), &body))?))
    }

    /// Like [`json`](Self::json), in the [format](crate::Http::format) of the transport: the unchanged text, which
    /// may have values that JSON cannot represent, or converted if it was sent in JSON.
    ///
    /// # Errors
    /// As for [`json`](Self::json).
    pub async fn text(self) -> Result<Option<Bytes>, Failure> {
        let Some((body, format, wanted)) = self.read().await? else { return Ok(None) };
        if format == wanted {
            return Ok(Some(body));
        }
        let text = wanted.write(body.to_vec());
        Ok(Some(text.map_err(|error| malformed(error.to_string(), &body))?.into()))
    }

    /// The body, its format, and the format of the transport.
    async fn read(mut self) -> Result<Option<(Bytes, Format, Format)>, Failure> {
        let Some((body, format)) = self.body().await? else { return Ok(None) };
        if !self.status.is_success() {
            let json = format.read(body.clone(), &Limits::default());
            if !json.is_ok_and(|json| response::is_error(&json)) {
                return Err(self.refused(&body).into());
            }
        }
        Ok(Some((body, format, self.format)))
    }

    /// The body, if it is not empty, and its format: JSON or that of the transport.
    async fn body(&mut self) -> Result<Option<(Bytes, Format)>, Failure> {
        let status = self.status;
        if status.is_redirection() {
            let to = self.headers.get(LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()));
            let to = to.unwrap_or_default().into_owned();
            return Err(ProtocolError::Redirect { status, to }.into());
        }
        let media_type = self.media_type();
        let formats = [Format::Json, self.format];
        let format = formats.into_iter().find(|format| format.has_media_type(&media_type));
        let Some(format) = format else {
            let body = self.beginning().await?;
            if !status.is_success() {
                return Err(self.refused(&body).into());
            }
            let beginning = response::beginning(&body);
            return match body.is_empty() {
                true => Ok(None),
                false => Err(ProtocolError::MediaType { media_type, beginning }.into()),
            };
        };
        let body = self.whole().await?;
        match body.is_empty() {
            true if status.is_success() => Ok(None),
            true => Err(self.refused(&body).into()),
            // Parsers may ignore it (RFC 8259, section 8.1).
            false => Ok(Some((body.slice_ref(without_mark(&body)), format))),
        }
    }

    fn refused(&self, body: &[u8]) -> ProtocolError {
        ProtocolError::Refused { status: self.status, beginning: response::beginning(body) }
    }

    async fn whole(&mut self) -> Result<Bytes, TransportError> {
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        // Most replies arrive in one chunk, which needs no copy.
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let announced = usize::try_from(self.body.size_hint().lower()).unwrap_or(MAX_PREALLOCATED);
        let received = first.len() + second.len();
        let mut body = Vec::with_capacity(received + announced.min(MAX_PREALLOCATED));
        body.extend_from_slice(&first);
        body.extend_from_slice(&second);
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body.into())
    }

    /// The beginning of the body, for error messages.
    async fn beginning(&mut self) -> Result<Vec<u8>, TransportError> {
        let mut body = Vec::new();
        while body.len() < BEGINNING {
            let Some(chunk) = self.chunk().await? else { break };
            body.extend_from_slice(&chunk[..chunk.len().min(BEGINNING)]);
        }
        Ok(body)
    }

    fn too_large(&self) -> TransportError {
        TransportError::TooLarge { target: self.target.to_string(), limit: self.limit }
    }
}
