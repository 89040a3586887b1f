//! A listener for the redirect of an authorization server, on this machine (RFC 8252, section 7.3).

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use trunkline::client::http::Url;

use super::fetch::is_loopback;
use super::form;

/// The path of the redirect URI.
const PATH: &str = "/callback";
/// The maximum size of the head of a request in bytes.
const MAX_HEAD: usize = 16 << 10;
/// The maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 16;
/// The deadline for reading a request and for writing its reply.
const DEADLINE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Listener {
    tcp: TcpListener,
    uri: String,
}

impl Listener {
    /// Listens at the port of an earlier redirect URI if it is free, or else at `port`.
    pub(super) async fn bind(port: u16, earlier: Option<&str>) -> io::Result<Self> {
        let earlier = earlier.and_then(|uri| uri.parse::<Url>().ok());
        let earlier = earlier.filter(|url| is_loopback(url.host())).map(|url| url.port());
        let tcp = match earlier {
            Some(earlier) if port == 0 => match bind(earlier).await {
                Ok(tcp) => tcp,
                Err(_) => bind(0).await?,
            },
            _ => bind(port).await?,
        };
        let uri = format!("http://127.0.0.1:{}{PATH}", tcp.local_addr()?.port());
        Ok(Self { tcp, uri })
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// The query of the first request with this `state`. Other requests are answered with 404.
    pub(super) async fn query(self, state: &str) -> io::Result<String> {
        let mut connections = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.tcp.accept(), if connections.len() < MAX_CONNECTIONS => {
                    let (stream, _) = accepted?;
                    connections.push(timeout(DEADLINE, answer(stream, state)));
                }
                Some(answered) = connections.next() => {
                    // A failed connection is that of another client, or was closed by the browser.
                    if let Ok(Ok(Some(query))) = answered {
                        return Ok(query);
                    }
                }
            }
        }
    }
}

async fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

/// Answers a request. Returns the query if it contains the state.
async fn answer(mut stream: TcpStream, state: &str) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD || stream.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let query = query_of(&head).filter(|query| has_state(query, state));
    let (status, text) = match &query {
        Some(_) => ("200 OK", "The response was received. You can close this page."),
        None => ("404 Not Found", "This is not the expected response."),
    };
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n{text}",
        text.len()
    );
    // The response counts even if the browser does not wait for the page.
    let written = async {
        stream.write_all(reply.as_bytes()).await?;
        stream.shutdown().await
    };
    drop(written.await);
    Ok(query)
}

/// The query of a GET request of the redirect URI.
fn query_of(head: &[u8]) -> Option<String> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?')?;
    (method == "GET" && path == PATH).then(|| query.to_owned())
}

fn has_state(query: &str, state: &str) -> bool {
    let is_state = |(name, value): &(String, String)| name == "state" && value == state;
    form::parse(query).is_some_and(|parameters| parameters.iter().any(is_state))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn request(port: u16, text: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply.lines().next().unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn waits_for_the_state() {
        let listener = Listener::bind(0, None).await.unwrap();
        let uri = listener.uri().to_owned();
        let port = uri.parse::<Url>().unwrap().port();
        let found = tokio::spawn(async move { listener.query("s1").await });
        // A connection without a request does not block the others.
        let idle = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        for target in
            ["/", "/callback", "/callback?code=a", "/callback?state=s2&code=a", "/?state=s1"]
        {
            let line = request(port, &format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
            assert_eq!(line, "HTTP/1.1 404 Not Found", "{target}");
        }
        let line = request(port, "POST /callback?state=s1 HTTP/1.1\r\n\r\n").await;
        assert_eq!(line, "HTTP/1.1 404 Not Found");
        let line = request(port, "GET /callback?code=a&state=s1 HTTP/1.1\r\n\r\n").await;
        assert_eq!(line, "HTTP/1.1 200 OK");
        assert_eq!(found.await.unwrap().unwrap(), "code=a&state=s1");
        drop(idle);

        // The port is used again, if possible.
        let again = Listener::bind(0, Some(&uri)).await.unwrap();
        assert_eq!(again.uri(), uri);
        assert_ne!(Listener::bind(0, Some(&uri)).await.unwrap().uri(), uri);
        assert!(Listener::bind(port, None).await.is_err());
    }

    #[tokio::test]
    async fn limits_requests() {
        let listener = Listener::bind(0, None).await.unwrap();
        let port = listener.uri().parse::<Url>().unwrap().port();
        let found = tokio::spawn(async move { listener.query("s").await });
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        let long = "x".repeat(64 << 10);
        // The connection closes without a reply; writing may fail before that.
        drop(stream.write_all(long.as_bytes()).await);
        let mut reply = Vec::new();
        drop(stream.read_to_end(&mut reply).await);
        assert!(reply.is_empty());
        found.abort();
    }
}
