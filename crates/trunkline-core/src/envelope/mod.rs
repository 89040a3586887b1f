//! Parsing of message bodies into requests, in one pass, as spans of the body.
//!
//! The whole body is validated before any call runs, so a body that is not valid JSON has no effect.
//! The reference on the protocol lists the decisions where JSON-RPC 2.0 leaves a choice.

mod canonical;
mod fault;
mod grammar;
mod items;
mod member;
mod plain;
mod refusal;
mod scan;
mod span;
#[cfg(test)]
mod tests;

pub use canonical::canonical;
pub use grammar::Kind;
pub use items::{Elements, Members};
pub(crate) use member::Entry;
pub use member::{InvalidReason, InvalidRequest, Member, Request};
pub use scan::Scanner;
pub use span::{Span, Text};

pub use fault::ScanError;

/// A parsed body.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// A request or a notification.
    Single(Entry),
    /// At least one entry.
    Batch(Vec<Entry>),
}

impl Message {
    /// Replaces each entry.
    pub(crate) fn map(self, replace: impl Fn(Entry) -> Entry) -> Self {
        match self {
            Self::Single(entry) => Self::Single(replace(entry)),
            Self::Batch(entries) => Self::Batch(entries.into_iter().map(replace).collect()),
        }
    }
}

/// The reason why a whole body is rejected.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyError {
    /// Only white space (-32700).
    Empty,
    /// Not JSON (-32700).
    Parse(ScanError),
    /// Not UTF-8 (-32700).
    NotUtf8 {
        /// The offset of the first invalid byte.
        offset: usize,
    },
    /// `[]` (-32600).
    EmptyBatch,
    /// Larger than 4 GiB, the maximum of offsets (-32600).
    TooLong,
    /// The batch has more entries than the limit (-32600).
    BatchTooLong {
        /// The maximum number of requests.
        limit: usize,
    },
}

impl From<ScanError> for BodyError {
    fn from(error: ScanError) -> Self {
        Self::Parse(error)
    }
}

/// Offsets have 32 bits. Transports have much lower limits.
const MAX_TEXT: usize = u32::MAX as usize;

/// Parses a body.
pub fn parse(text: &[u8], max_depth: usize, max_batch: usize) -> Result<Message, BodyError> {
    if text.len() > MAX_TEXT {
        return Err(BodyError::TooLong);
    }
    if let Err(error) = std::str::from_utf8(text) {
        let offset = error.valid_up_to();
        return Err(BodyError::NotUtf8 { offset });
    }
    let start = grammar::space(text, 0);
    let (message, end) = match text.get(start) {
        None => return Err(BodyError::Empty),
        Some(b'[') => batch(text, start, max_depth, max_batch)?,
        Some(_) => {
            let (entry, end) = member::request(text, start, max_depth)?;
            (Message::Single(entry), end)
        }
    };
    grammar::end(text, end)?;
    match message {
        Message::Batch(entries) if entries.is_empty() => Err(BodyError::EmptyBatch),
        message => Ok(message),
    }
}

fn batch(
    text: &[u8],
    at: usize,
    max_depth: usize,
    limit: usize,
) -> Result<(Message, usize), BodyError> {
    let depth = grammar::nested(at, max_depth)?;
    let mut entries = Vec::new();
    let mut at = grammar::space(text, at + 1);
    let mut more = text.get(at) != Some(&b']');
    at += usize::from(!more);
    while more {
        // The rest is not parsed: a batch over the limit must not cost more than one within it.
        if entries.len() == limit {
            return Err(BodyError::BatchTooLong { limit });
        }
        let (entry, end) = member::request(text, grammar::space(text, at), depth)?;
        entries.push(entry);
        (more, at) = grammar::separator(text, end, b']')?;
    }
    Ok((Message::Batch(entries), at))
}

impl BodyError {
    /// The message for the sender.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Empty => "the body is empty".into(),
            Self::Parse(error) => error.reason.to_string(),
            Self::NotUtf8 { .. } => "the body is not UTF-8".into(),
            Self::EmptyBatch => "a batch must contain at least one request".into(),
            Self::TooLong => "the body must be smaller than 4 GiB".into(),
            Self::BatchTooLong { limit } => {
                format!("a batch must contain at most {limit} requests; no request was run")
            }
        }
    }

    /// The offset at which parsing stopped.
    pub(crate) fn offset(&self) -> Option<usize> {
        match self {
            Self::Empty => Some(0),
            Self::Parse(error) => Some(error.offset as usize),
            Self::NotUtf8 { offset } => Some(*offset),
            Self::EmptyBatch | Self::TooLong | Self::BatchTooLong { .. } => None,
        }
    }
}

/// Removes the white space between the tokens of `json`, which must be valid.
#[must_use]
pub fn compact(json: &str) -> String {
    let (mut is_string, mut is_escaped) = (false, false);
    let is_kept = |c: &char| {
        let is_kept = is_string || !c.is_ascii_whitespace();
        is_string ^= *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && is_string && !is_escaped;
        is_kept
    };
    json.chars().filter(is_kept).collect()
}
