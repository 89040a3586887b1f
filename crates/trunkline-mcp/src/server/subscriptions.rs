//! Subscriptions of clients to changes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::timeout;
use trunkline::protocol::CallFuture;
use trunkline::{Call, ErrorObject, Id, Outcome, code};

use super::context::Context;
use super::prebuilt::Declared;
use super::tasks::{owner, require_tasks};
use super::{Server, StartedCall};
use crate::era::Transport;
use crate::fault::Fault;
use crate::message_queue::{Message, MessageQueue};
use crate::nodes::SessionChange;
use crate::protocol::error_code::RESOURCE_NOT_FOUND;
use crate::protocol::{meta, method};
use crate::request::{is_object, members, string};
use crate::resource::Found;
use crate::session::Session;
use crate::subscription::{Filter, OnSubscribe, SubscribedResource, Subscription};

impl Server {
    /// Adds a resource to the subscription of a session, if the caller may read it.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        call: &Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let uri = self.uri(call)?.into_owned();
        let session = context.session.ok_or(Fault::Request(NO_SESSION))?;
        let session = Arc::clone(session);
        let (server, call) = (Arc::clone(self), call.duplicate());
        let future = CallFuture::from_future(async move {
            let subscription = &session.subscription;
            let added = match server.check_access(&call, &uri).await {
                Access::Allowed
                    if subscription.add_resource(&uri, server.settings.subscriptions) =>
                {
                    // A client may open its stream of notifications later.
                    server.subscribers.add(subscription);
                    match server.share_subscription(&session, &uri).await {
                        Ok(()) => return Outcome::result(&json!({})),
                        Err(error) => {
                            subscription.remove_resource(&uri);
                            error
                        }
                    }
                }
                Access::Allowed => Fault::Params(TOO_MANY).error(),
                Access::Refused(error) => error,
                Access::Unknown => Fault::UnknownResource { uri, code: RESOURCE_NOT_FOUND }.error(),
            };
            Outcome::error(added)
        });
        Ok(future.into())
    }

    /// Calls the function of a resource for subscriptions, and adds the subscription on all nodes.
    async fn share_subscription(&self, session: &Session, uri: &str) -> Result<(), ErrorObject> {
        self.begin_subscription(uri).await?;
        if session.shared().is_none() {
            session.save();
            return Ok(());
        }
        // It is added again, since it may have been removed while the state of another node was read.
        session.change(SessionChange::Subscribe(uri.to_owned()), self.settings.subscriptions).await
    }

    /// Whether the caller may read a resource. The layers of its operation decide; the operation itself does not run.
    async fn check_access(&self, call: &Call, uri: &str) -> Access {
        let Some(Found { source, params }) = self.catalog.find_resource(uri) else {
            return Access::Unknown;
        };
        let (call, operation) = (call.duplicate(), Arc::clone(&source.operation));
        let call = match params {
            Some(params) => match call.redirect_with(operation, &params) {
                Ok(call) => call,
                Err(_) => return Access::Unknown,
            },
            None => call.redirect_to(operation, None),
        };
        let reached = ErrorObject::new(code::CANCELLED, "Not run");
        let Ok(outcome) = self.rpc.run(call.with_refusal(reached)).await;
        match outcome.as_result() {
            Err(error) if error.code() != code::CANCELLED => Access::Refused(error.clone()),
            _ => Access::Allowed,
        }
    }

    /// Calls the function of a resource for subscriptions, if it has one.
    pub(super) async fn begin_subscription(&self, uri: &str) -> Result<(), ErrorObject> {
        let Some(Found { source, .. }) = self.catalog.find_resource(uri) else { return Ok(()) };
        let extensions = &source.operation.description().extensions;
        let Some(OnSubscribe(subscribe)) = extensions.get() else { return Ok(()) };
        let begun = subscribe(SubscribedResource::new(uri, &self.subscribers));
        let begun = timeout(self.settings.client_timeout, begun).await;
        begun.unwrap_or_else(|_| Err(ErrorObject::new(code::TIMEOUT, "Subscription timed out")))
    }

    /// Removes a resource from the subscription of a session.
    pub(super) fn unsubscribe(
        &self,
        call: &Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let uri = self.uri(call)?.into_owned();
        Ok(self.change_session(context.session, SessionChange::Unsubscribe(uri)))
    }

    /// Opens a subscription of the stateless era. The call ends when its client cancels it or has gone, or the server
    /// stops.
    pub(super) fn listen(
        self: &Arc<Self>,
        call: &Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        if let Transport::Http(fields) = context.transport
            && !fields.accepts_events()
        {
            return Err(Fault::Request(NO_EVENTS));
        }
        let [filter] = members(call, ["notifications"])?;
        let filter = filter.filter(|part| is_object(call, *part)).map(|part| call.text(part));
        let filter = filter.and_then(|json| serde_json::from_slice::<Filter>(json).ok());
        let filter = filter.ok_or(Fault::Params(BAD_FILTER))?;
        if !filter.task_ids.is_empty() {
            require_tasks(call, context.request)?;
        }
        let wanted = self.supported(filter);
        let count = wanted.resource_subscriptions.len() + wanted.task_ids.len();
        if count > self.settings.subscriptions {
            return Err(Fault::Params(TOO_MANY));
        }
        let id = call.id().ok_or(Fault::Request("a subscription needs an id"))?;
        let Ok(permit) = Arc::clone(&self.listeners).try_acquire_owned() else {
            return Err(Fault::Busy);
        };
        let messages = Arc::new(MessageQueue::default());
        let ended = context.session.map(|channel| channel.ended.clone()).unwrap_or_default();
        let is_channel = matches!(context.transport, Transport::Channel);
        let (server, call, queue) = (Arc::clone(self), call.duplicate(), Arc::clone(&messages));
        let future = CallFuture::from_future(async move {
            let _permit = permit;
            let closing = server.settings.closing.clone();
            tokio::select! {
                biased;
                () = closing.cancelled() => {}
                () = ended.cancelled() => {}
                error = server.notify(&call, id.clone(), wanted, &queue) => {
                    return Outcome::error(error);
                }
            }
            let raw: Value = serde_json::from_str(id.as_raw()).unwrap_or_default();
            if is_channel {
                // 2026-07-28, "Cancellation": required in addition to the result on stdio.
                queue.notify(method::CANCELLED, &json!({ "requestId": raw }));
            }
            Outcome::result(&json!({
                "resultType": "complete",
                "_meta": { meta::SUBSCRIPTION_ID: raw },
            }))
        });
        Ok(StartedCall { future, messages: Some(messages) })
    }

    /// Sends the notifications of a subscription, after the acknowledgement. Ends by being dropped, or with a temporary
    /// error before the acknowledgement.
    async fn notify(
        &self,
        call: &Call,
        id: Id,
        mut wanted: Filter,
        queue: &MessageQueue,
    ) -> ErrorObject {
        let mut allowed = BTreeSet::new();
        for uri in std::mem::take(&mut wanted.resource_subscriptions) {
            match self.check_access(call, &uri).await {
                // Without the resource, the client would not try again.
                Access::Refused(error) if error.is_temporary() => return error,
                Access::Refused(_) | Access::Unknown => {}
                Access::Allowed => {
                    allowed.insert(uri);
                }
            }
        }
        wanted.resource_subscriptions = allowed;
        let owner = owner(call);
        let tasks = self.find_tasks(&wanted.task_ids, owner.as_deref()).await;
        let ids: BTreeSet<String> = tasks.into_iter().map(|task| task.id).collect();
        wanted.task_ids.clone_from(&ids);
        let poll_interval = self.settings.tasks.poll_interval;
        let subscription = Subscription::of_request(id, wanted.clone(), poll_interval);
        let subscription = Arc::new(subscription);
        self.subscribers.add(&subscription);
        for uri in &wanted.resource_subscriptions {
            match self.begin_subscription(uri).await {
                Ok(()) => {}
                Err(error) if error.is_temporary() => return error,
                Err(error) => {
                    tracing::debug!(uri, %error, "a subscription is refused");
                    subscription.remove_resource(uri);
                }
            }
        }
        queue.send(subscription.acknowledgement().into()).await;
        // Changes before the subscription.
        for task in self.find_tasks(&ids, owner.as_deref()).await {
            subscription.add_task(task);
        }
        loop {
            let notification = subscription.next().await;
            if notification.len() <= MAX_UNCOUNTED {
                queue.send(notification.into()).await;
                continue;
            }
            match Message::reserved(&self.rpc.limits().memory, notification) {
                Ok(message) => queue.send(message).await,
                // Clients poll tasks, too.
                Err(error) => tracing::warn!(%error, "a notification of a task is dropped"),
            }
        }
    }

    /// The URI in the params of a request.
    pub(super) fn uri<'c>(&self, call: &'c Call) -> Result<Cow<'c, str>, Fault> {
        let [uri] = members(call, ["uri"])?;
        let uri = string(call, uri);
        let uri = uri.ok_or(Fault::Params("`uri` must be a string: the URI of the resource"))?;
        if uri.len() > self.settings.uri_bytes {
            return Err(Fault::Params("`uri` is too long"));
        }
        Ok(uri)
    }

    /// The part of a filter that this server supports.
    fn supported(&self, wanted: Filter) -> Filter {
        let has_lists = self.lists_change();
        let Declared { resources, prompts, tasks, .. } = self.catalog.declared();
        let uris = wanted.resource_subscriptions.into_iter();
        let short = |uri: &String| uri.len() <= self.settings.uri_bytes;
        Filter {
            tools_list_changed: wanted.tools_list_changed && has_lists,
            prompts_list_changed: wanted.prompts_list_changed && has_lists && prompts,
            resources_list_changed: wanted.resources_list_changed
                && (has_lists || self.settings.resource_list_changes)
                && resources,
            resource_subscriptions: if resources {
                uris.filter(short).collect()
            } else {
                BTreeSet::new()
            },
            task_ids: if tasks { wanted.task_ids } else { BTreeSet::new() },
        }
    }
}

/// Whether a caller may read a resource.
enum Access {
    Allowed,
    Refused(ErrorObject),
    /// The resource does not exist.
    Unknown,
}

/// The maximum size of a notification that does not count in the memory budget. Only those of tasks are larger.
const MAX_UNCOUNTED: usize = 16 << 10;

const NO_EVENTS: &str = "a subscription is an event stream; send `Accept: text/event-stream`";
const NO_SESSION: &str =
    "subscriptions need a session; send the `Mcp-Session-Id` that `initialize` returned";
const TOO_MANY: &str = "too many resources and tasks; subscribe to fewer";
const BAD_FILTER: &str = "`notifications` must be an object of the changes to listen to";
