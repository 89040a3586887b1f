//! A reply, read up to a limit.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use trunkline_core::format::Format;

#[cfg(feature = "edn")]
use super::translation;
use crate::error::{Failure, ProtocolError, TransportError};
use crate::media_type::named;
use crate::response;

/// The beginning of a reply. Its body comes in [`chunk`](Self::chunk)s, or as a whole if it is
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

/// More than this is not set aside for what a server only announces.
const TRUSTED: usize = 1 << 20;

/// As much of a page is shown to people.
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

    /// The media type, without parameters, in lower case. Empty if it is missing.
    #[must_use]
    pub fn media_type(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = value.unwrap_or_default().split(';').next().unwrap_or_default();
        media_type.trim().to_ascii_lowercase()
    }

    /// The next part of the body; none at its end.
    ///
    /// # Errors
    /// When the connection breaks, or when the body has more bytes than the setting allows: one that
    /// announces more is not read at all.
    ///
    /// # Cancel safety
    /// Nothing is lost: the part comes next time.
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

    /// The body, which answers a JSON-RPC message; none if it is empty.
    ///
    /// HTTP decides first: a redirect is not followed; a status other than a success has to
    /// bring an error of JSON-RPC; the media type has to be one of JSON, or that of EDN if it was asked
    /// for: then what is given back is the reply in JSON.
    ///
    /// # Errors
    /// When it cannot be read, or is nothing that JSON-RPC could have answered.
    pub async fn json(mut self) -> Result<Option<Bytes>, Failure> {
        let Some((body, format)) = self.body(self.format).await? else { return Ok(None) };
        let json: Result<Bytes, ProtocolError> = match format {
            Format::Json => Ok(body.clone()),
            #[cfg(feature = "edn")]
            Format::Edn => translation::to_json(&body),
        };
        if !self.status.is_success() && !json.as_ref().is_ok_and(response::is_error) {
            return Err(self.refused(&body).into());
        }
        Ok(Some(json?))
    }

    /// The same in EDN, whether it came in EDN or in JSON.
    ///
    /// # Errors
    /// As those of [`json`](Self::json).
    #[cfg(feature = "edn")]
    pub async fn edn(mut self) -> Result<Option<trunkline_edn::Value>, Failure> {
        let Some((body, format)) = self.body(Format::Edn).await? else { return Ok(None) };
        let value = match format {
            Format::Json => translation::of_json(&body),
            Format::Edn => translation::read(&body),
        };
        if !self.status.is_success() && !value.as_ref().is_ok_and(translation::is_error) {
            return Err(self.refused(&body).into());
        }
        Ok(Some(value?))
    }

    /// The body, if it is not empty, and what it is in: JSON or the `other` format.
    async fn body(&mut self, other: Format) -> Result<Option<(Bytes, Format)>, Failure> {
        let status = self.status;
        if status.is_redirection() {
            let to = self.headers.get(LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()));
            let to = to.unwrap_or_default().into_owned();
            return Err(ProtocolError::Redirect { status, to }.into());
        }
        let media_type = self.media_type();
        let format = named(&media_type).filter(|found| [Format::Json, other].contains(found));
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
            false => Ok(Some((body, format))),
        }
    }

    fn refused(&self, body: &[u8]) -> ProtocolError {
        ProtocolError::Refused { status: self.status, beginning: response::beginning(body) }
    }

    async fn whole(&mut self) -> Result<Bytes, TransportError> {
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        // Most replies come in one piece, which needs no copy.
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let announced = usize::try_from(self.body.size_hint().lower()).unwrap_or(TRUSTED);
        let known = first.len() + second.len();
        let mut body = Vec::with_capacity(known + announced.min(TRUSTED));
        body.extend_from_slice(&first);
        body.extend_from_slice(&second);
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body.into())
    }

    /// The beginning, for error messages. The rest is not waited for.
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
