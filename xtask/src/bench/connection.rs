//! A persistent connection, and the request that is sent over it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

const DEADLINE: Duration = Duration::from_secs(60);

/// The headers that HTTP clients of Python and Node.js add.
const CLIENT: &str = "Accept-Encoding: gzip, deflate, br\r\nConnection: keep-alive\r\n\
                      User-Agent: python-httpx/0.28.1\r\nContent-Type: application/json\r\n";

#[derive(Clone)]
pub(super) struct Request {
    /// The method and the path.
    pub(super) line: String,
    pub(super) headers: &'static [&'static str],
    pub(super) body: String,
    /// A part of each reply.
    pub(super) expected: &'static str,
}

/// An open connection and the text of its requests.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    request: String,
    expected: &'static str,
}

impl Connection {
    pub(super) fn open(address: &str, request: &Request) -> Result<Self> {
        let Request { line, headers, body, expected } = request;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request = format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\n{CLIENT}{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(Self { stream: BufReader::new(stream), request, expected })
    }

    /// Sends the request, and returns the content of the reply. Of an event stream, which stays open, it is the first event
    /// with data.
    pub(super) fn exchange(&mut self) -> Result<String> {
        self.stream.get_mut().write_all(self.request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            head += &self.line()?.to_ascii_lowercase();
        }
        ensure!(head.starts_with("http/1.1 20"), "unexpected head of the reply: {head:?}");
        let mut content = String::new();
        if head.contains("content-type: text/event-stream") {
            while !content.starts_with("data:") || content.trim_end() == "data:" {
                content = self.line()?;
            }
        } else {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length = length.with_context(|| format!("the reply has no length: {head:?}"))?;
            let mut body = vec![0; length.trim().parse()?];
            self.stream.read_exact(&mut body)?;
            content = String::from_utf8(body)?;
        }
        let Self { expected, .. } = self;
        ensure!(content.contains(*expected), "`{expected}` is missing in the reply: {content}");
        Ok(content)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line)
    }
}
