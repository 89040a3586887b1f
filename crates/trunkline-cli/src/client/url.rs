use std::fmt;
use std::str::FromStr;

use http::Uri;
use http::uri::PathAndQuery;

/// An `http` or `https` URL that can be posted to.
#[derive(Debug, Clone)]
pub(crate) struct Url(Uri);

/// Why a text is no [`Url`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum UrlError {
    #[error("it has no scheme; write http://{0}")]
    NoScheme(String),
    #[error("{0}:// is not spoken; write http:// or https://")]
    Scheme(String),
    #[error("it holds a user or a password; use --bearer or --header")]
    UserInfo,
    #[error("it is not a URL like http://127.0.0.1:8080")]
    Malformed,
}

impl Url {
    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme_str() == Some("https")
    }

    /// The scheme, the host and the port.
    pub(crate) fn origin(&self) -> String {
        let scheme = self.0.scheme_str().unwrap_or_default();
        let authority = self.0.authority().map_or("", |authority| authority.as_str());
        format!("{scheme}://{authority}")
    }

    /// The same server's `path`, if this URL names no path itself.
    pub(crate) fn or_path(self, path: &'static str) -> Self {
        if self.0.path() != "/" || self.0.query().is_some() {
            return self;
        }
        let mut parts = self.0.into_parts();
        parts.path_and_query = Some(PathAndQuery::from_static(path));
        Self(Uri::from_parts(parts).expect("a scheme, an authority and a path are a URL"))
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(UrlError::NoScheme(text.to_owned()));
        };
        if !["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme)) {
            return Err(UrlError::Scheme(scheme.to_owned()));
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let uri: Uri = text.parse().map_err(|_| UrlError::Malformed)?;
        // A port that is none is taken for a port without number.
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        if uri.host().is_none_or(str::is_empty) || (has_port && uri.port_u16().is_none()) {
            return Err(UrlError::Malformed);
        }
        Ok(Self(uri))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
