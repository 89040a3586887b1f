use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use http::StatusCode;
use trunkline::client::{Http, Message, ProtocolError, Transport, TransportFuture};

/// HTTP for one call, which keeps what status the reply had: people are helped by it.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    http: Http,
    status: Arc<OnceLock<StatusCode>>,
}

impl Observed {
    pub(crate) fn new(http: Http) -> Self {
        Self { http, status: Arc::default() }
    }

    pub(crate) fn status(&self) -> Option<StatusCode> {
        self.status.get().copied()
    }
}

impl Transport for Observed {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(async move {
            let reply = self.http.post(message.headers, message.body).await?;
            let status = *self.status.get_or_init(|| reply.status);
            match reply.json().await? {
                None if !message.ids.is_empty() => Err(ProtocolError::Empty { status }.into()),
                body => Ok(body),
            }
        })
    }

    fn target(&self) -> Cow<'_, str> {
        self.http.target()
    }
}
