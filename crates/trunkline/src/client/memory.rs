use std::borrow::Cow;

use trunkline_core::extensions::Extensions;

use super::transport::{Message, Transport, TransportFuture};
use crate::rpc::Rpc;

/// The service itself, in this process: messages are read and replies written as for any other
/// transport, and nothing goes over a wire.
impl Transport for Rpc {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(async move {
            let reply = self.handle(message.body, Extensions::through("memory")).await;
            Ok(reply.into_json().map(Into::into))
        })
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed("the service in this process")
    }
}
