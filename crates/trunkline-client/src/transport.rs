//! The interface of transports.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use trunkline_core::id::Id;

use super::error::Failure;

/// A connection to one server that carries messages.
///
/// The client assigns ids, enforces timeouts and parses replies; a transport only moves bytes. It needs no
/// timeout: the future of a message is dropped when the call times out.
pub trait Transport: Send + Sync + 'static {
    /// Sends a message and returns the body of the reply: a response object, or an array of response
    /// objects for a batch. `None` if the server accepted the message and sends no reply.
    ///
    /// Dropping the future cancels the message, and notifies the server if the transport supports it.
    fn send(&self, message: Message) -> TransportFuture<'_>;

    /// The name of the server in error messages: `http://127.0.0.1:8080`.
    fn target(&self) -> Cow<'_, str>;
}

/// A transport selected at run time.
impl<T: Transport + ?Sized> Transport for Box<T> {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        (**self).send(message)
    }

    fn target(&self) -> Cow<'_, str> {
        (**self).target()
    }
}

/// A transport shared by several clients.
impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        (**self).send(message)
    }

    fn target(&self) -> Cow<'_, str> {
        (**self).target()
    }
}

/// The future reply of a [`Transport`].
pub type TransportFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Bytes>, Failure>> + Send + 'a>>;

/// An outgoing message: a request, a notification, or a batch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Message {
    /// The JSON text.
    pub body: Bytes,
    /// The ids of the expected responses. Empty if no reply is expected.
    pub ids: Vec<Id>,
    /// The headers from the extensions of the calls, for transports that have headers.
    pub headers: HeaderMap,
}
