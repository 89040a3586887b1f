use std::net::IpAddr;
use std::time::Duration;

use http::Uri;
use trunkline::client::http::Bearer;

/// Where a [`Model`](super::Model) is, and how long it may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelConfig {
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
    /// How many bytes of text a reply may have; one with more is an error, and is not kept. Default 256 KiB.
    pub max_content_bytes: usize,
    /// How many bytes the names and arguments of all calls of a reply may have; one with more is an error, and
    /// none of them is made. Default 256 KiB.
    pub max_arguments_bytes: usize,
    /// How many times a request that was not begun is made again. Default 3.
    pub max_retries: u32,
    /// The longest wait before it is: a server that wants a longer one is not asked again. Default 10 s.
    pub max_retry_wait: Duration,
}

impl ModelConfig {
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
            max_content_bytes: 256 << 10,
            max_arguments_bytes: 256 << 10,
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

    /// The base without what may be secret in it: a user, a password and a query.
    pub(super) fn shown_url(&self) -> String {
        let (scheme, rest) = match self.url.split_once("://") {
            Some((scheme, rest)) => (format!("{scheme}://"), rest),
            None => (String::new(), &*self.url),
        };
        let rest = rest.rsplit('@').next().unwrap_or_default();
        let end = rest.find(['?', '#']).unwrap_or(rest.len());
        format!("{scheme}{}", &rest[..end])
    }

    /// Whether the key goes through a network in the clear.
    pub(super) fn exposes_key(&self) -> bool {
        let Ok(uri) = self.url.parse::<Uri>() else { return false };
        let host = uri.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        self.key.is_some() && uri.scheme_str() == Some("http") && !is_here
    }
}

#[cfg(test)]
mod tests {
    use super::ModelConfig;

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, expected) in [
            ("http://h:1/v1", "http://h:1/v1"),
            ("http://u:p@h/v1?key=s", "http://h/v1"),
            ("http://u:p/q?r@h/v1", "http://h/v1"),
            ("u:p@h/v1?key=s#t", "h/v1"),
            ("http://h#s", "http://h"),
        ] {
            assert_eq!(ModelConfig::new(url, "m").shown_url(), expected, "{url}");
        }
    }

    #[test]
    fn keys_in_the_clear() {
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
