//! The content coding of replies of routes: gzip, for clients that accept it (RFC 9110, sections 8.4 and 12.5.3).

use std::io::{self, Write as _};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, VARY,
};
use http::{HeaderMap, HeaderValue, Response};
use http_body::{Body, Frame};

use super::accept::thousandths;
use super::reply_body::ReplyBody;

/// Smaller bodies fit in one packet in any case.
const SMALLEST: u64 = 1 << 10;

/// The most that is compressed before other tasks may run.
const PART: usize = 64 << 10;

/// The coding that a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    /// gzip, if the client accepts it and does not prefer the unchanged reply.
    ///
    /// Malformed elements of the list are ignored: every client accepts the unchanged reply.
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        let (mut gzip, mut identity, mut others) = (None, None, None);
        let values = headers.get_all(ACCEPT_ENCODING).iter();
        for element in values.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(',')) {
            let (coding, parameters) = element.split_once(';').unwrap_or((element, ""));
            let Some(weight) = weight(parameters) else { continue };
            let is = |name: &str| coding.trim().eq_ignore_ascii_case(name);
            if is("gzip") || is("x-gzip") {
                gzip = Some(weight);
            } else if is("identity") {
                identity = Some(weight);
            } else if is("*") {
                others = Some(weight);
            }
        }
        let gzip = gzip.or(others).unwrap_or(0);
        if gzip > 0 && gzip >= identity.unwrap_or(0) { Self::Gzip } else { Self::Identity }
    }

    /// Compresses the body of a response that becomes smaller by it.
    pub(super) fn apply(self, mut response: Response<ReplyBody>) -> Response<ReplyBody> {
        if !is_compressible(&response) {
            return response;
        }
        let headers = response.headers_mut();
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
        if self == Self::Identity {
            return response;
        }
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.remove(CONTENT_LENGTH);
        // A strong tag identifies the bytes of one coding (section 8.8.3.3).
        if let Some(tag) = headers.get_mut(ETAG).filter(|tag| tag.as_bytes().starts_with(b"\"")) {
            let weak = [b"W/", tag.as_bytes()].concat();
            *tag = HeaderValue::from_bytes(&weak).expect("the tag was a valid value");
        }
        response.map(|body| ReplyBody::stream(GzipBody::new(body)))
    }
}

/// The weight of a coding in thousandths, from its parameters.
fn weight(parameters: &str) -> Option<u16> {
    let parameters = parameters.trim();
    if parameters.is_empty() {
        return Some(1_000);
    }
    let (name, weight) = parameters.split_once('=')?;
    if name.eq_ignore_ascii_case("q") { thousandths(weight) } else { None }
}

/// Whether the body is text of some length that is not coded yet and is not a stream of events, whose readers wait
/// for each one.
fn is_compressible(response: &Response<ReplyBody>) -> bool {
    let headers = response.headers();
    let is_fixed = |value: &HeaderValue| {
        value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("no-transform"))
    };
    let is_large = response.body().size_hint().exact().is_none_or(|size| size >= SMALLEST);
    is_large
        && !headers.contains_key(CONTENT_ENCODING)
        && !headers.contains_key(CONTENT_RANGE)
        && !headers.get_all(CACHE_CONTROL).iter().any(is_fixed)
        && headers.get(CONTENT_TYPE).is_none_or(|kind| is_text(kind.as_bytes()))
}

fn is_text(media_type: &[u8]) -> bool {
    let is = |prefix: &[u8]| {
        media_type.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is_media = [&b"image/"[..], b"audio/", b"video/", b"font/"].into_iter().any(is);
    let is_packed = is(b"application/gzip") || is(b"application/zip");
    is(b"image/svg") || !(is_media || is_packed || is(b"text/event-stream"))
}

/// A body that is compressed while it is sent.
struct GzipBody {
    body: ReplyBody,
    /// The rest of the last frame.
    rest: Bytes,
    /// `None` after the end.
    encoder: Option<GzEncoder<Vec<u8>>>,
    /// Whether the encoder keeps something back.
    is_pending: bool,
    trailers: Option<Frame<Bytes>>,
}

impl GzipBody {
    fn new(body: ReplyBody) -> Self {
        let encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
        Self { body, rest: Bytes::new(), encoder, is_pending: false, trailers: None }
    }

    /// Ends the compressed data.
    fn finish(&mut self) -> io::Result<Option<Frame<Bytes>>> {
        let end = self.encoder.take().map(GzEncoder::finish).transpose()?;
        Ok(end.map(|end| Frame::data(end.into())).or_else(|| self.trailers.take()))
    }
}

impl Body for GzipBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        while let Some(encoder) = &mut this.encoder {
            let written = if this.rest.is_empty() {
                match Pin::new(&mut this.body).poll_frame(cx) {
                    // What has been sent so far must not wait for the rest.
                    Poll::Pending if this.is_pending => {
                        this.is_pending = false;
                        encoder.flush()
                    }
                    frame => match ready!(frame).transpose()?.map(Frame::into_data) {
                        Some(Ok(data)) => {
                            this.rest = data;
                            continue;
                        }
                        trailers => {
                            this.trailers = trailers.and_then(Result::err);
                            break;
                        }
                    },
                }
            } else {
                let part = this.rest.split_to(this.rest.len().min(PART));
                this.is_pending = true;
                encoder.write_all(&part)
            };
            written.map_err(axum::Error::new)?;
            let output = mem::take(encoder.get_mut());
            if !output.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(output.into()))));
            }
        }
        Poll::Ready(this.finish().map_err(axum::Error::new).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.encoder.is_none() && self.trailers.is_none()
    }
}

#[cfg(test)]
#[path = "coding/tests.rs"]
mod tests;
