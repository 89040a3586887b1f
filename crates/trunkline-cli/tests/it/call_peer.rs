//! A server that answers what a test tells it to, and keeps what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

/// One request, as it came.
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

/// A server on a port of its own. It closes each connection behind its answer.
pub(crate) struct Peer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Peer {
    /// `answer` gets each request, and gives all bytes of the answer.
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
                // A client that has seen enough is gone.
                drop(stream.write_all(&answer));
            }
        });
        Self { url, asked }
    }

    /// One that gives the same answer to all.
    pub(crate) fn always(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::new(move |_| answer.clone())
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// The next request, if there is one.
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
    asked.body = String::from_utf8(body).unwrap();
    Some(asked)
}

/// An HTTP answer with a body. The head's first line is the status, others are headers.
pub(crate) fn http(head: &str, body: &str) -> Vec<u8> {
    let head = head.replace('\n', "\r\n");
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// 200, with JSON.
pub(crate) fn json(body: &str) -> Vec<u8> {
    http("200 OK\nContent-Type: application/json", body)
}
