//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONNECTION;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::executor::Tracked;
use super::health;
use super::settings::Settings;
use super::status::{Counts, Phase};
use super::stream::Stream;
use super::watch::{Wait, Watch};
use crate::http::Peer;

/// What all connections of a server share.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) counts: Counts,
    pub(super) builder: Builder<Tracked>,
    /// Cancelled when connections shall end as soon as their requests have.
    pub(super) drain: CancellationToken,
    /// Cancelled when they shall end at once.
    pub(super) cut: CancellationToken,
}

/// A head larger than this is 431; a target over 64 KiB is 414, which hyper knows by itself.
pub(super) const MAX_HEAD: usize = 128 * 1024;

/// How long a connection that has been told to end may take to do so.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves a connection until it ends, waits too long, or has to stop.
pub(super) async fn serve<S, B>(
    socket: TcpStream,
    peer: SocketAddr,
    service: S,
    shared: Arc<Shared>,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let watch = Arc::new(Watch::new());
    let stream = TokioIo::new(Stream::new(socket, Arc::clone(&watch)));
    let requests =
        Requests { service, peer, watch: Arc::clone(&watch), shared: Arc::clone(&shared) };
    let mut connection = pin!(shared.builder.serve_connection(stream, requests));
    let mut timer = pin!(tokio::time::sleep(shared.settings.head_timeout));
    let mut ending = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "connection ended");
                }
                return;
            }
            () = shared.cut.cancelled() => return,
            () = shared.drain.cancelled(), if !ending => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
            () = timer.as_mut() => {
                let sleep = match watch.left(&shared.settings) {
                    Ok(left) => left,
                    Err(Wait::Idle) if !ending => {
                        ending = true;
                        connection.as_mut().graceful_shutdown();
                        FAREWELL
                    }
                    Err(wait) => {
                        tracing::debug!(%peer, ?wait, "connection timed out");
                        return;
                    }
                };
                timer.as_mut().reset(tokio::time::Instant::now() + sleep);
            }
        }
    }
}

/// The requests of one connection.
struct Requests<S> {
    service: S,
    peer: SocketAddr,
    watch: Arc<Watch>,
    shared: Arc<Shared>,
}

impl<S, B> hyper::service::Service<Request<Incoming>> for Requests<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: Body<Data = Bytes>,
{
    type Response = Response<Either<B, Full<Bytes>>>;
    type Error = Infallible;
    type Future = Answer<S::Future>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let phase = self.shared.counts.phase();
        let answered = match &self.shared.settings.health {
            Some(health) if health::is_asked(health, &request) => Some(health::page(health, phase)),
            _ if phase >= Phase::Draining => Some(health::stopping()),
            _ => None,
        };
        if let Some(response) = answered {
            self.watch.set(Wait::Write);
            return Answer { state: State::Ready { response: Some(response) }, running: None };
        }
        let running = Running::begin(&self.watch, &self.shared);
        request.extensions_mut().insert(Peer(Some(self.peer)));
        let state = State::Running { future: self.service.clone().call(request) };
        Answer { state, running: Some(running) }
    }
}

pin_project_lite::pin_project! {
    /// The response to one request.
    struct Answer<F> {
        #[pin]
        state: State<F>,
        running: Option<Running>,
    }
}

pin_project_lite::pin_project! {
    #[project = StateProjection]
    enum State<F> {
        Ready { response: Option<Response<Full<Bytes>>> },
        Running { #[pin] future: F },
    }
}

impl<F, B> Future for Answer<F>
where
    F: Future<Output = Result<Response<B>, Infallible>>,
{
    type Output = Result<Response<Either<B, Full<Bytes>>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = match this.state.project() {
            StateProjection::Ready { response } => {
                response.take().expect("polled once when ready").map(Either::Right)
            }
            StateProjection::Running { future } => {
                let Ok(response) = std::task::ready!(future.poll(cx));
                response.map(Either::Left)
            }
        };
        if let Some(running) = this.running.take()
            && response.headers().get(CONNECTION).is_some_and(|value| value == "close")
        {
            running.watch.cut_short();
        }
        Poll::Ready(Ok(response))
    }
}

/// A request that runs, counted until it is dropped.
struct Running {
    watch: Arc<Watch>,
    shared: Arc<Shared>,
}

impl Running {
    fn begin(watch: &Arc<Watch>, shared: &Arc<Shared>) -> Self {
        watch.request_begun();
        shared.counts.request_begun();
        Self { watch: Arc::clone(watch), shared: Arc::clone(shared) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.watch.request_ended();
        self.shared.counts.request_ended();
    }
}
