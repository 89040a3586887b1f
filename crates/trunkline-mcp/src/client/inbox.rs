//! The recipient of the server's notifications and requests, whatever the transport.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::stream::Key;

use super::cache::Cache;
use super::config::McpClientConfig;
use super::handler::{Change, ClientHandler, HandlerError};
use super::message::{Notification, ServerRequest, response};
use super::pending::Pending;
use super::server_task::TaskStates;
use crate::lock::Lock;
use crate::model::{
    CancelledParams, CreateMessageRequest, ElicitRequest, FormSchema, ListRootsResult,
    ProgressParams, raw,
};
use crate::protocol::{meta, method};
use crate::task_group::TaskGroup;

/// The shared state of a client that the server's messages concern.
pub(super) struct Inbox {
    pub(super) config: McpClientConfig,
    pub(super) pending: Pending,
    pub(super) cache: Cache,
    pub(super) tasks: TaskGroup,
    /// The requests of the server that are being answered.
    answers: Lock<HashMap<Key, CancellationToken>>,
    /// A permit for each request until its response is sent.
    responding: Arc<Semaphore>,
    /// The subscriptions that the server has not acknowledged yet, by the ids of their requests.
    subscriptions: Lock<HashMap<i64, oneshot::Sender<Honoured>>>,
    /// The last states of the tasks for which the client waits.
    pub(super) task_states: TaskStates,
    /// Since 2026-07-28, servers send no requests.
    is_modern: AtomicBool,
}

/// The acknowledged part of a subscription ("Subscriptions").
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Honoured {
    /// The URIs of resources.
    #[serde(default)]
    pub(super) resource_subscriptions: Vec<String>,
    /// The ids of tasks.
    #[serde(default)]
    pub(super) task_ids: Vec<String>,
}

/// The maximum number of refusals that wait to be sent.
const REFUSALS: usize = 64;
/// The time limit for sending a response.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a response to the server, in bytes.
const MAX_RESPONSE: usize = 4 << 20;

impl Inbox {
    pub(super) fn new(config: McpClientConfig) -> Self {
        Self {
            pending: Pending::new(config.handler_timeout),
            cache: Cache::new(config.cache_bytes),
            tasks: TaskGroup::default(),
            answers: Lock::default(),
            responding: Arc::new(Semaphore::new(config.max_requests.saturating_add(REFUSALS))),
            subscriptions: Lock::default(),
            task_states: TaskStates::default(),
            is_modern: AtomicBool::new(true),
            config,
        }
    }

    pub(super) fn is_modern(&self) -> bool {
        self.is_modern.load(Ordering::Relaxed)
    }

    pub(super) fn set_modern(&self, is_modern: bool) {
        self.is_modern.store(is_modern, Ordering::Relaxed);
    }

    /// Receives the acknowledgement of the subscription with this id.
    pub(super) fn acknowledgement(&self, id: i64) -> oneshot::Receiver<Honoured> {
        let (sender, receiver) = oneshot::channel();
        let mut subscriptions = self.subscriptions.lock();
        subscriptions.retain(|_, sender| !sender.is_closed());
        subscriptions.insert(id, sender);
        receiver
    }

    /// Handles a notification. Those that are unknown or malformed are ignored. `related` is the request on whose
    /// stream it arrived.
    pub(super) fn notify(&self, notification: &Notification, related: Option<i64>) {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        let params = notification.params.as_deref().unwrap_or(RawValue::NULL);
        match &*notification.method {
            method::PROGRESS => {
                if let Some(ProgressParams { progress_token, update }) = read(params) {
                    self.pending.progress(progress_token, update);
                }
            }
            method::MESSAGE => {
                if let Some(message) = read(params) {
                    let handler = self.pending.handler(related).ok().flatten();
                    handler.as_ref().unwrap_or(&self.config.handler).log(message);
                }
            }
            method::TOOLS_CHANGED => self.change(Change::Tools),
            method::RESOURCES_CHANGED => self.change(Change::Resources),
            method::PROMPTS_CHANGED => self.change(Change::Prompts),
            method::RESOURCE_UPDATED => {
                if let Some(Updated { uri }) = read(params) {
                    self.change(Change::Resource(uri));
                }
            }
            method::CANCELLED => {
                if let Some(CancelledParams { request_id }) =
                    read::<CancelledParams<&RawValue>>(params)
                    && let Some(answer) = self.answers.lock().get(&Key::of(request_id.get()))
                {
                    answer.cancel();
                }
            }
            method::TASK_CHANGED => self.task_states.set(params),
            method::ACKNOWLEDGED => self.acknowledge(params),
            unknown => tracing::debug!(method = unknown, "ignoring a notification"),
        }
    }

    /// Removes the cached results that a change concerns, and reports it.
    pub(super) fn change(&self, change: Change) {
        self.cache.invalidate(&change);
        self.config.handler.changed(change);
    }

    fn acknowledge(&self, params: &RawValue) {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta")]
            meta: HashMap<String, Box<RawValue>>,
            notifications: Honoured,
        }
        let Some(Params { meta, notifications }) = read(params) else { return };
        let id = meta.get(meta::SUBSCRIPTION_ID).and_then(|id| id.get().parse::<i64>().ok());
        let subscription = id.and_then(|id| self.subscriptions.lock().remove(&id));
        if let Some(subscription) = subscription {
            // It may have ended.
            drop(subscription.send(notifications));
        }
    }

    /// Answers a request of the server in a task, which `send`s the response. Ignores the request if too many responses
    /// wait to be sent. `related` is the request on whose stream it arrived.
    pub(super) fn answer<F>(
        self: &Arc<Self>,
        request: ServerRequest,
        related: Option<i64>,
        send: impl FnOnce(Bytes) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send,
    {
        if self.is_modern() {
            return tracing::debug!(method = request.method, "ignoring a request of the server");
        }
        let Ok(permit) = Arc::clone(&self.responding).try_acquire_owned() else {
            return tracing::debug!("ignoring a request of the server: too many are unanswered");
        };
        let inbox = Arc::clone(self);
        self.tasks.spawn(async move {
            let _permit = permit;
            if let Some(response) = inbox.response(&request, related).await
                && timeout(SEND_TIMEOUT, send(response)).await.is_err()
            {
                tracing::debug!("cannot send a response in time");
            }
        });
    }

    /// The response to a request, unless the server cancels it.
    async fn response(&self, request: &ServerRequest, related: Option<i64>) -> Option<Bytes> {
        let answering = Answering::begin(self, Key::of(request.id.get()));
        let result = match &answering {
            _ if request.method == method::PING => Ok(raw(&json!({}))),
            None => Err(HandlerError::Busy),
            Some(answering) => {
                let answer = async {
                    let handler = self.pending.handler(related);
                    let handler = handler.map_err(|_| HandlerError::Ambiguous)?;
                    self.fulfil(&request.method, request.params.as_deref(), handler.as_ref()).await
                };
                answering.cancelled.run_until_cancelled(answer).await?
            }
        };
        let result = result.as_deref().map_err(|error| {
            tracing::debug!(method = request.method, %error, "refusing a request of the server");
            error.object()
        });
        Some(response(&request.id, result.as_ref().map(|result| *result)))
    }

    /// Obtains the result of a request of the server from a handler, or from that of the configuration.
    pub(super) async fn fulfil(
        &self,
        method: &str,
        params: Option<&RawValue>,
        handler: Option<&Arc<dyn ClientHandler>>,
    ) -> Result<Box<RawValue>, HandlerError> {
        let _pause = self.pending.pause();
        let handler = &**handler.unwrap_or(&self.config.handler);
        let features = handler.features();
        let params = params.unwrap_or(RawValue::NULL);
        let answer: BoxFuture<'_, Result<Box<RawValue>, HandlerError>> = match method {
            method::ELICIT if features.forms || features.urls => Box::pin(elicit(handler, params)),
            method::SAMPLE if features.sampling => Box::pin(sample(handler, params)),
            method::ROOTS if features.roots => Box::pin(async {
                let roots = handler.roots().await?;
                Ok(raw(&ListRootsResult { roots }))
            }),
            _ => return Err(HandlerError::Unsupported),
        };
        let answer = timeout(self.config.handler_timeout, answer).await;
        let answer = answer.map_err(|_| HandlerError::Timeout)??;
        if answer.get().len() > MAX_RESPONSE {
            return Err(HandlerError::Invalid(format!("answer exceeds {MAX_RESPONSE} bytes")));
        }
        Ok(answer)
    }
}

debug_fields!(Inbox: config);

/// A request of the server that is being answered.
struct Answering<'i> {
    inbox: &'i Inbox,
    key: Key,
    cancelled: CancellationToken,
}

impl<'i> Answering<'i> {
    /// `None` if too many requests are being answered, or one with the same id.
    fn begin(inbox: &'i Inbox, key: Key) -> Option<Self> {
        let mut answers = inbox.answers.lock();
        if answers.len() >= inbox.config.max_requests || answers.contains_key(&key) {
            return None;
        }
        let cancelled = CancellationToken::new();
        answers.insert(key.clone(), cancelled.clone());
        Some(Self { inbox, key, cancelled })
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.inbox.answers.lock().remove(&self.key);
    }
}

async fn elicit(
    handler: &dyn ClientHandler,
    params: &RawValue,
) -> Result<Box<RawValue>, HandlerError> {
    let (features, request) = (handler.features(), parse(params)?);
    match &request {
        ElicitRequest::Form { requested_schema, .. } if features.forms => {
            let form: FormSchema = serde_json::from_str(requested_schema.get())
                .map_err(|error| HandlerError::Invalid(format!("`requestedSchema`: {error}")))?;
            let answer = handler.elicit(request).await?;
            let complete = |content| form.complete(content).map_err(HandlerError::Invalid);
            Ok(raw(&answer.try_map(complete)?))
        }
        ElicitRequest::Url { .. } if features.urls => {
            let mut answer = json!(handler.elicit(request).await?);
            // Only the answer to a form has content.
            answer.as_object_mut().and_then(|members| members.remove("content"));
            Ok(raw(&answer))
        }
        // "Error Handling".
        _ => Err(HandlerError::Invalid("`mode` is not one of the capabilities".to_owned())),
    }
}

async fn sample(
    handler: &dyn ClientHandler,
    params: &RawValue,
) -> Result<Box<RawValue>, HandlerError> {
    let request: CreateMessageRequest = parse(params)?;
    let has = |member: &str| request.options.get(member).is_some_and(|value| !value.is_null());
    if !handler.features().sampling_tools && (has("tools") || has("toolChoice")) {
        let reason = "`tools` and `toolChoice` require the capability `sampling.tools`";
        return Err(HandlerError::Invalid(reason.to_owned()));
    }
    Ok(raw(&handler.sample(request).await?))
}

fn read<'p, T: Deserialize<'p>>(params: &'p RawValue) -> Option<T> {
    let read = serde_json::from_str(params.get());
    read.inspect_err(|error| tracing::debug!(%error, "ignoring a malformed notification")).ok()
}

fn parse<T: DeserializeOwned>(params: &RawValue) -> Result<T, HandlerError> {
    serde_json::from_str(params.get())
        .map_err(|error| HandlerError::Invalid(format!("malformed params: {error}")))
}
