//! Connections that are kept open for the next request.
//!
//! A connection has no task: whoever waits for its reply drives it. That spares each request two
//! changes of thread, and what is dropped is closed at once.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use tower::Service;

use super::connector::{Connector, Stream};
use super::failure;
use super::settings::Settings;
use crate::client::error::TransportError;

/// The connections to one server.
pub(super) struct Pool {
    connector: Connector,
    uri: Uri,
    /// The one that was used last is the last: it is taken first, and others grow old.
    idle: Mutex<Vec<Idle>>,
    idle_connections: usize,
    idle_timeout: Duration,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

struct Connection {
    requests: SendRequest<Full<Bytes>>,
    driver: Driver,
}

/// Moves the bytes of a connection, until that has ended. It is large, and futures that hold it move.
struct Driver(Option<Box<http1::Connection<Stream, Full<Bytes>>>>);

/// A connection that carries a reply. It is kept for others once that has come whole.
pub(super) struct Lease {
    connection: Option<Connection>,
    pool: Arc<Pool>,
}

impl Pool {
    pub(super) fn new(connector: Connector, uri: Uri, settings: &Settings) -> Self {
        let Settings { idle_connections, idle_timeout, .. } = *settings;
        Self { connector, uri, idle: Mutex::default(), idle_connections, idle_timeout }
    }

    /// Sends a request, over a connection that is open or a new one.
    pub(super) async fn send(
        self: &Arc<Self>,
        target: &str,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, Lease), TransportError> {
        loop {
            let (mut connection, is_new) = match self.take() {
                Some(connection) => (connection, false),
                None => (Box::pin(self.connect(target)).await?, true),
            };
            match connection.send(request).await {
                Ok(response) => {
                    let lease = Lease { connection: Some(connection), pool: Arc::clone(self) };
                    return Ok((response, lease));
                }
                Err(mut error) => match error.take_message() {
                    // It was closed in the meantime, and nothing was sent.
                    Some(unsent) if !is_new => request = unsent,
                    // The next one would fare no better.
                    Some(_) => return Err(failure::of_connect(target, error.into_error().into())),
                    None => return Err(failure::of_request(target, error.into_error())),
                },
            }
        }
    }

    async fn connect(&self, target: &str) -> Result<Connection, TransportError> {
        let stream = self.connector.clone().call(self.uri.clone()).await;
        let stream = stream.map_err(|source| failure::of_connect(target, source))?;
        let handshake = http1::handshake(stream).await;
        let (requests, driver) =
            handshake.map_err(|source| failure::of_connect(target, source.into()))?;
        Ok(Connection { requests, driver: Driver(Some(Box::new(driver))) })
    }

    fn take(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Idle { mut connection, since } = idle.pop()?;
            if since.elapsed() > self.idle_timeout {
                // All others are older.
                idle.clear();
                return None;
            }
            if connection.is_open() {
                return Some(connection);
            }
        }
    }

    fn keep(&self, connection: Connection) {
        let since = Instant::now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = idle.partition_point(|idle| (since - idle.since) > self.idle_timeout);
        idle.drain(..fresh);
        if idle.len() < self.idle_connections {
            idle.push(Idle { connection, since });
        }
    }
}

impl Connection {
    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::client::conn::TrySendError<Request<Full<Bytes>>>> {
        let Self { requests, driver } = self;
        let mut response = pin!(requests.try_send_request(request));
        poll_fn(|cx| {
            driver.drive(cx);
            response.as_mut().poll(cx)
        })
        .await
    }

    /// Whether another request can be sent, as far as is known by now.
    fn is_open(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        self.driver.drive(&mut cx);
        self.driver.0.is_some() && self.requests.is_ready()
    }
}

impl Driver {
    /// Moves what can be moved now. An end is told to who waits for a response or a body by dropping
    /// what has ended: as long as it is there, a request that it has not taken up waits for it.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.0
            && Pin::new(connection).poll(cx).is_ready()
        {
            self.0 = None;
        }
    }
}

impl Lease {
    /// The next part of the reply; none at its end.
    pub(super) async fn frame(
        &mut self,
        body: &mut Incoming,
    ) -> Option<Result<Frame<Bytes>, hyper::Error>> {
        let frame = poll_fn(|cx| {
            if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(cx) {
                return Poll::Ready(frame);
            }
            if let Some(connection) = &mut self.connection {
                connection.driver.drive(cx);
            }
            Pin::new(&mut *body).poll_frame(cx)
        })
        .await;
        // A body that comes in chunks does not tell before that it has no more.
        if frame.is_none() || body.is_end_stream() {
            self.end();
        }
        frame
    }

    /// The reply is whole: others may use the connection.
    fn end(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && connection.is_open()
        {
            self.pool.keep(connection);
        }
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lease")
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;
    use crate::client::http::{Settings, Url};

    /// How much the runtime lets a task do before another one has its turn: what is there is then told
    /// to be not there yet.
    const BUDGET: usize = 128;

    /// A server may close a connection after it was looked at, and before the request is written, and
    /// a task's turn may end at any point of finding that out.
    #[tokio::test]
    async fn a_request_to_what_has_just_ended_comes_back() {
        for spent in BUDGET - 8..=BUDGET {
            let mut connection = ended().await;
            let (spend, mut spending) = mpsc::unbounded_channel();
            (0..spent).for_each(|_| spend.send(()).unwrap());
            tokio::task::yield_now().await;
            let mut sending = pin!(connection.send(Request::new(Full::default())));
            let sent = poll_fn(|cx| {
                while let Poll::Ready(Some(())) = spending.poll_recv(cx) {
                    if spending.is_empty() {
                        break;
                    }
                }
                sending.as_mut().poll(cx)
            });
            let sent = tokio::time::timeout(Duration::from_secs(2), sent).await;
            let Ok(Err(mut error)) = sent else { panic!("no end, or a reply, {spent} spent") };
            assert!(error.take_message().is_some(), "it was not sent, {spent} spent");
        }
    }

    /// A connection that was open when it was looked at, and has ended since.
    async fn ended() -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let settings = Settings::default();
        let connector = Connector::new(&url, &settings).unwrap();
        let pool = Pool::new(connector, url.uri().clone(), &settings);
        let mut connection = pool.connect("the server").await.unwrap();
        assert!(connection.is_open());
        let (socket, _) = listener.accept().await.unwrap();
        drop(socket);
        // The end is there to be read, and nobody has read it.
        tokio::time::sleep(Duration::from_millis(20)).await;
        connection
    }
}
