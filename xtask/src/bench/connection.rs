//! A persistent connection, and the request that is sent over it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::contender::Case;
use crate::workspace::Workspace;

/// The start of a successful reply, in lower case.
const OK: &str = "http/1.1 200 ";

const DEADLINE: Duration = Duration::from_secs(60);

/// A part of every result.
pub(super) const RESULT: &str = "\"result\"";

pub(super) struct Request {
    pub(super) path: &'static str,
    pub(super) headers: &'static [&'static str],
    pub(super) body: String,
    /// A part of each reply.
    pub(super) expected: &'static str,
}

impl Request {
    pub(super) fn of(workspace: &Workspace, case: Case) -> Result<Self> {
        let body = workspace.read(case.body_file().as_ref())?;
        Ok(Self { path: case.path(), headers: case.headers(), body, expected: RESULT })
    }
}

/// An open connection and the text of its requests.
pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    request: String,
    expected: &'static str,
    body: Vec<u8>,
}

impl Connection {
    pub(super) fn open(address: &str, request: &Request) -> Result<Self> {
        let Request { path, headers, body, expected } = request;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(Self { stream: BufReader::new(stream), request, expected, body: Vec::new() })
    }

    /// Sends the request and reads the reply.
    pub(super) fn exchange(&mut self) -> Result<()> {
        let head = self.head()?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length = length.map(|value| value.trim().parse()).transpose()?;
        let (true, Some(length)) = (head.starts_with(OK), length) else {
            bail!("unexpected head of the reply: {head:?}");
        };
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        let reply = String::from_utf8_lossy(&self.body);
        ensure!(
            reply.contains(self.expected),
            "`{}` is missing in the reply: {reply}",
            self.expected
        );
        Ok(())
    }

    /// Sends the request and reads the first event of the reply, which is an event stream.
    pub(super) fn begin_events(&mut self) -> Result<()> {
        let head = self.head()?;
        let is_stream = head.contains("content-type: text/event-stream");
        ensure!(head.starts_with(OK) && is_stream, "unexpected head of the reply: {head:?}");
        let mut line = String::new();
        while !line.starts_with("data:") {
            line.clear();
            ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
        }
        Ok(())
    }

    /// Sends the request and reads the head of the reply, in lower case.
    fn head(&mut self) -> Result<String> {
        self.stream.get_mut().write_all(self.request.as_bytes())?;
        let mut head = String::new();
        loop {
            let start = head.len();
            ensure!(self.stream.read_line(&mut head)? > 0, "the server closed the connection");
            if head[start..].trim_end().is_empty() {
                return Ok(head.to_ascii_lowercase());
            }
        }
    }
}
