use std::time::Duration;

use trunkline::client::http::Bearer;

/// Where a [`Model`](super::Model) is, and how long it may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The base, to which `/chat/completions` is appended: `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// The model's name, as the endpoint knows it.
    pub model: String,
    /// Sent as `Authorization: Bearer …`. Default: none.
    pub key: Option<Bearer>,
    /// Whether replies are asked for as streams. Default: yes. A server that refuses is asked without.
    pub stream: bool,
    /// How freely the model chooses its words. Default: what the endpoint chooses.
    pub temperature: Option<f32>,
    /// How long it may take to connect. Default 10 s.
    pub connect_timeout: Duration,
    /// How long it may take until a reply begins; a reply that is no stream begins when it is there.
    /// Default 90 s.
    pub first_byte_timeout: Duration,
    /// How long a reply that has begun may say nothing. Default 30 s.
    pub idle_timeout: Duration,
    /// How long one reply may take in all, with what is tried again. Default 2 min.
    pub timeout: Duration,
    /// How many bytes a reply may have. Default 8 MiB.
    pub max_reply: usize,
    /// How many times a request that was not begun is made again. Default 3.
    pub max_retries: u32,
    /// The longest wait before it is: a server that wants a longer one is not asked again. Default 10 s.
    pub max_retry_wait: Duration,
}

impl Settings {
    /// The model of this name at an endpoint, with defaults for all else.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            stream: true,
            temperature: None,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(90),
            idle_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(120),
            max_reply: 8 << 20,
            max_retries: 3,
            max_retry_wait: Duration::from_secs(10),
        }
    }

    /// The base with the path of chat completions; a query stays at the end.
    pub(super) fn endpoint(&self) -> String {
        let (base, query) = match self.url.split_once('?') {
            Some((base, query)) => (base, format!("?{query}")),
            None => (&*self.url, String::new()),
        };
        format!("{}/chat/completions{query}", base.trim_end_matches('/'))
    }
}
