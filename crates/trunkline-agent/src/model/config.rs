use std::net::IpAddr;
use std::time::Duration;

use http::Uri;
use trunkline::client::http::Bearer;

/// The endpoint of a [`Model`](super::Model), and its limits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelConfig {
    /// The base URL, to which `/chat/completions` is appended: `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// The model's name at the endpoint.
    pub model: String,
    /// Sent as `Authorization: Bearer …`. Default: none.
    pub key: Option<Bearer>,
    /// Whether to request streams. Default: yes. If a server rejects them, requests are sent without.
    pub stream: bool,
    /// The sampling temperature. Default: that of the endpoint.
    pub temperature: Option<f32>,
    /// Maximum time to connect. Default 10 s.
    pub connect_timeout: Duration,
    /// Maximum time from a request to the first token of the reply; without a stream, to the whole reply. Comments and
    /// empty parts do not count as tokens. A local model may read a long prompt for minutes. Default 10 min.
    pub first_token_timeout: Duration,
    /// Maximum time between two pieces of a reply after its first token. Default 5 min.
    pub token_timeout: Duration,
    /// Maximum total time of a reply, including retries. Default 30 min.
    pub timeout: Duration,
    /// Maximum size of a reply in bytes. Default 8 MiB.
    pub max_reply: usize,
    /// Maximum size of the text of a reply in bytes; a longer text is an error. Default 256 KiB.
    pub max_content_bytes: usize,
    /// Maximum total size of the names and arguments of all calls of a reply in bytes. Beyond it, the reply is an
    /// error, and no call is executed. Default 256 KiB.
    pub max_arguments_bytes: usize,
    /// Maximum total size of the [extra members](super::ExtraMembers) of a reply in bytes. Beyond it, they are dropped,
    /// and the next request is sent without them. Default 1 MiB.
    pub max_extra_bytes: usize,
    /// Maximum retries of a request. Default 3.
    pub max_retries: u32,
    /// Maximum wait before a retry. If the server requests a longer one, the request fails. Default 10 s.
    pub max_retry_wait: Duration,
}

impl ModelConfig {
    /// The configuration of a model at an endpoint, with defaults for everything else.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            stream: true,
            temperature: None,
            connect_timeout: Duration::from_secs(10),
            first_token_timeout: Duration::from_secs(600),
            token_timeout: Duration::from_secs(300),
            timeout: Duration::from_secs(1_800),
            max_reply: 8 << 20,
            max_content_bytes: 256 << 10,
            max_arguments_bytes: 256 << 10,
            max_extra_bytes: 1 << 20,
            max_retries: 3,
            max_retry_wait: Duration::from_secs(10),
        }
    }

    /// The URL of chat completions; a query of the base URL stays at the end.
    pub(super) fn endpoint(&self) -> String {
        let (base, query) = match self.url.split_once('?') {
            Some((base, query)) => (base, format!("?{query}")),
            None => (&*self.url, String::new()),
        };
        format!("{}/chat/completions{query}", base.trim_end_matches('/'))
    }

    /// Whether the key is sent through a network unencrypted.
    pub(super) fn exposes_key(&self) -> bool {
        let Ok(uri) = self.url.parse::<Uri>() else { return false };
        let host = uri.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        self.key.is_some() && uri.scheme_str() == Some("http") && !is_local
    }
}

#[cfg(test)]
mod tests {
    use super::ModelConfig;

    #[test]
    fn exposes_key_on_plain_http() {
        for (url, expected) in [
            ("http://10.0.0.1:11434/v1", true),
            ("HTTP://models.example/v1", true),
            ("http://[2001:db8::1]/v1", true),
            ("https://models.example/v1", false),
            ("http://localhost:11434/v1", false),
            ("http://127.0.0.2/v1", false),
            ("http://[::1]:1/v1", false),
        ] {
            let mut config = ModelConfig::new(url, "m");
            assert!(!config.exposes_key(), "{url}, without a key");
            config.key = "sk-1".parse().ok();
            assert_eq!(config.exposes_key(), expected, "{url}");
        }
    }
}
