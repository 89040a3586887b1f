//! Subscriptions of clients to changes of lists and resources.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use trunkline::{ErrorObject, Id};

use crate::changes::{ChangeSet, ChangedResource};
use crate::lock::Lock;
use crate::model::notification;
use crate::protocol::{meta, method};
use crate::resource::decoded;
use crate::task::TaskRecord;

/// The subscriptions of all connected clients.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    members: Lock<Vec<Weak<Subscription>>>,
    other_nodes: OnceLock<OtherNodes>,
}

/// A function that announces changes to other nodes.
struct OtherNodes(Box<dyn Fn(ChangeSet) + Send + Sync>);

debug_fields!(OtherNodes:);

/// A resource to which clients have subscribed. See [`McpOperation::on_subscribe`](crate::McpOperation::on_subscribe).
#[derive(Debug, Clone)]
pub struct SubscribedResource {
    uri: Arc<str>,
    subscribers: Weak<Subscribers>,
}

/// The future of a function that is called for a subscription.
pub type SubscriptionFuture = BoxFuture<'static, Result<(), ErrorObject>>;

/// A function that is called for a subscription. An extension of the description of an operation.
pub(crate) struct OnSubscribe(
    pub(crate) Box<dyn Fn(SubscribedResource) -> SubscriptionFuture + Send + Sync>,
);

debug_fields!(OnSubscribe:);

impl SubscribedResource {
    pub(crate) fn new(uri: &str, subscribers: &Arc<Subscribers>) -> Self {
        Self { uri: uri.into(), subscribers: Arc::downgrade(subscribers) }
    }

    /// The URI.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Notifies the clients that the resource has changed.
    pub fn updated(&self) {
        if let Some(subscribers) = self.subscribers.upgrade() {
            subscribers.notify_changes(ChangeSet::of([one(&self.uri)]));
        }
    }

    /// Whether a client subscribes to the resource.
    #[must_use]
    pub fn is_subscribed(&self) -> bool {
        self.subscribers.upgrade().is_some_and(|subscribers| subscribers.has_resource(&self.uri))
    }

    /// Whether both are the same resource of the same server.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.uri == other.uri && self.subscribers.ptr_eq(&other.subscribers)
    }
}

/// Notifies the clients of a server of changes. A client that does not read its notifications receives one for several
/// changes. Clones belong to the same server, and do not keep it alive.
#[derive(Debug, Clone)]
pub struct Notifier(Arc<Subscribers>);

impl Notifier {
    pub(crate) fn new(subscribers: &Arc<Subscribers>) -> Self {
        Self(Arc::clone(subscribers))
    }

    /// Notifies the clients that have subscribed to a resource that it has changed.
    pub fn resource_updated(&self, uri: &str) {
        self.0.notify_changes(ChangeSet::of([one(uri)]));
    }

    /// Notifies the clients that have subscribed to changed resources.
    pub fn resources_updated(&self, changed: impl IntoIterator<Item = ChangedResource>) {
        self.0.notify_changes(ChangeSet::of(changed));
    }

    /// Notifies the clients that the list of resources has changed. The server announces these notifications if
    /// [`McpConfig::resource_list_changes`](crate::McpConfig::resource_list_changes) is set.
    pub fn resource_list_changed(&self) {
        self.0.notify_changes(ChangeSet { resource_list: true, ..ChangeSet::default() });
    }

    /// Notifies the clients that the lists of tools, prompts and resources have changed, for example because access
    /// rules were [replaced](trunkline::layers::authorize::SharedRules::replace). The server announces these
    /// notifications if [`McpConfig::list_changes`](crate::McpConfig::list_changes) is set.
    pub fn lists_changed(&self) {
        let lists =
            ChangeSet { tools: true, prompts: true, resource_list: true, ..ChangeSet::default() };
        self.0.notify_changes(lists);
    }
}

/// The changes of which a client is notified. Changes that it has not read are merged, so that a client that does not
/// read takes no memory.
#[derive(Debug)]
pub(crate) struct Subscription {
    /// The id of the request, in the stateless era.
    id: Option<Id>,
    /// The interval at which clients poll tasks.
    poll_interval: Duration,
    state: Lock<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    wanted: Filter,
    pending: Filter,
    /// The tasks that have changed, by id. Their results are those of the store, not copies.
    tasks: BTreeMap<String, TaskRecord>,
}

/// The maximum size of the URIs of a client of the first era. Those of a request of the stateless era are limited with
/// its body.
const MAX_URI_BYTES: usize = 64 << 10;

/// A set of changes (2026-07-28, "Subscriptions", "Notification Filter").
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Filter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) resources_list_changed: bool,
    /// URIs of resources.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) resource_subscriptions: BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) task_ids: BTreeSet<String>,
}

impl Subscribers {
    /// Sets the function that announces changes to other nodes.
    pub(crate) fn announce_to(&self, announce: impl Fn(ChangeSet) + Send + Sync + 'static) {
        // A server joins once.
        drop(self.other_nodes.set(OtherNodes(Box::new(announce))));
    }

    /// Notifies the clients of all nodes that have subscribed to changes.
    pub(crate) fn notify_changes(&self, changes: ChangeSet) {
        if changes.is_empty() {
            return;
        }
        self.notify_own(&changes);
        if let Some(OtherNodes(announce)) = self.other_nodes.get() {
            announce(changes);
        }
    }

    /// Notifies the clients of this node that have subscribed to changes.
    pub(crate) fn notify_own(&self, changes: &ChangeSet) {
        self.notify(|state| state.add(changes));
    }

    /// Whether no client has a subscription.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.lock().iter().all(|member| member.strong_count() == 0)
    }

    fn has_resource(&self, uri: &str) -> bool {
        let mut members = self.members.lock();
        members.retain(|member| member.strong_count() > 0);
        let mut all = members.iter().filter_map(Weak::upgrade);
        all.any(|member| member.state.lock().wanted.resource_subscriptions.contains(uri))
    }

    /// Notifies the clients that have subscribed to a task.
    pub(crate) fn notify_task(&self, task: &TaskRecord) {
        self.notify(|state| {
            if state.wanted.task_ids.contains(&task.id) {
                state.tasks.insert(task.id.clone(), task.clone());
            }
        });
    }

    /// Adds a subscription, unless it is present. It ends when it is dropped.
    pub(crate) fn add(&self, client: &Arc<Subscription>) {
        let client = Arc::downgrade(client);
        let mut members = self.members.lock();
        members.retain(|member| member.strong_count() > 0 && !member.ptr_eq(&client));
        members.push(client);
    }

    fn notify(&self, change: impl Fn(&mut State)) {
        for member in self.members.lock().iter().filter_map(Weak::upgrade) {
            let mut state = member.state.lock();
            change(&mut state);
            if state.pending != Filter::default() || !state.tasks.is_empty() {
                member.changed.notify_one();
            }
        }
    }
}

/// The resource with this URI.
fn one(uri: &str) -> ChangedResource {
    ChangedResource::One(decoded(uri).map_or_else(|| uri.to_owned(), Cow::into_owned))
}

impl State {
    fn add(&mut self, changes: &ChangeSet) {
        let Self { wanted, pending, .. } = self;
        pending.tools_list_changed |= wanted.tools_list_changed && changes.tools;
        pending.prompts_list_changed |= wanted.prompts_list_changed && changes.prompts;
        pending.resources_list_changed |= wanted.resources_list_changed && changes.resource_list;
        let changed = wanted.resource_subscriptions.iter().filter(|uri| changes.affects(uri));
        pending.resource_subscriptions.extend(changed.cloned());
    }
}

impl Subscription {
    /// The subscription of a client of the first era: to all lists, and to the resources that it adds.
    pub(crate) fn to_lists() -> Self {
        let wanted = Filter {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            ..Filter::default()
        };
        Self::new(None, wanted, Duration::ZERO)
    }

    /// The subscription of a request of the stateless era.
    pub(crate) fn of_request(id: Id, wanted: Filter, poll_interval: Duration) -> Self {
        Self::new(Some(id), wanted, poll_interval)
    }

    fn new(id: Option<Id>, wanted: Filter, poll_interval: Duration) -> Self {
        let state = Lock::new(State { wanted, ..State::default() });
        Self { id, poll_interval, state, changed: Notify::new() }
    }

    /// Adds the subscribed changes of a set to those of which the client is notified.
    pub(crate) fn add_changes(&self, changes: &ChangeSet) {
        self.state.lock().add(changes);
        self.changed.notify_one();
    }

    /// Sets the resources. Returns those that are new.
    pub(crate) fn set_resources(&self, uris: &BTreeSet<String>) -> Vec<String> {
        let mut state = self.state.lock();
        let new = uris.difference(&state.wanted.resource_subscriptions).cloned().collect();
        state.wanted.resource_subscriptions.clone_from(uris);
        state.pending.resource_subscriptions.retain(|uri| uris.contains(uri));
        new
    }

    /// The resources.
    pub(crate) fn resources(&self) -> BTreeSet<String> {
        self.state.lock().wanted.resource_subscriptions.clone()
    }

    /// Adds a resource. `false` if there are `max` already, or their URIs are too long.
    pub(crate) fn add_resource(&self, uri: &str, max: usize) -> bool {
        let uris = &mut self.state.lock().wanted.resource_subscriptions;
        if uris.contains(uri) {
            return true;
        }
        let bytes = uris.iter().map(String::len).sum::<usize>() + uri.len();
        uris.len() < max && bytes <= MAX_URI_BYTES && uris.insert(uri.to_owned())
    }

    /// Removes a resource, and a notification about it that was not read.
    pub(crate) fn remove_resource(&self, uri: &str) {
        let mut state = self.state.lock();
        state.wanted.resource_subscriptions.remove(uri);
        state.pending.resource_subscriptions.remove(uri);
    }

    /// Adds the current state of a task, unless a later one is pending.
    pub(crate) fn add_task(&self, task: TaskRecord) {
        self.state.lock().tasks.entry(task.id.clone()).or_insert(task);
        self.changed.notify_one();
    }

    /// Waits for the next notification: its JSON text.
    ///
    /// # Cancel safety
    /// No notification is lost when the future is dropped.
    pub(crate) async fn next(&self) -> Vec<u8> {
        loop {
            if let Some(message) = self.take() {
                return message;
            }
            self.changed.notified().await;
        }
    }

    /// The first message of a subscription of the stateless era.
    pub(crate) fn acknowledgement(&self) -> Vec<u8> {
        let wanted = self.state.lock().wanted.clone();
        self.message(method::ACKNOWLEDGED, [("notifications", json!(wanted))])
    }

    fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        let State { pending, tasks, .. } = &mut *state;
        for (flag, method) in [
            (&mut pending.tools_list_changed, method::TOOLS_CHANGED),
            (&mut pending.prompts_list_changed, method::PROMPTS_CHANGED),
            (&mut pending.resources_list_changed, method::RESOURCES_CHANGED),
        ] {
            if std::mem::take(flag) {
                return Some(self.message(method, []));
            }
        }
        if let Some((_, task)) = tasks.pop_first() {
            return Some(self.task_message(&task));
        }
        let uri = pending.resource_subscriptions.pop_first()?;
        Some(self.message(method::RESOURCE_UPDATED, [("uri", uri.into())]))
    }

    /// The notification of a task, which may be large.
    fn task_message(&self, task: &TaskRecord) -> Vec<u8> {
        let id = self.id.as_ref().map_or("null", Id::as_raw);
        let (method, key) = (method::TASK_CHANGED, meta::SUBSCRIPTION_ID);
        let mut message = format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"{key}":{id}}},"#
        )
        .into_bytes();
        task.write_detailed(&mut message, self.poll_interval);
        message.extend_from_slice(b"}}");
        message
    }

    fn message<const N: usize>(&self, method: &str, members: [(&str, Value); N]) -> Vec<u8> {
        let mut params = Map::new();
        if let Some(id) = &self.id {
            let id: Value = serde_json::from_str(id.as_raw()).unwrap_or_default();
            params.insert("_meta".to_owned(), json!({ meta::SUBSCRIPTION_ID: id }));
        }
        params.extend(members.map(|(name, value)| (name.to_owned(), value)));
        notification(method, (!params.is_empty()).then_some(&params))
    }
}
