use std::fmt::Display;
use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use super::PATIENCE;

/// One HTTP/1.1 connection.
pub(crate) struct Connection(BufReader<TcpStream>);

/// One reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// The text of a POST request with a JSON body.
pub(crate) fn post(path: &str, headers: &[&str], body: &impl Display) -> String {
    let body = body.to_string();
    let mut head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n");
    for header in headers {
        head += header;
        head += "\r\n";
    }
    format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect_timeout(&address, PATIENCE).unwrap())
    }

    /// A connection of a client with another address.
    pub(crate) fn open_from(client: IpAddr, address: SocketAddr) -> Self {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((client, 0)).into()).unwrap();
        socket.connect_timeout(&address.into(), PATIENCE).unwrap();
        Self::of(socket.into())
    }

    fn of(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, request: &str) {
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
    }

    pub(crate) fn ask(&mut self, request: &str) -> Reply {
        self.send(request);
        self.reply()
    }

    /// The JSON of a reply, or `None` if the server is killed meanwhile.
    pub(crate) fn try_ask(&mut self, request: &str) -> Option<Value> {
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().ok()?;
                }
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        serde_json::from_slice(&body).ok()
    }

    pub(crate) fn get(&mut self, path: &str) -> Reply {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    }

    /// The same for a server that may close the connection instead; then `None`.
    pub(crate) fn get_unless_closed(&mut self, path: &str) -> Option<Reply> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let sent = self.0.get_mut().write_all(request.as_bytes());
        match sent.and_then(|()| self.0.fill_buf().map(<[u8]>::is_empty)) {
            Ok(false) => Some(self.reply()),
            Ok(true) => None,
            Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => None,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn reply(&mut self) -> Reply {
        let line = self.line();
        let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let mut reply = Reply {
            status: status.unwrap_or_else(|| panic!("not a reply: {line:?}")),
            headers: Vec::new(),
            body: Vec::new(),
        };
        while let Some((name, value)) = self.line().split_once(':') {
            reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if let Some(length) = reply.header("content-length") {
            reply.body = vec![0; length.parse().unwrap()];
            self.0.read_exact(&mut reply.body).unwrap();
        }
        reply
    }

    /// Reads a body in chunks, and returns whether it is complete.
    pub(crate) fn chunks(&mut self, mut take: impl FnMut(&[u8])) -> bool {
        loop {
            let mut line = String::new();
            if !matches!(self.0.read_line(&mut line), Ok(1..)) {
                return false;
            }
            let length = usize::from_str_radix(line.trim_end(), 16).unwrap();
            let mut chunk = vec![0; length + 2];
            if self.0.read_exact(&mut chunk).is_err() {
                return false;
            }
            if length == 0 {
                return true;
            }
            take(&chunk[..length]);
        }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.truncate(line.trim_end().len());
        line
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&self.body)))
    }
}
