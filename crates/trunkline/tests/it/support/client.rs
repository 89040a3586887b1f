//! A client that sends raw bytes and reads HTTP/1 replies.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::in_time;

/// One connection.
pub(crate) struct Client(BufReader<TcpStream>);

/// One HTTP/1 reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = in_time("to connect", TcpStream::connect(address)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.0.get_ref().local_addr().unwrap()
    }

    /// Sends `bytes`. Ignores errors: the server may close the connection first, and its reply is checked instead.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.try_send(bytes).await;
    }

    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        in_time("to send", self.0.get_mut().write_all(bytes.as_ref())).await
    }

    /// Closes the sending direction.
    pub(crate) async fn finish(&mut self) {
        in_time("to finish", self.0.get_mut().shutdown()).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Reply {
        self.send(request).await;
        self.reply().await
    }

    pub(crate) async fn reply(&mut self) -> Reply {
        let mut reply = self.head().await;
        let bodiless = reply.status < 200 || reply.status == 204;
        if let Some(length) = reply.header("content-length").filter(|_| !bodiless) {
            reply.body = vec![0; length.parse().unwrap()];
            in_time("a reply's body", self.0.read_exact(&mut reply.body)).await.unwrap();
        }
        reply
    }

    /// Reads a reply without a body, such as that to HEAD.
    pub(crate) async fn head(&mut self) -> Reply {
        let line = self.line().await;
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
        let status = status.and_then(|status| status.parse().ok());
        let mut reply = Reply {
            status: status.unwrap_or_else(|| panic!("not a reply: {line:?}")),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else {
                return reply;
            };
            reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        in_time("a line of a reply", self.0.read_line(&mut line)).await.unwrap();
        line.truncate(line.trim_end().len());
        line
    }

    pub(crate) async fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        in_time("bytes", self.0.read_exact(&mut bytes)).await.unwrap();
        bytes
    }

    /// Sends `bytes` repeatedly until the server closes the connection. Returns the bytes received until then.
    pub(crate) async fn drip(&mut self, bytes: &str) -> Vec<u8> {
        let mut rest = Vec::new();
        let ended = async {
            loop {
                tokio::select! {
                    read = self.0.read_buf(&mut rest) => match read {
                        Ok(1..) => {}
                        _ => return,
                    },
                    () = tokio::time::sleep(Duration::from_millis(5)) => {
                        // Reading detects a closed connection.
                        let _ = self.0.get_mut().write_all(bytes.as_bytes()).await;
                    }
                }
            }
        };
        in_time("the end of the connection", ended).await;
        rest
    }

    /// Waits until the server closes or resets the connection. Returns the bytes received until then.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = in_time("the end of the connection", self.0.read_to_end(&mut rest)).await;
        rest
    }
}

impl Reply {
    /// The value of the header. If there are several, the first.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&self.body)))
    }
}
