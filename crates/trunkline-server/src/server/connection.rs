//! The task of a connection.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use futures_util::future::Either as FutureEither;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, Version};
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::answer::Answer;
use super::config::DrainMode;
use super::health;
use super::reply::{Reply, Running};
use super::shared::Shared;
use super::stream::Stream;
use super::watch::{Overdue, Watch};
use crate::http::{ClientCertificate, refused_format};
use crate::status::Phase;

/// The interval in which a draining server checks whether the first request of a connection has arrived.
const POLL: Duration = Duration::from_millis(5);

/// The maximum time of a graceful shutdown of a connection.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves a connection until it ends, times out, or the server stops.
pub(super) async fn serve<A, S>(socket: S, client: Client, service: Arc<A>, shared: Arc<Shared>)
where
    A: Answer,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let peer = client.address;
    let watch = Arc::new(Watch::new());
    let stream = TokioIo::new(Stream::new(socket, Arc::clone(&watch)));
    let requests =
        Requests { service, client, watch: Arc::clone(&watch), shared: Arc::clone(&shared) };
    let requests = Arc::new(requests);
    let service = service_fn(move |request| Arc::clone(&requests).answer(request));
    let mut connection = pin!(shared.builder.serve_connection(stream, service));
    // The connection is polled several times for each request. The set only polls events that have woken.
    let mut events = FuturesUnordered::new();
    events.push(event(Event::Abort, Duration::ZERO, Arc::clone(&shared)));
    events.push(event(Event::Drain, Duration::ZERO, Arc::clone(&shared)));
    let sleep = Watch::longest_sleep(&shared.settings);
    events.push(event(Event::Timer, sleep, Arc::clone(&shared)));
    // A connection accepted while the server drains gets one reply, which reports that.
    let mut ending = shared.is_refusing();
    // Until then, a draining server waits for the first request, unless it is refused.
    let mut until = match shared.settings.drain_mode {
        DrainMode::Refuse => Some(Instant::now()),
        DrainMode::Close => None,
    };
    loop {
        let event_or_end = tokio::select! {
            biased;
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(%peer, %error, "connection failed");
                }
                return;
            }
            next = events.next() => next,
        };
        match event_or_end {
            Some(Event::Drain) if ending => {}
            // Its first request may be on the way.
            Some(Event::Drain) if watch.is_new() && first_request_until(&mut until) => {
                events.push(event(Event::Drain, POLL, Arc::clone(&shared)));
            }
            Some(Event::Drain) => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
            Some(Event::Timer) => {
                let sleep = match watch.left(&shared.settings) {
                    Ok(left) => left,
                    Err(Overdue::Request) if !ending => {
                        ending = true;
                        connection.as_mut().graceful_shutdown();
                        SHUTDOWN_TIMEOUT
                    }
                    Err(overdue) => {
                        tracing::debug!(%peer, ?overdue, "connection timed out");
                        return;
                    }
                };
                events.push(event(Event::Timer, sleep, Arc::clone(&shared)));
            }
            Some(Event::Abort) | None => return,
        }
    }
}

/// Whether a draining server still waits for the first request of a connection. `until` is set by the first call.
fn first_request_until(until: &mut Option<Instant>) -> bool {
    let now = Instant::now();
    now < *until.get_or_insert(now + SHUTDOWN_TIMEOUT)
}

/// An event that affects a connection.
#[derive(Debug, Clone, Copy)]
enum Event {
    Drain,
    Abort,
    Timer,
}

async fn event(event: Event, after: Duration, shared: Arc<Shared>) -> Event {
    match event {
        Event::Drain => {
            shared.drain.cancelled().await;
            if !after.is_zero() {
                tokio::time::sleep(after).await;
            }
        }
        Event::Abort => shared.abort.cancelled().await,
        Event::Timer => tokio::time::sleep(after).await,
    }
    event
}

/// The other end of a connection.
pub(super) struct Client {
    pub(super) address: SocketAddr,
    /// The certificate that it has authenticated itself with.
    pub(super) certificate: Option<ClientCertificate>,
}

/// The requests of one connection.
struct Requests<A> {
    service: Arc<A>,
    client: Client,
    watch: Arc<Watch>,
    shared: Arc<Shared>,
}

impl<A: Answer> Requests<A> {
    /// Answers a request by a health page, a refusal if the server is stopping, or the service.
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Reply<A::Body>>, Infallible> {
        let Self { service, client, watch, shared } = &*self;
        let mut request = shared.with_scheme(request);
        if let Some(certificate) = &client.certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        let pages = shared.pages.as_ref().filter(|pages| pages.have(request.uri().path()));
        let running = match pages {
            Some(_) => Running::uncounted(watch),
            // Counted before the phase is read, so that a stopping server waits for the request.
            None => Running::counted(watch, shared),
        };
        if pages.is_none() && shared.is_refusing() {
            watch.cut_short();
            let format = refused_format(request.headers(), service.formats());
            return Ok(health::stopping(format).map(|page| Reply::own(page, running)));
        }
        let version = request.version();
        // Calls catch panics themselves. This catches panics outside of calls.
        let answer = match pages {
            Some(pages) => FutureEither::Left(Box::pin(async move {
                pages.answer(request.map(Body::new)).await.map(Either::Right)
            })),
            None => FutureEither::Right(
                service.answer(request, client.address).map(|response| response.map(Either::Left)),
            ),
        };
        let Ok(mut response) = AssertUnwindSafe(answer).catch_unwind().await else {
            return Ok(health::failed().map(|page| Reply::own(page, running)));
        };
        if response.headers().get(CONNECTION).is_some_and(|value| value == "close") {
            watch.cut_short();
        }
        if version < Version::HTTP_2 && shared.counts.phase() >= Phase::Draining {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| Reply::new(body, running)))
    }
}
