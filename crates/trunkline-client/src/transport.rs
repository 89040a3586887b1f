//! The interface of transports, and the one in memory.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use trunkline_core::id::Id;

use super::error::Failure;

/// Carries messages to one server.
///
/// The client numbers its calls, bounds every wait, and reads replies; a transport only moves bytes.
/// It needs no deadline: the future of a message is dropped when its time is up.
pub trait Transport: Send + Sync + 'static {
    /// Sends a message, and gives back the body that answers it: a response object, or for a batch an
    /// array of them; none if the server has taken it and answers nothing.
    ///
    /// Dropping the future cancels the message, and notifies the server if the transport can.
    fn send(&self, message: Message) -> TransportFuture<'_>;

    /// The server, as errors name it: `http://127.0.0.1:8080`.
    fn target(&self) -> Cow<'_, str>;
}

/// One of several, chosen at run time.
impl<T: Transport + ?Sized> Transport for Box<T> {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        (**self).send(message)
    }

    fn target(&self) -> Cow<'_, str> {
        (**self).target()
    }
}

/// One that several clients share.
impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        (**self).send(message)
    }

    fn target(&self) -> Cow<'_, str> {
        (**self).target()
    }
}

/// The reply of a [`Transport`], later.
pub type TransportFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Bytes>, Failure>> + Send + 'a>>;

/// A message on its way: a request, a notification, or a batch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Message {
    /// Its JSON text.
    pub body: Bytes,
    /// The ids that it is to be answered with. None: no reply is due.
    pub ids: Vec<Id>,
    /// Headers that layers have put into its calls' extensions, for transports that have headers.
    pub headers: HeaderMap,
}
