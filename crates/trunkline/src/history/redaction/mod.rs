//! What is taken out of texts before they are kept.

mod copy;
mod known;
mod names;
mod passage;
mod prose;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::beginning::beginning;
use super::entry::Text;
use copy::{Copied, copy};
pub(super) use known::Known;
use names::looks_secret;
pub(super) use passage::{About, Passage, Side};

/// What is taken out of requests and responses before they are kept or shown to subscribers.
///
/// By default, the values of members whose names look secret are replaced by `"[redacted]"`, at any
/// depth, and those of params that come by position and whose declared names do: names that hold
/// `password`, `passwd`, `passphrase`, `passcode`, `passkey`, `secret`, `credential`, `authorization`,
/// `api_key`, `access_key`, `private_key`, `cookie` or `session_id` (`sessid`); whose last word is
/// `token`, `token_id`, `auth`, `bearer`, `jwt`, `pwd`, `otp`, `totp`, `csrf`, `xsrf`, `cvv` or `cvc`;
/// a `pass` or a `pin` by itself or of a `user`, a `db` and the like; a `key` that is said to be for
/// `signing`, `encryption`, `ssh` and the like; a `code` for `auth`, `mfa`, `recovery` and the like;
/// `code_verifier`, `connection_string`, and `sid` and `confirm` by themselves. Words end where a case
/// changes, and at all that is no letter. The case makes no difference (`API-Key`), nor do a plural,
/// digits, escapes, a `value` or `header` behind it (`token_value`), nor what stands before a `/` or a
/// `.` in it (`user/pin`). Kept are `null`, `true` and `false`, numbers under a plural, which count
/// (`tokens`), what counts tokens (`max_tokens`), and MCP's `progressToken`.
///
/// The same names count as the option before an argument, `["--password", "…"]`, as the first of two
/// strings, `["X-Api-Key", "…"]`, as the `name` or the `key` before a `value`,
/// `{"name": "password", "value": "…"}`, and as columns before their rows:
/// `{"columns": [{"name": "password"}], "rows": [["…"]]}`.
///
/// Of a call of no method, and of what is refused as no call, nobody knows what params by position are:
/// texts among them are replaced.
///
/// The same is done inside of strings that hold JSON. In any other string in which such a name stands
/// before a `:` or a `=`, or `sig` or `signature` in the query of a URL, all that follows is replaced:
/// `https://host/?token=[redacted]`. So are the password of a URL, `postgres://user:[redacted]@host`,
/// and the word behind `Bearer`, and behind `Basic` if it is not all small letters.
///
/// What was replaced in the part of a request that is kept is also replaced wherever else it stands, in a
/// string, in a name or as a number, there and in what the call is answered: up to 64 texts and numbers of
/// six bytes or more, with 8 KiB together. Of what follows a name in a string that is no JSON, that is all
/// of it, and its first word. So are strings and numbers that were replaced in a response, in that response.
/// Where the `structuredContent` of a tool's result has a secret, all of the `content` before it, which says
/// the same in words, is replaced.
///
/// A text that is not JSON is kept up to where it ceases to be JSON, and so is one that nests deeper
/// than 128: behind that, nothing tells which text is a secret.
///
/// What this cannot know is a secret under another name: as a literal of SQL, and as what is bound to it
/// by position; in rows whose columns stand behind them; as a result that is nothing but a string, in
/// prose; as the user of a URL (`https://TOKEN@host`), or a password in one that holds a `/` as it is;
/// behind a short option (`-p`), or one with escapes in it; as a `value` that stands before its `name`;
/// as a `signature` outside of a query.
/// [`name`](Self::name) and [`then`](Self::then) are for those.
#[derive(Clone)]
pub struct Redaction {
    names: Names,
    hooks: Vec<Arc<Hook>>,
}

/// Which names stand before secrets.
#[derive(Clone)]
enum Names {
    /// None: texts are kept as they are.
    None,
    /// Those that look secret, and these.
    Secret(Vec<Box<str>>),
}

type Hook = dyn Fn(&str, &mut String) + Send + Sync;

impl Redaction {
    /// Takes nothing out: texts are kept as they were sent, white space and all.
    #[must_use]
    pub fn none() -> Self {
        Self { names: Names::None, hooks: Vec::new() }
    }

    /// Takes out the values of members of this name, too: `ssn`.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        let name = names::plain(name).into();
        match &mut self.names {
            Names::None => self.names = Names::Secret(vec![name]),
            Names::Secret(names) => names.push(name),
        }
        self
    }

    /// Has `hook` change what is left of each text, which may be cut. It is told the method, which is
    /// empty where none is known. It runs for each call, so it should be quick. When it panics, nothing
    /// of the text is kept.
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

    /// What is kept of a text, at most so many bytes, and the secrets that were found in it.
    pub(super) fn keep(
        &self,
        about: About<'_>,
        passage: Passage<'_>,
        limit: usize,
        known: &Known,
    ) -> (Text, Known) {
        let (copied, found) = match &self.names {
            Names::None => (Copied::plain(passage, limit), Known::default()),
            Names::Secret(more) => {
                let is_secret = |name: &str| looks_secret(name) || names::is_one_of(name, more);
                let copy = |known: &Known| copy(passage, about.side, limit, &is_secret, known);
                let (copied, learned) = copy(known);
                let found = Known::from(learned);
                // What has a secret's name in one place may have none in another, before it or behind.
                if found.may_be_in(&copied.text) {
                    (copy(&known.with(&found)).0, found)
                } else {
                    (copied, found)
                }
            }
        };
        let Copied { mut text, is_whole } = copied;
        for hook in &self.hooks {
            // The entry is made outside of the layer that catches panics.
            if catch_unwind(AssertUnwindSafe(|| hook(about.method, &mut text))).is_err() {
                tracing::error!("a redaction hook panicked; the text is not kept");
                text.clear();
            }
        }
        let end = beginning(&text, limit).len();
        let is_cut = (!is_whole || end < text.len()) && passage.len() > 0;
        text.truncate(end);
        (Text { text: text.into(), bytes: passage.len(), is_cut }, found)
    }
}

impl Default for Redaction {
    fn default() -> Self {
        Self { names: Names::Secret(Vec::new()), hooks: Vec::new() }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = match &self.names {
            Names::None => None,
            Names::Secret(more) => Some(more),
        };
        f.debug_struct("Redaction").field("names", &more).field("hooks", &self.hooks.len()).finish()
    }
}
