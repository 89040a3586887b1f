use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::model::Icon;
use crate::nodes::Nodes;
use crate::peer::StateKey;
use crate::task::TaskConfig;
use crate::tool::{ClientResults, Results};

/// Configuration of an MCP server: its description and its limits.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// The name of the server.
    pub name: String,
    /// The version of the server.
    pub version: String,
    /// The display name.
    pub title: Option<String>,
    /// Usage instructions for models.
    pub instructions: Option<String>,
    /// Whether `tools/list` contains output schemas. Default false: they take more tokens than the rest of the list.
    pub output_schemas: bool,
    /// The representation of the results of operations without [content blocks](trunkline::tool::ToolOperation::blocks).
    /// Default: text for operations that [render](trunkline::tool::ToolOperation::render_text) it and whose output schema
    /// is not listed, and else both.
    pub results: Option<Results>,
    /// The representation for clients by the name that they give in `clientInfo`. Case is ignored. It counts for content
    /// blocks and the results of other servers, too. Default: none.
    pub client_results: BTreeMap<String, ClientResults>,
    /// Whether the server announces [notifications](crate::Notifier::resource_list_changed) of a changed list of
    /// resources, although its operations are static. Default false.
    pub resource_list_changes: bool,
    /// Whether the server announces [notifications](crate::Notifier::lists_changed) of changed lists, although its
    /// operations are static. Default false.
    pub list_changes: bool,
    /// The website.
    pub website: Option<String>,
    /// Icons for user interfaces.
    pub icons: Vec<Icon>,
    /// The time for which clients of the stateless era may cache lists of tools, resources and prompts. Default 5
    /// minutes.
    pub list_ttl: Duration,
    /// Maximum number of entries in a page of a list. Default 1,000.
    pub page_entries: usize,
    /// Maximum length of the names of tools and prompts in lists, in characters. Default 40; at least 16. Longer names are
    /// shortened there, since clients add a prefix such as `mcp__SERVER__` and accept at most 64 characters. Calls may have
    /// both names.
    pub max_tool_name: usize,
    /// Maximum length in bytes of a URI that clients read. Default 8 KiB.
    pub uri_bytes: usize,
    /// Maximum concurrent requests per stdio or SSE client. Further ones fail with -32005. Default 64.
    pub in_flight: usize,
    /// Maximum length of a line of stdio in bytes. A longer line is skipped and answered with -32600. Default 4 MiB.
    pub line_bytes: usize,
    /// Maximum time for which calls of a stdio client run after the end of its input. Default 30 s.
    pub drain_timeout: Duration,
    /// Maximum number of SSE clients. Further ones are refused with status 503. Default 64.
    pub sse_clients: usize,
    /// Maximum number of sessions of HTTP clients that open with `initialize`. When all are in use, further ones are
    /// refused with status 503. Default 1000; 0 disables sessions.
    pub sessions: usize,
    /// Time after which a session without messages and streams expires. A later message opens it again, without its log
    /// level and subscriptions. Default 30 minutes.
    pub session_idle: Duration,
    /// Maximum size in bytes of the events that a session keeps for a client that reconnects. Default 64 KiB.
    pub replay_bytes: usize,
    /// Maximum number of resources to whose changes a client subscribes. Default 256.
    pub subscriptions: usize,
    /// Maximum number of open `subscriptions/listen` requests. Further ones fail with -32005. Default 10,000.
    pub listeners: usize,
    /// Maximum time until the response to a request that a handler sends to a client. Default 5 minutes.
    pub client_timeout: Duration,
    /// The key that seals the state of calls between their rounds (2026-07-28). Servers that share their clients need
    /// the same key. Default: random, so the state is valid for this process only.
    pub state_key: Option<StateKey>,
    /// Time for which that state is valid. Default 5 minutes.
    pub state_lifetime: Duration,
    /// Maximum number of times that a client is asked for input during a call (2026-07-28). Default 16.
    pub rounds: u32,
    /// The state that this server shares with other nodes: sessions, the events of their streams, and notifications of
    /// changes. Clients may send each request to another node. Also set [`state_key`](Self::state_key), and call
    /// [`Mcp::join_nodes`](crate::Mcp::join_nodes). Default: none, the server has no other nodes.
    pub nodes: Option<Arc<dyn Nodes>>,
    /// The store of sessions that survive a restart of this server: their log levels, subscriptions and ends, which their ids
    /// do not carry. It is written in the background. Call [`Mcp::save_sessions`](crate::Mcp::save_sessions). Ignored with
    /// [`nodes`](Self::nodes). Default: none.
    pub session_store: Option<Arc<dyn Nodes>>,
    /// The store and the limits of tasks.
    pub tasks: TaskConfig,
    /// When cancelled, streams of notifications end, and tasks are cancelled. Without it, a server that stops waits for
    /// the clients to end their streams. Default: a token that is never cancelled.
    pub closing: CancellationToken,
    /// Interval of comments on an idle SSE stream. Default 15 s.
    pub keep_alive: Duration,
    /// Time without a notification of progress after which a call repeats its progress, if the client has requested it:
    /// clients that extend their timeout by progress do not give up. `Duration::MAX` disables it. Default 10 s.
    pub heartbeat: Duration,
}

impl McpConfig {
    /// A server of this name and version, with the defaults.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            instructions: None,
            output_schemas: false,
            results: None,
            client_results: BTreeMap::new(),
            resource_list_changes: false,
            list_changes: false,
            website: None,
            icons: Vec::new(),
            list_ttl: Duration::from_secs(300),
            page_entries: 1_000,
            max_tool_name: 40,
            uri_bytes: 8 << 10,
            in_flight: 64,
            line_bytes: 4 << 20,
            drain_timeout: Duration::from_secs(30),
            sse_clients: 64,
            sessions: 1000,
            session_idle: Duration::from_secs(30 * 60),
            replay_bytes: 64 << 10,
            subscriptions: 256,
            listeners: 10_000,
            client_timeout: Duration::from_secs(300),
            state_key: None,
            state_lifetime: Duration::from_secs(300),
            rounds: 16,
            nodes: None,
            session_store: None,
            tasks: TaskConfig::default(),
            closing: CancellationToken::new(),
            keep_alive: Duration::from_secs(15),
            heartbeat: Duration::from_secs(10),
        }
    }
}
