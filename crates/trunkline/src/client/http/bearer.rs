use std::str::FromStr;

use http::HeaderValue;

/// A token for `Authorization: Bearer …` (RFC 6750). Nothing shows it.
#[derive(Debug, Clone)]
pub struct Bearer(HeaderValue);

/// A text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bearer token is empty, or has characters that no request can carry")]
pub struct BearerError;

impl Bearer {
    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }

    /// The text with `[redacted]` wherever it repeats the token, as what a server says of a request may do.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let token = self.0.to_str().ok().and_then(|header| header.strip_prefix("Bearer "));
        token.map_or_else(|| text.to_owned(), |token| text.replace(token, "[redacted]"))
    }
}

impl FromStr for Bearer {
    type Err = BearerError;

    fn from_str(token: &str) -> Result<Self, BearerError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BearerError);
        }
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        let mut value = value.map_err(|_| BearerError)?;
        // What is sensitive is not shown by `Debug`, here or wherever the header goes.
        value.set_sensitive(true);
        Ok(Self(value))
    }
}
