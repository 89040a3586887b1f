//! Texts, and what is known of them.

/// In place of a secret.
pub(super) const REDACTED: &str = "[redacted]";

/// Whether a name stands before a secret.
pub(super) type IsSecret<'a> = dyn Fn(&str) -> bool + 'a;

/// What is known of the call that a text belongs to.
#[derive(Debug, Clone, Copy)]
pub(in crate::history) struct About<'a> {
    pub(in crate::history) method: &'a str,
    pub(in crate::history) side: Side<'a>,
}

/// Who has said a text.
#[derive(Debug, Clone, Copy)]
pub(in crate::history) enum Side<'a> {
    Request {
        /// The names of the params, in their order; none where nobody knows.
        params: Option<&'a [&'static str]>,
    },
    Response,
}

/// A text that is kept: JSON, in what is known to hold no secret.
#[derive(Debug, Clone, Copy)]
pub(in crate::history) struct Passage<'a> {
    pub(in crate::history) start: &'static [u8],
    pub(in crate::history) body: &'a [u8],
    pub(in crate::history) end: &'a [u8],
}

impl<'a> Passage<'a> {
    pub(in crate::history) fn whole(body: &'a [u8]) -> Self {
        Self { start: b"", body, end: b"" }
    }

    pub(in crate::history) fn len(&self) -> usize {
        self.start.len() + self.body.len() + self.end.len()
    }
}
