//! Removes secrets from requests and responses before they are read.

mod copier;
mod names;
mod strings;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use copier::Copier;
pub(super) use copier::Passage;
pub(super) use strings::beginning;

/// The rules that remove secrets from requests and responses before they are read, sent to subscribers or
/// written to a log.
///
/// By default, `"[redacted]"` replaces
///
/// * the value of a member whose name ends with one of `accesskey`, `apikey`, `auth`, `authorization`,
///   `bearer`, `codeverifier`, `connectionstring`, `cookie(s)`, `credential(s)`, `csrf`, `cvc`, `cvv`,
///   `encryptionkey`, `jwt`, `otp`, `pass`, `passcode`, `passphrase`, `passwd`, `password(s)`,
///   `passwordconfirmation`, `pin`, `privatekey`, `pwd`, `secret(s)`, `secretkey`, `sessid`,
///   `sessionid`, `signingkey`, `token` or `xsrf`, at any depth and whatever its type, except `null`,
///   `true` and `false`;
/// * the value of a positional param whose declared name has such an ending;
/// * in any other string, the credentials after `Bearer` or `Basic`, and the password of a URL:
///   `postgres://user:[redacted]@host`.
///
/// Names are compared without case, punctuation and trailing digits: `X-Api-Key`, `api_key` and `apiKey2`
/// are equal. Pagination and progress tokens of protocols are kept: `progressToken`, `workDoneToken`,
/// `partialResultToken`, `pageToken`, `nextPageToken`, `nextToken`, `continuationToken`.
///
/// A text that is not JSON, or is nested deeper than 128 levels, is truncated where it stops being valid.
///
/// Valid JSON inside a string is redacted by the same rules, one level deep. The rules do not find secrets under
/// another name, in a table with named columns, in an SQL literal, in prose, in the query of a URL, in
/// positional params of an unknown method, or where a response repeats it in its text. Add names with
/// [`name`](Self::name), or a function that changes the text with [`then`](Self::then).
#[derive(Clone)]
pub struct Redaction {
    /// Additional secret names. `None` disables redaction.
    names: Option<Vec<Box<str>>>,
    hooks: Vec<Arc<Hook>>,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redacted {
    /// The text.
    pub text: Box<str>,
    /// Whether the text is truncated, because it is too long or is not valid JSON.
    pub is_cut: bool,
}

type Hook = dyn Fn(&str, &mut String) + Send + Sync;

impl Redaction {
    /// Disables redaction: texts are kept unchanged, including white space.
    #[must_use]
    pub fn none() -> Self {
        Self { names: None, hooks: Vec::new() }
    }

    /// Also removes the values of members with this name, compared without case and punctuation: `ssn`.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.names.get_or_insert_default().push(name.into());
        self
    }

    /// Adds a hook that receives the method, which is empty if unknown, and the redacted text, which may be
    /// truncated. It runs whenever a text is read. If it panics, the text is empty.
    ///
    /// ```
    /// use trunkline::history::Redaction;
    ///
    /// let redaction = Redaction::default().then(|method, text| {
    ///     if method.starts_with("auth.") {
    ///         text.clear();
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn then(mut self, hook: impl Fn(&str, &mut String) + Send + Sync + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    pub(super) fn has_hooks(&self) -> bool {
        !self.hooks.is_empty()
    }

    /// Redacts a text and truncates it to `limit` bytes. `params` are the names of the positional params.
    pub(super) fn apply(
        &self,
        method: &str,
        params: &[&'static str],
        passage: Passage<'_>,
        limit: usize,
    ) -> Redacted {
        let mut copier = Copier::new(limit, self.names.as_deref().unwrap_or_default(), params);
        let copied = match &self.names {
            Some(_) => copier.redacted(passage),
            None => copier.plain(passage),
        };
        let mut text = copier.out;
        for hook in &self.hooks {
            // This runs outside the layer that catches panics.
            if catch_unwind(AssertUnwindSafe(|| hook(method, &mut text))).is_err() {
                tracing::error!("redaction hook panicked; dropping the text");
                text.clear();
            }
        }
        let end = beginning(&text, limit).len();
        let is_cut = (copied.is_err() || end < text.len()) && passage.len() > 0;
        text.truncate(end);
        Redacted { text: text.into(), is_cut }
    }
}

impl Default for Redaction {
    fn default() -> Self {
        Self { names: Some(Vec::new()), hooks: Vec::new() }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hooks = self.hooks.len();
        f.debug_struct("Redaction").field("names", &self.names).field("hooks", &hooks).finish()
    }
}
