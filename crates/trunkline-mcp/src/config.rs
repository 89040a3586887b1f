use std::time::Duration;

/// What a server says of itself, and its limits.
#[derive(Debug, Clone)]
pub struct McpConfig {
    /// The server's name, for programs.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its name, for people.
    pub title: Option<String>,
    /// How to use it, for models.
    pub instructions: Option<String>,
    /// How long clients of the stateless era may keep the list of tools. Default 5 minutes.
    pub list_ttl: Duration,
    /// How many requests of one stdio or SSE client may run at a time; one more is -32005.
    /// Default 64.
    pub in_flight: usize,
    /// How many bytes a line of stdio may have. Default 4 MiB. A longer one is -32600, and skipped.
    pub line_bytes: usize,
    /// How long the calls of a stdio client may go on after its last line. Default 30 s.
    pub drain_timeout: Duration,
    /// How many SSE clients there may be; one more is 503. Default 64.
    pub sse_clients: usize,
    /// After how much silence an SSE client is sent a comment. Default 15 s.
    pub keep_alive: Duration,
}

impl McpConfig {
    /// A server of this name and version, with the defaults.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            instructions: None,
            list_ttl: Duration::from_secs(300),
            in_flight: 64,
            line_bytes: 4 << 20,
            drain_timeout: Duration::from_secs(30),
            sse_clients: 64,
            keep_alive: Duration::from_secs(15),
        }
    }
}
