//! The caller of an operation, which receives the messages and requests that an upstream sends during the call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use trunkline::access::Principal;
use trunkline::{Call, ErrorObject, FromCall};
use trunkline_mcp::client::{
    CallOptions, ClientHandler, HandlerError, HandlerFeatures, LogMessage, ProgressCallback,
};
use trunkline_mcp::{
    CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult, Log, Peer, PeerError,
    Progress, Root,
};

use crate::name::UpstreamName;

/// Extracts the caller.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) peer: Peer,
    pub(crate) owner: Option<String>,
    progress: Progress,
    log: Log,
}

/// A request of the upstream: sends it to a client, with this key, and passes the answer on. It may be sent repeatedly.
/// Dropped, it is refused.
pub(crate) type Question = Box<dyn Fn(Peer, String) -> BoxFuture<'static, ()> + Send + Sync>;

/// Passes the messages of an upstream in one call on to its caller, and its requests to the [`Question`]s.
pub(crate) struct Relay {
    upstream: UpstreamName,
    caller: Mutex<Caller>,
    questions: mpsc::Sender<Question>,
}

/// The maximum number of requests of the upstream that wait until the call reads them.
const MAX_UNREAD: usize = 16;

impl<S> FromCall<S> for Caller {
    fn from_call(call: &mut Call, state: &S) -> Result<Self, ErrorObject> {
        Ok(Self {
            peer: Peer::from_call(call, state)?,
            owner: Principal::of(call.extensions()).and_then(Principal::owner_key),
            progress: Progress::from_call(call, state)?,
            log: Log::from_call(call, state)?,
        })
    }
}

impl Relay {
    pub(crate) fn new(
        upstream: UpstreamName,
        caller: Caller,
    ) -> (Arc<Self>, mpsc::Receiver<Question>) {
        let (questions, receiver) = mpsc::channel(MAX_UNREAD);
        (Arc::new(Self { upstream, caller: Mutex::new(caller), questions }), receiver)
    }

    /// The options of the request to the upstream.
    pub(crate) fn options(self: &Arc<Self>) -> CallOptions {
        let mut options = CallOptions::default();
        let Caller { peer, owner, progress, log } = self.caller().clone();
        if progress.is_requested() {
            let relay = Arc::clone(self);
            options.progress = Some(ProgressCallback::new(move |update| {
                let progress = relay.caller().progress.clone();
                progress.report(update.progress, update.total, update.message.as_deref());
            }));
        }
        options.level = log.level();
        options.handler = Some(Arc::<Self>::clone(self));
        // Keys of principals are JSON arrays.
        let session = || peer.session_number().map(|number| format!("session {number}"));
        options.owner = owner.or_else(session);
        options
    }

    /// Replaces the caller by the next one of the same call.
    pub(crate) fn set_caller(&self, caller: Caller) {
        *self.caller() = caller;
    }

    fn caller(&self) -> MutexGuard<'_, Caller> {
        self.caller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text for the user, who should know which server asks.
    fn message(&self, message: &str) -> String {
        format!("{}: {message}", self.upstream)
    }

    /// Adds a question, and waits for its answer.
    fn ask<T, F>(
        &self,
        ask: impl Fn(Peer, String) -> F + Send + Sync + 'static,
    ) -> BoxFuture<'_, Result<T, HandlerError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, PeerError>> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        let sender = Arc::new(Mutex::new(Some(sender)));
        let ended = CancellationToken::new();
        // The upstream may cancel its request.
        let guard = ended.clone().drop_guard();
        let question: Question = Box::new(move |peer, key| {
            let (asked, sender) = (ask(peer, key), Arc::clone(&sender));
            let ended = ended.clone();
            Box::pin(async move {
                let Some(found) = ended.run_until_cancelled(asked).await else { return };
                let sender = sender.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(sender) = sender {
                    drop(sender.send(found.map_err(refusal)));
                }
            })
        });
        let sent = self.questions.try_send(question);
        Box::pin(async move {
            let _guard = guard;
            sent.map_err(|_full| HandlerError::Busy)?;
            answer.await.unwrap_or(Err(HandlerError::Busy))
        })
    }
}

impl ClientHandler for Relay {
    fn features(&self) -> HandlerFeatures {
        let peer = self.caller().peer.clone();
        let mut features = HandlerFeatures::default();
        features.forms = peer.supports("elicitation");
        features.urls = peer.supports("elicitation.url");
        features.sampling = peer.supports("sampling");
        features.sampling_tools = peer.supports("sampling.tools");
        features.roots = peer.supports("roots");
        features
    }

    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, Result<ElicitResult, HandlerError>> {
        match request {
            ElicitRequest::Form { message, requested_schema, .. } => {
                let message = self.message(&message);
                let schema: Value =
                    serde_json::from_str(requested_schema.get()).unwrap_or_default();
                self.ask(move |peer, key| {
                    let (message, schema) = (message.clone(), schema.clone());
                    async move { peer.elicit_form(&key, &message, schema).await }
                })
            }
            ElicitRequest::Url { message, url, .. } => {
                let message = self.message(&message);
                self.ask(move |peer, key| {
                    let (message, url) = (message.clone(), url.clone());
                    async move {
                        let answer = peer.elicit_url(&key, &message, &url).await?;
                        Ok(answer.map(|()| Map::new()))
                    }
                })
            }
            _ => Box::pin(async { Err(HandlerError::Unsupported) }),
        }
    }

    fn sample(
        &self,
        mut request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, HandlerError>> {
        // They concern the connection of the upstream, and that of the client.
        for member in ["_meta", "task"] {
            request.options.remove(member);
        }
        self.ask(move |peer, key| {
            let request = request.clone();
            async move {
                let mut found = peer.sample(&key, &request).await?;
                found.rest.clear();
                Ok(found)
            }
        })
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, HandlerError>> {
        self.ask(|peer, key| async move {
            let roots = peer.roots(&key).await?;
            Ok(roots)
        })
    }

    fn log(&self, message: LogMessage) {
        let logger = match &message.logger {
            Some(logger) => format!("{}/{logger}", self.upstream),
            None => self.upstream.to_string(),
        };
        let log = self.caller().log.clone();
        log.send_from(&logger, message.level, &message.data);
    }
}

fn refusal(error: PeerError) -> HandlerError {
    match error {
        PeerError::Unsupported(_) => HandlerError::Unsupported,
        PeerError::Refused { error, .. } => HandlerError::Refused(error.message().to_owned()),
        PeerError::Timeout { .. } => HandlerError::Timeout,
        PeerError::Busy => HandlerError::Busy,
        PeerError::Schema { .. } => HandlerError::Invalid(error.to_string()),
        other => HandlerError::Failed(other.into()),
    }
}
