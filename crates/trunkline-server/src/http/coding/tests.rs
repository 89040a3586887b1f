use std::collections::VecDeque;
use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use http::HeaderName;

use super::*;

#[test]
fn accepts_gzip_by_name_or_by_wildcard() {
    let rows: [(&[&str], Coding); 20] = [
        (&[], Coding::Identity),
        (&[""], Coding::Identity),
        (&["br"], Coding::Identity),
        (&["identity"], Coding::Identity),
        (&["gzip;q=0"], Coding::Identity),
        (&["gzip;q=0.000, *"], Coding::Identity),
        (&["*;q=0"], Coding::Identity),
        (&["identity, gzip;q=0.5"], Coding::Identity),
        (&["gzip;q=2"], Coding::Identity),
        (&["gzip;level=1"], Coding::Identity),
        (&["gzippy"], Coding::Identity),
        (&["gzip"], Coding::Gzip),
        (&["x-gzip"], Coding::Gzip),
        (&["GZip"], Coding::Gzip),
        // As sent by Node.js and browsers.
        (&["gzip, deflate, br, zstd"], Coding::Gzip),
        (&["br;q=1.0, gzip;q=0.8, *;q=0.1"], Coding::Gzip),
        (&["deflate , gzip ; Q=0.001"], Coding::Gzip),
        (&["*"], Coding::Gzip),
        (&["identity;q=0", "gzip"], Coding::Gzip),
        (&["br;;q, gzip"], Coding::Gzip),
    ];
    for (values, expected) in rows {
        let header = |value: &&str| (ACCEPT_ENCODING, HeaderValue::from_str(value).unwrap());
        let headers: HeaderMap = values.iter().map(header).collect();
        assert_eq!(Coding::accepted(&headers), expected, "{values:?}");
    }
}

type Fields<'a> = &'a [(&'a str, &'a str)];

fn response(fields: Fields<'_>, body: impl Into<ReplyBody>) -> Response<ReplyBody> {
    let mut response = Response::new(body.into());
    for (name, value) in fields {
        let name: HeaderName = name.parse().unwrap();
        response.headers_mut().append(name, value.parse().unwrap());
    }
    response
}

/// The sorted headers of a response.
fn fields(response: &Response<ReplyBody>) -> Vec<(&str, &str)> {
    let headers = response.headers().iter();
    let mut fields: Vec<_> =
        headers.map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    fields.sort_unstable();
    fields
}

#[test]
fn compresses_text_of_some_length() {
    let json = ("content-type", "application/json");
    let rows: [(Fields<'_>, usize, bool); 17] = [
        (&[json], 1_024, true),
        (&[json], 1_023, false),
        (&[json], 0, false),
        (&[], 1_024, true),
        (&[("content-type", "text/html; charset=utf-8")], 1_024, true),
        (&[("content-type", "image/svg+xml")], 1_024, true),
        (&[("content-type", "application/edn")], 1_024, true),
        (&[("content-type", "application/octet-stream")], 1_024, true),
        (&[("content-type", "text/event-stream")], 1_024, false),
        (&[("content-type", "Text/Event-Stream;charset=utf-8")], 1_024, false),
        (&[("content-type", "image/png")], 1_024, false),
        (&[("content-type", "font/woff2")], 1_024, false),
        (&[("content-type", "application/zip")], 1_024, false),
        (&[json, ("content-encoding", "br")], 1_024, false),
        (&[json, ("content-range", "bytes 0-9/10")], 1_024, false),
        (&[json, ("cache-control", "max-age=60, No-Transform")], 1_024, false),
        (&[json, ("cache-control", "no-cache")], 1_024, true),
    ];
    for (given, length, is_compressed) in rows {
        let body = vec![b'a'; length];
        let row = format!("{given:?}, {length} bytes");
        let expected = |added: &[_]| {
            let mut fields = [given, if is_compressed { added } else { &[] }].concat();
            fields.sort_unstable();
            fields
        };
        let vary = ("vary", "accept-encoding");
        let plain = Coding::Identity.apply(response(given, body.clone()));
        assert_eq!(fields(&plain), expected(&[vary]), "{row}");
        assert_eq!(plain.body().size_hint().exact(), Some(length as u64), "{row}");
        let coded = Coding::Gzip.apply(response(given, body.clone()));
        assert_eq!(fields(&coded), expected(&[vary, ("content-encoding", "gzip")]), "{row}");
        let frames = frames(coded.into_body());
        let bytes = frames.concat();
        assert_eq!(if is_compressed { decoded(&bytes) } else { bytes }, body, "{row}");
    }
}

#[test]
fn headers_describe_the_compressed_body() {
    let given = [("content-length", "2000"), ("etag", "\"1\""), ("vary", "accept")];
    let coded = Coding::Gzip.apply(response(&given, vec![b'a'; 2_000]));
    let expected = [
        ("content-encoding", "gzip"),
        ("etag", "W/\"1\""),
        ("vary", "accept"),
        ("vary", "accept-encoding"),
    ];
    assert_eq!(fields(&coded), expected);
    let weak = Coding::Gzip.apply(response(&[("etag", "W/\"1\"")], vec![b'a'; 2_000]));
    assert_eq!(weak.headers()["etag"], "W/\"1\"");
}

/// A body of parts. It is pending once for `None`.
struct Parts(VecDeque<Option<&'static [u8]>>);

impl Body for Parts {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match self.0.pop_front() {
            Some(Some(b"failure")) => Poll::Ready(Some(Err(axum::Error::new("failure")))),
            Some(Some(part)) => Poll::Ready(Some(Ok(Frame::data(part.into())))),
            Some(None) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            None => Poll::Ready(None),
        }
    }
}

/// The frames of a body, ready or not.
fn polled(mut body: ReplyBody) -> Vec<Poll<Result<Bytes, String>>> {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut frames = Vec::new();
    loop {
        frames.push(match Pin::new(&mut body).poll_frame(&mut cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => return frames,
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Ok(frame.into_data().unwrap())),
            Poll::Ready(Some(Err(error))) => {
                frames.push(Poll::Ready(Err(error.to_string())));
                return frames;
            }
        });
    }
}

fn frames(body: ReplyBody) -> Vec<Bytes> {
    let ready = polled(body).into_iter().filter_map(|frame| match frame {
        Poll::Ready(frame) => Some(frame.unwrap()),
        Poll::Pending => None,
    });
    ready.collect()
}

fn decoded(bytes: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut decoded).unwrap();
    decoded
}

#[test]
fn a_stream_is_compressed_part_by_part() {
    let parts = [Some(&b"one "[..]), Some(b"two "), None, None, None, Some(b"three")];
    let stream = Parts(parts.into());
    let coded = Coding::Gzip.apply(response(&[], ReplyBody::stream(stream)));
    let frames = polled(coded.into_body());
    let first_wait = frames.iter().position(Poll::is_pending).unwrap();
    let before: Vec<u8> = frames[..first_wait].iter().fold(Vec::new(), |mut all, frame| {
        let Poll::Ready(Ok(bytes)) = frame else { panic!("{frame:?}") };
        all.extend_from_slice(bytes);
        all
    });
    let mut sent = [0; 8];
    MultiGzDecoder::new(&before[..]).read_exact(&mut sent).unwrap();
    assert_eq!(&sent, b"one two ", "sent before the stream waits");
    assert!(frames[first_wait + 1].is_pending(), "nothing new to send: {frames:?}");
    let all = frames.into_iter().filter_map(|frame| match frame {
        Poll::Ready(frame) => Some(frame.unwrap()),
        Poll::Pending => None,
    });
    assert_eq!(decoded(&all.collect::<Vec<_>>().concat()), b"one two three");
}

#[test]
fn an_error_ends_the_stream() {
    let stream = Parts([Some(&b"one"[..]), Some(b"failure"), Some(b"two")].into());
    let coded = Coding::Gzip.apply(response(&[], ReplyBody::stream(stream)));
    let frames = polled(coded.into_body());
    assert_eq!(frames.last(), Some(&Poll::Ready(Err("failure".to_owned()))));
}

#[test]
fn a_large_body_is_compressed_in_parts() {
    let body: Vec<u8> =
        (0..300_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    let coded = Coding::Gzip.apply(response(&[], body.clone()));
    let frames = frames(coded.into_body());
    assert!(frames.iter().all(|frame| frame.len() <= 2 * PART), "bounded parts");
    assert!(frames.len() > 10);
    assert!(decoded(&frames.concat()) == body);
}
