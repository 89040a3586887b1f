//! Removes secrets from requests and responses before anybody reads them.

mod copy;
mod names;
mod strings;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use copy::Copy;
pub(super) use copy::Passage;
pub(super) use strings::beginning;

/// The rule that removes secrets from requests and responses before they are read, sent to subscribers or
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
/// * the value of a param by position whose declared name ends so;
/// * in any other string, the word after `Bearer` or `Basic`, and the password of a URL:
///   `postgres://user:[redacted]@host`.
///
/// Names are compared without case, punctuation and digits at their end: `X-Api-Key`, `api_key` and
/// `apiKey2` are the same. The pagination and progress tokens of protocols are kept: `progressToken`,
/// `workDoneToken`, `partialResultToken`, `pageToken`, `nextPageToken`, `nextToken`, `continuationToken`.
///
/// A text that is not JSON, or nests deeper than 128, is kept up to where it stops being JSON.
///
/// The rule does not find a secret under another name, in a table whose columns have names, in a literal
/// of SQL, in JSON inside a string (the text `content` of an MCP result), in other prose, in the query of
/// a URL, in the params by position of an unknown method, or where a response repeats one in its text.
/// [`name`](Self::name) adds names, and [`then`](Self::then) a function that changes the text.
#[derive(Clone)]
pub struct Redaction {
    /// Additional secret names; `None` keeps texts unchanged.
    names: Option<Vec<Box<str>>>,
    hooks: Vec<Arc<Hook>>,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redacted {
    /// The text.
    pub text: Box<str>,
    /// Whether this is the beginning only: of a text that is too long, or that stops being JSON.
    pub is_cut: bool,
}

type Hook = dyn Fn(&str, &mut String) + Send + Sync;

impl Redaction {
    /// Removes nothing: texts are kept unchanged, including white space.
    #[must_use]
    pub fn none() -> Self {
        Self { names: None, hooks: Vec::new() }
    }

    /// Also removes the values of members of this name, compared without case and punctuation: `ssn`.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.names.get_or_insert_default().push(name.into());
        self
    }

    /// Calls `hook` with the method, which is empty if unknown, and the redacted text, which may be cut.
    /// It runs whenever a text is read. If it panics, nothing of the text is shown.
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

    /// The redacted text, up to `limit` bytes. `params` are the names of the params by position.
    pub(super) fn keep(
        &self,
        method: &str,
        params: &[&'static str],
        passage: Passage<'_>,
        limit: usize,
    ) -> Redacted {
        let mut copy = Copy::new(limit, self.names.as_deref().unwrap_or_default(), params);
        let copied = match &self.names {
            Some(_) => copy.redacted(passage),
            None => copy.plain(passage),
        };
        let mut text = copy.out;
        for hook in &self.hooks {
            // The entry is made outside of the layer that catches panics.
            if catch_unwind(AssertUnwindSafe(|| hook(method, &mut text))).is_err() {
                tracing::error!("a redaction hook panicked; the text is not kept");
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
