use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use http::Uri;
use http::uri::PathAndQuery;

/// An `http` or `https` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url(Uri);

/// The error for an invalid [`Url`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The scheme is missing. Contains the rest of the URL, without a password. The message also omits the query.
    #[error("missing scheme; use http://{}", redact_url(.0))]
    NoScheme(String),
    /// The scheme is not supported.
    #[error("unsupported scheme {0}://; use http:// or https://")]
    Scheme(String),
    /// The authority contains a user or a password, which logs and proxies would disclose.
    #[error("user or password in the URL; send credentials in a header")]
    UserInfo,
    /// The text is not a URL or has no host.
    #[error("invalid URL; expected a URL such as http://127.0.0.1:8080")]
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

    /// The host, and the port if specified.
    pub(super) fn authority(&self) -> &str {
        self.0.authority().map_or("", |authority| authority.as_str())
    }

    /// The host, as in the URL. IPv6 addresses have brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host().unwrap_or_default()
    }

    /// The port: the specified one, or 80 for `http` and 443 for `https`.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port_u16().unwrap_or(if self.is_https() { 443 } else { 80 })
    }

    /// The path. `/` if the URL has none.
    #[must_use]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// The query, without the question mark.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.0.query()
    }

    /// The scheme, the host, and the port if specified.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("{}://{}", self.0.scheme_str().unwrap_or_default(), self.authority())
    }

    /// Sets the path if the URL has neither a path nor a query.
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
            // Callers may add the scheme to the text, but not if it has a password.
            let text = if text.contains('@') { redact_url(text) } else { text.to_owned() };
            return Err(UrlError::NoScheme(in_brackets(&text)));
        };
        if !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            // It may be a part of a password.
            return Err(UrlError::Malformed);
        }
        if !["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
            return Err(UrlError::Scheme(scheme.to_owned()));
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let uri: Uri = text.parse().map_err(|_| UrlError::Malformed)?;
        // `http` treats an invalid port as absent.
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

/// A URL without its secrets, for logs and messages.
///
/// The password and the query are replaced with `<redacted>`, and the user of an `http` or `https` URL too, since it
/// may be a token. The text may be an invalid URL, or have no scheme.
///
/// ```
/// # use trunkline_client::http::redact_url;
/// assert_eq!(redact_url("https://u:p@h/a?key=s"), "https://<redacted>@h/a?<redacted>");
/// assert_eq!(redact_url("postgres://u:p@h/a"), "postgres://u:<redacted>@h/a");
/// ```
#[must_use]
pub fn redact_url(text: &str) -> String {
    const REDACTED: &str = "<redacted>";
    let (scheme, rest) = match text.find("://") {
        Some(end) => text.split_at(end + 3),
        None => ("", text),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A password that is not encoded may contain the other delimiters, and the scheme may have a typing error.
    let has_credentials = |(user, _): (&str, &str)| scheme.is_empty() && user.contains(':');
    let has_user =
        authority.contains(['@', ':']) || rest.rsplit_once('@').is_some_and(has_credentials);
    let (user, rest) = match rest.rsplit_once('@').filter(|_| has_user) {
        Some((user, rest)) => (Some(user), rest),
        None => (None, rest),
    };
    let may_be_token = ["", "http://", "https://"].iter().any(|s| s.eq_ignore_ascii_case(scheme));
    let user = match user.map(|user| user.split_once(':').ok_or(user)) {
        None => String::new(),
        Some(_) if may_be_token => format!("{REDACTED}@"),
        Some(Ok((user, _))) => format!("{user}:{REDACTED}@"),
        Some(Err(user)) => format!("{user}@"),
    };
    match rest.find(['?', '#']) {
        Some(end) => format!("{scheme}{user}{}{REDACTED}", &rest[..=end]),
        None => format!("{scheme}{user}{rest}"),
    }
}

/// The text, with brackets around a leading IPv6 address. (`::1:80` is a valid address, but nearly always means
/// a port.)
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
    fn parses_urls() {
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
    fn secrets_are_redacted() {
        for (url, expected) in [
            ("http://h:1/v1", "http://h:1/v1"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://u:p@h/v1?key=s", "http://<redacted>@h/v1?<redacted>"),
            ("HTTPS://token@h/v1", "HTTPS://<redacted>@h/v1"),
            ("http://u:p/q?r@h/v1", "http://<redacted>@h/v1"),
            ("http://u:1/q#r@h/v1", "http://<redacted>@h/v1"),
            ("u:p@h/v1?key=s#t", "<redacted>@h/v1?<redacted>"),
            ("http://h#s", "http://h#<redacted>"),
            ("postgres://u@h,i/d", "postgres://u@h,i/d"),
            ("postgres://u:p@q@h/d?a=b", "postgres://u:<redacted>@h/d?<redacted>"),
            ("http//u:p@h/v1", "<redacted>@h/v1"),
            ("", ""),
        ] {
            assert_eq!(redact_url(url), expected, "{url}");
        }
        for url in [
            "u:s3cret@h",
            "http//u:s3cret@h",
            "u:s3cret://x@h",
            "http://u:s3cret@h",
            "ftp://u:s3cret@h",
        ] {
            let error = url.parse::<Url>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn parts() {
        for (text, expected) in [
            ("http://h", ("h", 80, "/", None)),
            ("https://h", ("h", 443, "/", None)),
            ("https://h:80/a/b?c=d#e", ("h", 80, "/a/b", Some("c=d"))),
            ("http://[::1]:8080?a", ("[::1]", 8080, "/", Some("a"))),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!((url.host(), url.port(), url.path(), url.query()), expected, "{text}");
        }
    }

    #[test]
    fn adds_default_paths() {
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
