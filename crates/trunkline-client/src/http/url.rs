use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use http::Uri;
use http::uri::PathAndQuery;

/// An `http` or `https` URL that can be posted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url(Uri);

/// Why a text is no [`Url`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// There is no `://`.
    #[error("it has no scheme; write http://{0}")]
    NoScheme(String),
    /// The scheme is another one.
    #[error("{0}:// is not spoken; write http:// or https://")]
    Scheme(String),
    /// The authority has a user or a password, which logs and proxies would show.
    #[error("it holds a user or a password; send it as a header")]
    UserInfo,
    /// The text is not a URL, or has no host.
    #[error("it is not a URL like http://127.0.0.1:8080")]
    Malformed,
}

impl Url {
    pub(super) fn uri(&self) -> &Uri {
        &self.0
    }

    /// Whether it is `https`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// The host and the port, if there is one.
    pub(super) fn authority(&self) -> &str {
        self.0.authority().map_or("", |authority| authority.as_str())
    }

    /// The scheme, the host and the port.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}", self.0.scheme_str().unwrap_or_default(), self.authority())
    }

    /// The same server's `path`, if this URL names no path itself.
    #[must_use]
    pub fn or_path(self, path: &'static str) -> Self {
        if self.0.path() != "/" || self.0.query().is_some() {
            return self;
        }
        let mut parts = self.0.clone().into_parts();
        parts.path_and_query = PathAndQuery::from_maybe_shared(path).ok();
        Uri::from_parts(parts).map_or(self, Self)
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(UrlError::NoScheme(in_brackets(text)));
        };
        if !["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
            return Err(UrlError::Scheme(scheme.to_owned()));
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let uri: Uri = text.parse().map_err(|_| UrlError::Malformed)?;
        // `http` accepts an invalid port as an absent one.
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        if uri.host().is_none_or(str::is_empty) || (has_port && uri.port_u16().is_none()) {
            return Err(UrlError::Malformed);
        }
        Ok(Self(uri))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text, with brackets around what begins it if that is an IPv6 address. (`::1:80` is one, too,
/// and nearly always means a port.)
fn in_brackets(text: &str) -> String {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (authority, rest) = text.split_at(end);
    let is_address = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    match authority.rsplit_once(':') {
        Some((host, port)) if is_address(host) && port.parse::<u16>().is_ok() => {
            format!("[{host}]:{port}{rest}")
        }
        _ if is_address(authority) => format!("[{authority}]{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, UrlError>) {
        let found = text.parse::<Url>().map(|url| url.origin());
        assert_eq!(found, expected.map(str::to_owned), "{text}");
    }

    #[test]
    fn urls() {
        check("http://localhost", Ok("http://localhost"));
        check("HTTP://localhost:8080/rpc?a=b", Ok("http://localhost:8080"));
        check("https://[::1]:443/", Ok("https://[::1]:443"));
        check("http://[::1]", Ok("http://[::1]"));
        check("http://h/a@b", Ok("http://h"));

        check("localhost:80", Err(UrlError::NoScheme("localhost:80".to_owned())));
        check("", Err(UrlError::NoScheme(String::new())));
        for (text, remedy) in [
            ("::1:8080", "[::1]:8080"),
            ("::1:8080/rpc", "[::1]:8080/rpc"),
            ("fe80::1", "[fe80::1]"),
            ("2001:db8:0:0:0:0:0:1", "[2001:db8:0:0:0:0:0:1]"),
            ("[::1]:8080", "[::1]:8080"),
        ] {
            check(text, Err(UrlError::NoScheme(remedy.to_owned())));
        }
        check("ftp://h", Err(UrlError::Scheme("ftp".to_owned())));
        check("http://a:b@h", Err(UrlError::UserInfo));
        for text in
            ["http://", "http://:80", "http://h:", "http://h:65536", "http://a b", "http://[1"]
        {
            check(text, Err(UrlError::Malformed));
        }
    }

    #[test]
    fn paths() {
        for (text, expected) in [
            ("http://h", "http://h/mcp"),
            ("http://h/", "http://h/mcp"),
            ("http://h/a", "http://h/a"),
            ("http://h/?a", "http://h/?a"),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!(url.or_path("/mcp").to_string(), expected, "{text}");
        }
    }
}
