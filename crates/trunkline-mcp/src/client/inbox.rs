//! The recipient of the server's notifications and requests, whatever the transport.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::stream::Key;

use super::cache::Cache;
use super::config::McpClientConfig;
use super::form;
use super::handler::{Change, ClientHandler, Elicitation, Elicited, HandlerError, Sampling};
use super::message::{Notification, ServerRequest, raw, response};
use super::pending::{Pending, ProgressUpdate};
use super::server_task::TaskStates;
use super::tasks::Tasks;
use crate::protocol::{meta, method};

/// The shared state of a client that the server's messages concern.
pub(super) struct Inbox {
    pub(super) config: McpClientConfig,
    pub(super) pending: Pending,
    pub(super) cache: Cache,
    pub(super) tasks: Tasks,
    /// The requests of the server that are being answered.
    answers: Mutex<HashMap<Key, CancellationToken>>,
    /// A permit for each request until its response is sent.
    responding: Arc<Semaphore>,
    /// The subscriptions that the server has not acknowledged yet, by the ids of their requests.
    subscriptions: Mutex<HashMap<i64, oneshot::Sender<Honoured>>>,
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
            tasks: Tasks::default(),
            answers: Mutex::default(),
            responding: Arc::new(Semaphore::new(config.max_requests.saturating_add(REFUSALS))),
            subscriptions: Mutex::default(),
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
        let mut subscriptions = self.subscriptions();
        subscriptions.retain(|_, sender| !sender.is_closed());
        subscriptions.insert(id, sender);
        receiver
    }

    fn subscriptions(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Honoured>>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles a notification. Those that are unknown or malformed are ignored. `related` is the request on whose
    /// stream it arrived.
    pub(super) fn notify(&self, notification: &Notification, related: Option<i64>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Progress {
            progress_token: i64,
        }
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled {
            request_id: Box<RawValue>,
        }
        let params = notification.params.as_deref().unwrap_or(RawValue::NULL);
        match &*notification.method {
            method::PROGRESS => {
                let update = read::<ProgressUpdate>(params).zip(read::<Progress>(params));
                if let Some((update, Progress { progress_token })) = update {
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
                if let Some(Cancelled { request_id }) = read(params)
                    && let Some(answer) = self.answers().get(&Key::of(request_id.get()))
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
        let subscription = id.and_then(|id| self.subscriptions().remove(&id));
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
            method::ELICIT => Box::pin(elicit(handler, params)),
            method::SAMPLE if features.sampling => Box::pin(sample(handler, params)),
            method::ROOTS if features.roots => Box::pin(async {
                let roots = handler.roots().await?;
                Ok(raw(&json!({ "roots": roots })))
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

    fn answers(&self) -> MutexGuard<'_, HashMap<Key, CancellationToken>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A request of the server that is being answered.
struct Answering<'i> {
    inbox: &'i Inbox,
    key: Key,
    cancelled: CancellationToken,
}

impl<'i> Answering<'i> {
    /// `None` if too many requests are being answered, or one with the same id.
    fn begin(inbox: &'i Inbox, key: Key) -> Option<Self> {
        let mut answers = inbox.answers();
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
        self.inbox.answers().remove(&self.key);
    }
}

async fn elicit(
    handler: &dyn ClientHandler,
    params: &RawValue,
) -> Result<Box<RawValue>, HandlerError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        mode: Option<String>,
        message: String,
        requested_schema: Option<Box<RawValue>>,
        url: Option<String>,
    }
    let features = handler.features();
    let Params { mode, message, requested_schema, url } = parse(params)?;
    let missing = |member: &str| HandlerError::Invalid(format!("`{member}` is missing"));
    match mode.as_deref() {
        _ if !features.forms && !features.urls => Err(HandlerError::Unsupported),
        None | Some("form") if features.forms => {
            let schema = requested_schema.ok_or_else(|| missing("requestedSchema"))?;
            let form = Elicitation::Form { message, schema: schema.clone() };
            let elicited = match handler.elicit(form).await? {
                Elicited::Accept(content) => Elicited::Accept(form::complete(&schema, content)?),
                refused => refused,
            };
            Ok(elicited.into_result(true))
        }
        Some("url") if features.urls => {
            let url = url.ok_or_else(|| missing("url"))?;
            let elicited = handler.elicit(Elicitation::Url { message, url }).await?;
            Ok(elicited.into_result(false))
        }
        // "Error Handling".
        _ => Err(HandlerError::Invalid("`mode` is not one of the capabilities".to_owned())),
    }
}

async fn sample(
    handler: &dyn ClientHandler,
    params: &RawValue,
) -> Result<Box<RawValue>, HandlerError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Tools {
        tools: Option<IgnoredAny>,
        tool_choice: Option<IgnoredAny>,
    }
    let Tools { tools, tool_choice } = parse(params)?;
    if !handler.features().sampling_tools && (tools.is_some() || tool_choice.is_some()) {
        let reason = "`tools` and `toolChoice` require the capability `sampling.tools`";
        return Err(HandlerError::Invalid(reason.to_owned()));
    }
    let mut sampling: Sampling = parse(params)?;
    sampling.params = params.to_owned();
    Ok(handler.sample(sampling).await?.result)
}

fn read<T: DeserializeOwned>(params: &RawValue) -> Option<T> {
    let read = serde_json::from_str(params.get());
    read.inspect_err(|error| tracing::debug!(%error, "ignoring a malformed notification")).ok()
}

fn parse<T: DeserializeOwned>(params: &RawValue) -> Result<T, HandlerError> {
    serde_json::from_str(params.get())
        .map_err(|error| HandlerError::Invalid(format!("malformed params: {error}")))
}
