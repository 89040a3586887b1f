//! HTTP/1.1 on one persistent connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::Connection;

const DEADLINE: Duration = Duration::from_secs(10);

pub struct Http {
    stream: BufReader<TcpStream>,
    /// The head of each request.
    head: String,
    request: Vec<u8>,
}

/// The framing of a body.
enum Length {
    Known(usize),
    Chunked,
}

impl Http {
    pub fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        );
        // Larger than any reply with five rows, so that one call reads it.
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), head, request: Vec::new() })
    }

    fn read_head(&mut self) -> Result<Length> {
        let status = self.line()?;
        ensure!(status.starts_with("HTTP/1.1 200 "), "the status is {status:?}");
        let mut length = None;
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                ensure!(line.is_empty(), "not a header: {line:?}");
                return length.context("the reply has no length");
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(Length::Known(value.trim().parse()?));
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                ensure!(value.trim() == "chunked", "the encoding is {value:?}");
                length = Some(Length::Chunked);
            }
        }
    }

    fn read_chunks(&mut self, body: &mut Vec<u8>) -> Result<()> {
        loop {
            let line = self.line()?;
            let size = usize::from_str_radix(&line, 16)
                .with_context(|| format!("not the size of a chunk: {line:?}"))?;
            self.read_exactly(size, body)?;
            let end = self.line()?;
            ensure!(end.is_empty(), "unexpected end of a chunk: {end:?}");
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn read_exactly(&mut self, size: usize, body: &mut Vec<u8>) -> Result<()> {
        let start = body.len();
        body.resize(start + size, 0);
        Ok(self.stream.read_exact(&mut body[start..])?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").context("the connection ended")?;
        Ok(line.to_owned())
    }
}

impl Connection for Http {
    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<()> {
        self.request.clear();
        write!(self.request, "{}Content-Length: {}\r\n\r\n", self.head, request.len())?;
        self.request.extend_from_slice(request);
        self.stream.get_mut().write_all(&self.request)?;
        reply.clear();
        match self.read_head()? {
            Length::Known(size) => self.read_exactly(size, reply),
            Length::Chunked => self.read_chunks(reply),
        }
    }
}
