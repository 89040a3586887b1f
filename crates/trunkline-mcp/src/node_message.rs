//! Messages between nodes.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::changes::ChangeSet;
use crate::lock::Lock;
use crate::nodes::{Nodes, NodesError};
use crate::task_group::TaskGroup;

/// A message to the other nodes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeMessage {
    /// Lists or resources have changed.
    Changes(ChangeSet),
    /// The subscriptions or the log level of a session have changed.
    Session { session: String },
    /// A client has ended its session.
    Ended { session: String },
    /// A client has cancelled a call. `request` is its id as JSON.
    Cancel { session: String, request: String },
    /// The response to a request of the server, whose id as JSON is `request`.
    Response { session: String, request: String, body: String },
    /// A message of a client of HTTP+SSE. `claims` are those of the token of its sender, if there is one.
    Posted { session: String, body: String, claims: Option<Map<String, Value>> },
}

/// A message and its sender.
#[derive(Serialize, Deserialize)]
struct Envelope<M> {
    from: u32,
    message: M,
}

/// This server as one of several nodes.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) nodes: Arc<dyn Nodes>,
    /// A random number that distinguishes this node from others.
    number: u32,
    /// The changes that were not sent yet.
    changes: Lock<ChangeSet>,
    changed: Notify,
    /// Notified when messages should be read soon.
    pub(crate) wake: Notify,
    /// The tasks that read and send messages.
    pub(crate) tasks: TaskGroup,
}

/// The wait after changes were sent, in which further ones are merged.
const PAUSE: Duration = Duration::from_millis(50);

/// The wait after changes could not be sent.
const RETRY: Duration = Duration::from_secs(1);

impl Membership {
    /// `None` if the random number generator of the system fails.
    pub(crate) fn new(nodes: Arc<dyn Nodes>) -> Option<Self> {
        let (changes, changed, wake, tasks) = Default::default();
        Some(Self { nodes, number: getrandom::u32().ok()?, changes, changed, wake, tasks })
    }

    /// Sends a message to the other nodes.
    pub(crate) async fn send(&self, message: &NodeMessage) -> Result<(), NodesError> {
        let envelope = Envelope { from: self.number, message };
        let text = serde_json::to_string(&envelope).map_err(NodesError::failed)?;
        self.nodes.publish(text).await
    }

    /// A message of another node. `None` for those of this one, and for those of a newer version.
    pub(crate) fn read(&self, text: &str) -> Option<NodeMessage> {
        match serde_json::from_str::<Envelope<NodeMessage>>(text) {
            Ok(envelope) => (envelope.from != self.number).then_some(envelope.message),
            Err(error) => {
                tracing::debug!(%error, "a message of another node is ignored");
                None
            }
        }
    }

    /// The changes in a message of any node.
    pub(crate) fn changes_of(text: &str) -> Option<ChangeSet> {
        match serde_json::from_str::<Envelope<NodeMessage>>(text).ok()?.message {
            NodeMessage::Changes(changes) => Some(changes),
            _ => None,
        }
    }

    /// Sends changes later, together with others.
    pub(crate) fn announce(&self, changes: ChangeSet) {
        self.changes.lock().add(changes);
        self.changed.notify_one();
    }

    /// Sends announced changes until the node stops.
    pub(crate) async fn send_changes(self: Arc<Self>) {
        let closing = self.tasks.closing().clone();
        loop {
            let is_closing = closing.run_until_cancelled(self.changed.notified()).await.is_none();
            let changes = std::mem::take(&mut *self.changes.lock());
            let mut pause = PAUSE;
            if !changes.is_empty()
                && let Err(error) = self.send(&NodeMessage::Changes(changes.clone())).await
            {
                error.log("cannot notify other nodes of changes");
                self.announce(changes);
                pause = RETRY;
            }
            if is_closing {
                return;
            }
            closing.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
    }
}
