//! Requests as bytes.

/// A request and its response.
pub(crate) const CALL: &str = r#"{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}"#;
pub(crate) const RESULT: &str = r#"{"jsonrpc":"2.0","result":19,"id":1}"#;

/// A correct POST of `body`.
pub(crate) fn post(body: impl AsRef<[u8]>) -> Vec<u8> {
    post_with("", body)
}

/// A correct POST of `body` with further header lines, each with its CRLF.
pub(crate) fn post_with(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
