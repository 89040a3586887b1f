//! The end of event streams whose token is not accepted any more.

use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::select;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use http_body::{Body, Frame};
use tokio::sync::Notify;
use tokio::time::sleep;
use trunkline_access::{Principal, Tokens};

use super::bearer;
use super::bearer::Caller;
use super::reply_body::ReplyBody;

/// Tokens expire without notice.
const INTERVAL: Duration = Duration::from_secs(30);

/// The tokens that a service accepts now, for requests that were accepted before. Clones share them.
#[derive(Clone, Default)]
pub(super) struct CurrentTokens(Arc<Shared>);

#[derive(Default)]
struct Shared {
    tokens: RwLock<Tokens>,
    changed: Notify,
}

/// The credentials of a request.
pub(super) struct Credentials {
    /// The header `Authorization`, or that of the session.
    authorization: HeaderValue,
    principal: Principal,
    tokens: CurrentTokens,
}

impl CurrentTokens {
    pub(super) fn new(tokens: Tokens) -> Self {
        let current = Self::default();
        current.replace(tokens);
        current
    }

    pub(super) fn replace(&self, tokens: Tokens) {
        *self.0.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
        self.0.changed.notify_waiters();
    }

    /// Ends the body of a response that is a stream of events when the caller's token is not accepted any more, or is
    /// that of another principal. Replies of other types end by themselves.
    pub(super) fn limit(
        &self,
        response: Response<ReplyBody>,
        caller: Option<(Principal, HeaderValue)>,
    ) -> Response<ReplyBody> {
        let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let is_stream = kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"));
        let Some((principal, authorization)) = caller.filter(|_| is_stream) else {
            return response;
        };
        let credentials = Credentials { authorization, principal, tokens: self.clone() };
        response.map(|body| {
            let ended = Box::pin(credentials.until_invalid());
            ReplyBody::stream(LimitedBody { body, ended: Some(ended) })
        })
    }
}

impl Credentials {
    async fn until_invalid(self) {
        loop {
            let changed = self.tokens.0.changed.notified();
            if !self.is_valid() {
                return;
            }
            select(pin!(changed), pin!(sleep(INTERVAL))).await;
        }
    }

    fn is_valid(&self) -> bool {
        let tokens = self.tokens.0.tokens.read().unwrap_or_else(PoisonError::into_inner).clone();
        match bearer::check_value(&self.authorization, &tokens) {
            Ok(Caller::Known(known)) => known == self.principal,
            // Without keys, it is not known whether the token is valid.
            #[cfg(feature = "jwt")]
            Ok(Caller::Pending(_)) => true,
            Ok(Caller::Anonymous) => true,
            #[cfg(feature = "jwt")]
            Err(super::refusal::Refusal::NoKeys) => true,
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
