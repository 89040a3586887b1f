//! The state that several servers share in the database of `--store`: MCP sessions, messages between the servers, and
//! secrets.

use std::sync::Arc;
use std::time::Duration;

use trunkline_mcp::StateKey;
use trunkline_mcp::nodes::Nodes;
#[cfg(feature = "postgres")]
use {
    super::records,
    anyhow::Context,
    trunkline_mcp::{McpConfig, nodes::StoredNodes},
    trunkline_storage::Location,
};

/// The shared state, which requires the feature `postgres`.
#[cfg(feature = "postgres")]
#[derive(Clone)]
pub(crate) struct SharedState {
    nodes: StoredNodes,
    state_key: StateKey,
}

#[cfg(not(feature = "postgres"))]
#[derive(Clone)]
pub(crate) enum SharedState {}

#[cfg(feature = "postgres")]
impl SharedState {
    /// Opens the state in the database of a store. None for a store in a directory, which one server uses.
    pub(crate) async fn open(location: &Location) -> anyhow::Result<Option<Self>> {
        if let Location::Directory(_) = location {
            return Ok(None);
        }
        let idle = McpConfig::new("", "").session_idle;
        let opened = tokio::task::block_in_place(|| StoredNodes::open(location.clone(), idle));
        let nodes = opened.map_err(|error| {
            let remedy = records::remedy(&error, location);
            anyhow::Error::new(error).context(format!("cannot use the store {location}; {remedy}"))
        })?;
        let key = nodes.secret("mcp request state").await;
        let key = key.with_context(|| format!("cannot read a secret in the store {location}"))?;
        Ok(Some(Self { nodes, state_key: StateKey::new(key) }))
    }

    pub(crate) fn nodes(&self) -> Arc<dyn Nodes> {
        Arc::new(self.nodes.clone())
    }

    pub(crate) fn state_key(&self) -> StateKey {
        self.state_key.clone()
    }

    pub(crate) fn problem(&self) -> Option<String> {
        self.nodes.problem()
    }

    pub(crate) fn outage(&self) -> Option<String> {
        self.nodes.outage()
    }

    pub(crate) fn close(&self, timeout: Duration) -> bool {
        self.nodes.close(timeout)
    }
}

#[cfg(not(feature = "postgres"))]
impl SharedState {
    #[expect(clippy::unused_async, reason = "only PostgreSQL needs it")]
    pub(crate) async fn open(_: &trunkline_storage::Location) -> anyhow::Result<Option<Self>> {
        Ok(None)
    }

    pub(crate) fn nodes(&self) -> Arc<dyn Nodes> {
        match *self {}
    }

    pub(crate) fn state_key(&self) -> StateKey {
        match *self {}
    }

    pub(crate) fn problem(&self) -> Option<String> {
        match *self {}
    }

    pub(crate) fn outage(&self) -> Option<String> {
        match *self {}
    }

    pub(crate) fn close(&self, _: Duration) -> bool {
        match *self {}
    }
}
