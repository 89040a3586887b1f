//! The observable state of upstreams.

use serde::Serialize;
use trunkline::JsonSchema;

/// The state of an upstream, its last error and its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[non_exhaustive]
pub struct UpstreamStatus {
    /// The name.
    pub name: String,
    /// The origin of the URL, or the program.
    pub target: String,
    /// The state.
    pub state: UpstreamState,
    /// The last error of the connection. It stays after the upstream is connected again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The delay until the next attempt to connect, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    /// The number of connections that failed or ended.
    pub failures: u64,
    /// The number of offered tools.
    pub tools: usize,
    /// The number of resources and templates.
    pub resources: usize,
    /// The number of prompts.
    pub prompts: usize,
    /// The offered tools whose definition changed after it was approved, with the upstream's names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The pinned tools that are not offered, since they changed or were added after they were approved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
    /// The definitions of the tools under `changed` and `withheld`, for a review.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unapproved: Vec<UnapprovedTool>,
    /// The tools, resources and prompts that cannot be offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedItem>,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum UpstreamState {
    /// The first connection is being opened, or a failed one is opened again.
    Connecting,
    /// Tools can be called.
    Ready,
    /// The connection failed. It is opened again after a delay.
    Failed,
    /// The gateway was stopped.
    Stopped,
}

/// A definition of a tool that is not approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[non_exhaustive]
pub struct UnapprovedTool {
    /// The upstream's name of the tool.
    pub name: String,
    /// The digest of the definition, which approves it.
    pub digest: String,
    /// The digest of the approved definition. Missing if the tool was added after the others were approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_digest: Option<String>,
    /// The members that differ from the approved definition: `-` approved, `+` current. All members, if the tool was
    /// added, or if the approved definition was too large to be stored.
    pub difference: Vec<String>,
    /// Whether the difference is incomplete, since it is too large for the list of upstreams.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A tool, resource or prompt that cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[non_exhaustive]
pub struct RejectedItem {
    /// The upstream's name of it, or the method whose result cannot be used.
    pub name: String,
    /// The reason.
    pub reason: String,
}
