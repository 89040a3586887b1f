//! A server with scripted replies, which records requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The request line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// A server on a free port. It closes each connection after its reply.
pub(crate) struct Peer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Peer {
    /// Starts a server. `answer` returns all bytes of the reply to a request.
    pub(crate) fn new(answer: impl Fn(&Asked) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read(&mut stream) else { continue };
                log.lock().unwrap().push(request.clone());
                let answer = answer(&request);
                // The client may have closed the connection.
                drop(stream.write_all(&answer));
            }
        });
        Self { url, asked }
    }

    /// Starts a server with the same reply to all requests.
    pub(crate) fn always(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::new(move |_| answer.clone())
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// Reads the next request, if there is one.
pub(crate) fn read(stream: &mut impl Read) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let mut asked = Asked { head, body: String::new() };
    let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    // Some requests are not text.
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Some(asked)
}

/// An HTTP reply with a body. The first line of the head is the status, the others are headers.
pub(crate) fn http(head: &str, body: &str) -> Vec<u8> {
    let head = head.replace('\n', "\r\n");
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// A reply with status 200 and JSON.
pub(crate) fn json(body: &str) -> Vec<u8> {
    http("200 OK\nContent-Type: application/json", body)
}
