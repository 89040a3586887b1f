//! HTTP+SSE, the transport of 2024-11-05: the server's messages are events of one stream, and the client's are posted
//! to the path that the first event names.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Uri};
use tokio::time::timeout;
use trunkline::client::http::Reply;
use trunkline::client::{Failure, ProtocolError};
use trunkline::http::MessageEvent;

use super::channel::{Channel, Sender};
use super::error::{Error, RequestError};
use super::http_endpoint::{EventStream, HttpEndpoint};
use crate::on_drop::OnDrop;

/// Opens the stream, and waits for its first event.
pub(super) async fn open(endpoint: &HttpEndpoint, limit: Duration) -> Result<Channel, Error> {
    let opening = async {
        let mut stream = endpoint.get(HeaderMap::new(), None).await?;
        let status = stream.status();
        let error = |error: Failure| RequestError::with_status(error, status);
        let reason = |reason: &str| ProtocolError::Result { reason: reason.to_owned() };
        let path = match stream.next().await.map_err(error)? {
            Some(MessageEvent { name, data, .. }) if name == "endpoint" => {
                path_at(&data, &endpoint.url())
                    .ok_or_else(|| reason("`endpoint` of the event stream is another server"))
            }
            _ => Err(reason("the event stream does not begin with `endpoint`")),
        };
        let path = path.map_err(|reason| error(reason.into()))?;
        Ok::<_, Error>((stream, endpoint.at_path(&path)?))
    };
    let (stream, messages) = timeout(limit, opening).await.unwrap_or_else(|_| {
        let (target, after) = (endpoint.origin(), limit);
        Err(trunkline::client::TransportError::Timeout { target, after, source: None }.into())
    })?;
    let inbox = Arc::clone(&endpoint.inbox);
    let channel = Channel::new(endpoint.origin(), Arc::clone(&inbox), Box::new(messages), None);
    inbox.tasks.spawn(read(channel.clone(), stream));
    Ok(channel)
}

async fn read(channel: Channel, mut stream: EventStream) {
    // Also when the task is cancelled.
    let _end = OnDrop::new(|| channel.end(None));
    loop {
        match stream.next_message().await {
            Ok(Some(message)) => channel.receive(&message),
            Ok(None) => return,
            Err(failure) => return channel.end(Some(failure)),
        }
    }
}

impl Sender for HttpEndpoint {
    fn send(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let reply = self.post(HeaderMap::new(), message).await?;
            let status = reply.status;
            if status.is_success() {
                return Ok(());
            }
            Err(RequestError::with_status(refusal(reply).await, status).into())
        })
    }
}

async fn refusal(reply: Reply) -> Failure {
    let status = reply.status;
    match reply.json().await {
        Err(failure) => failure,
        Ok(body) => {
            let beginning = body.unwrap_or_default();
            let beginning = String::from_utf8_lossy(&beginning[..beginning.len().min(200)]);
            ProtocolError::Refused { status, beginning: beginning.into_owned() }.into()
        }
    }
}

/// The path and query of a URI reference, if it is of the same server.
fn path_at(reference: &str, base: &str) -> Option<String> {
    let base: Uri = base.parse().ok()?;
    let reference = reference.trim();
    if reference.contains("://") {
        let uri: Uri = reference.parse().ok()?;
        let is_same = uri.scheme() == base.scheme() && uri.authority() == base.authority();
        return is_same.then(|| uri.path_and_query().map_or("/".to_owned(), ToString::to_string));
    }
    if reference.starts_with("//") {
        return None;
    }
    if reference.starts_with('/') {
        return Some(reference.to_owned());
    }
    let (folder, _) = base.path().rsplit_once('/')?;
    match reference.strip_prefix('?') {
        Some(_) => Some(format!("{}{reference}", base.path())),
        None => Some(format!("{folder}/{reference}")),
    }
}

#[cfg(test)]
mod tests {
    use super::path_at;

    #[test]
    fn endpoints_are_of_the_same_server() {
        for (reference, expected) in [
            ("/messages?id=7", Some("/messages?id=7")),
            ("messages?id=7", Some("/a/messages?id=7")),
            ("?id=7", Some("/a/sse?id=7")),
            ("http://h:1/m?id=7", Some("/m?id=7")),
            ("http://h:1", Some("/")),
            ("http://h/m", None),
            ("https://h:1/m", None),
            ("http://evil/m", None),
            ("http://h:1@evil/m", None),
            ("//evil/m", None),
        ] {
            assert_eq!(path_at(reference, "http://h:1/a/sse").as_deref(), expected, "{reference}");
        }
    }
}
