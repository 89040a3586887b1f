use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use trunkline::access::Principal;
use trunkline::{ErrorObject, Extensions, code};

use crate::node_message::{Membership, NodeMessage};
use crate::nodes::{NodesError, SessionChange};

/// A session that other nodes have, too.
#[derive(Debug)]
pub(crate) struct SharedSession {
    pub(crate) id: String,
    pub(crate) membership: Arc<Membership>,
    /// Locked while the session is read or changed, so that an older state never replaces a newer one.
    pub(crate) lock: Mutex<()>,
}

impl SharedSession {
    pub(crate) fn new(id: String, membership: Arc<Membership>) -> Self {
        Self { id, membership, lock: Mutex::new(()) }
    }

    /// Changes the session on all nodes. `apply` changes it on this one.
    pub(crate) async fn change(
        &self,
        change: SessionChange,
        apply: impl FnOnce(),
    ) -> Result<(), ErrorObject> {
        let changed = async {
            let _guard = self.lock.lock().await;
            self.membership.nodes.change_session(self.id.clone(), change).await?;
            apply();
            self.membership.send(&NodeMessage::Session { session: self.id.clone() }).await
        };
        changed.await.map_err(|error| unavailable(&error))
    }

    /// Passes a cancellation to the node that runs the call. `request` is the id of the call as JSON.
    pub(crate) async fn cancel(&self, request: String) -> Result<(), NodesError> {
        self.membership.send(&NodeMessage::Cancel { session: self.id.clone(), request }).await
    }

    /// Passes a response to the node that has sent the request with this id.
    pub(crate) async fn respond(&self, request: String, body: String) -> Result<(), NodesError> {
        let session = self.id.clone();
        self.membership.send(&NodeMessage::Response { session, request, body }).await
    }

    /// Ends the session on all nodes.
    pub(crate) async fn end(&self) -> Result<(), NodesError> {
        self.membership.nodes.end_session(self.id.clone()).await?;
        self.membership.send(&NodeMessage::Ended { session: self.id.clone() }).await
    }
}

/// The clients of HTTP+SSE, whose streams are on this node.
pub(crate) trait SseClients: Send + Sync {
    /// Their sessions.
    fn ids(&self) -> Vec<String>;

    /// Passes a message that another node has received to the channel of its client, if that exists. `claims` are those
    /// of the sender's token.
    fn deliver(
        &self,
        session: &str,
        body: Bytes,
        claims: Option<Map<String, Value>>,
    ) -> BoxFuture<'static, ()>;
}

/// The error of a message that needs the state of the nodes.
pub(crate) fn unavailable(error: &NodesError) -> ErrorObject {
    error.log("a session cannot be read or changed");
    let reason = "the store of sessions is not available; try again";
    ErrorObject::new(code::BUSY, "Server is busy")
        .with_data(&serde_json::json!({ "reason": reason }))
}

/// The key of a sender, by which it is recognised on all nodes. `None` without authentication.
pub(crate) fn owner_key(sender: &Extensions) -> Option<String> {
    Principal::of(sender).map(principal_key)
}

/// The key of a principal.
pub(super) fn principal_key(principal: &Principal) -> String {
    // Callers without a name are distinguished by their claims.
    let claims = || serde_json::to_string(principal.claims()).unwrap_or_default();
    principal.owner_key().unwrap_or_else(claims)
}
