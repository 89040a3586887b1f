//! The end of event streams whose credentials are not accepted any more.

use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::select;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{Method, Response};
use http_body::{Body, Frame};
use tokio::sync::Notify;
use tokio::time::sleep;
use trunkline_access::Principal;

use super::authenticate::{AuthenticationError, Authenticator, Authenticators};
use super::credentials::authenticate;
use super::reply_body::ReplyBody;

/// Tokens expire without notice.
const INTERVAL: Duration = Duration::from_secs(30);

/// The authenticators of a service, also for requests that were accepted before. Clones share them.
#[derive(Clone)]
pub(super) struct CurrentAuthenticators(Arc<Shared>);

struct Shared {
    all: RwLock<Authenticators>,
    changed: Notify,
}

/// An accepted request.
pub(super) struct Accepted {
    pub(super) request: Parts,
    pub(super) principal: Principal,
    /// The authenticators of its routes.
    pub(super) others: Vec<Arc<dyn Authenticator>>,
}

impl CurrentAuthenticators {
    pub(super) fn new(all: Authenticators) -> Self {
        Self(Arc::new(Shared { all: RwLock::new(all), changed: Notify::new() }))
    }

    pub(super) fn replace(&self, all: Authenticators) {
        *self.0.all.write().unwrap_or_else(PoisonError::into_inner) = all;
        self.0.changed.notify_waiters();
    }

    /// Ends the body of a response that is a stream of events when the credentials of its request are not accepted any
    /// more, or are those of another principal. Replies of other types end by themselves.
    pub(super) fn limit(
        &self,
        response: Response<ReplyBody>,
        accepted: impl FnOnce() -> Option<Accepted>,
    ) -> Response<ReplyBody> {
        let kind = response.headers().get(CONTENT_TYPE);
        if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            return response;
        }
        let Some(mut accepted) = accepted() else { return response };
        // Its origin was checked before.
        accepted.request.method = Method::GET;
        let current = self.clone();
        response.map(|body| {
            let ended = Box::pin(async move { current.until_refused(&accepted).await });
            ReplyBody::stream(LimitedBody { body, ended: Some(ended) })
        })
    }

    async fn until_refused(&self, accepted: &Accepted) {
        loop {
            let changed = self.0.changed.notified();
            if !self.accepts(accepted) {
                return;
            }
            select(pin!(changed), pin!(sleep(INTERVAL))).await;
        }
    }

    fn accepts(&self, accepted: &Accepted) -> bool {
        let all = Arc::clone(&self.0.all.read().unwrap_or_else(PoisonError::into_inner));
        match authenticate(all.iter().chain(&accepted.others), &accepted.request) {
            Ok(None) => true,
            Ok(Some(verified)) => match verified.now_or_never() {
                Some(Ok(principal)) => principal == accepted.principal,
                // Without keys, it is not known whether the token is valid.
                Some(Err(AuthenticationError::Unavailable)) | None => true,
                Some(Err(_)) => false,
            },
            Err(_) => false,
        }
    }
}

/// A body that ends early.
struct LimitedBody {
    body: ReplyBody,
    /// `None` after it has ended.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Body for LimitedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(ended) = &mut self.ended else { return Poll::Ready(None) };
        if ended.as_mut().poll(cx).is_ready() {
            self.ended = None;
            self.body = ReplyBody::default();
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.ended.is_none() || self.body.is_end_stream()
    }
}
