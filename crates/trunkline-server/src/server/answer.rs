//! The service of a server: an [`HttpService`], or any tower service.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tower::{Service, ServiceExt};

use trunkline_core::format::Format;

use crate::http::{HttpService, Peer, ReplyBody};

/// A service that answers HTTP requests.
pub(super) trait Answer: Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    fn answer(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// The formats of JSON-RPC.
    fn formats(&self) -> &'static [Format] {
        &[Format::Json]
    }
}

/// Avoids the boxed future of the tower service.
impl Answer for HttpService {
    type Body = ReplyBody;

    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<ReplyBody> {
        self.handle_from(request, Some(peer)).await
    }

    fn formats(&self) -> &'static [Format] {
        HttpService::formats(self)
    }
}

/// A tower service of HTTP requests, which have a [`Peer`] in their extensions.
pub(super) struct Tower<S>(pub(super) S);

impl<S, B> Answer for Tower<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Body = B;

    async fn answer(&self, mut request: Request<Incoming>, peer: SocketAddr) -> Response<B> {
        request.extensions_mut().insert(Peer(Some(peer)));
        let Ok(response) = self.0.clone().oneshot(request).await;
        response
    }
}
