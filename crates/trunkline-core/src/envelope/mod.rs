//! From a body's bytes to requests: one pass, ranges instead of values.
//!
//! The whole body is validated before anything runs, so that a body that is not JSON never has
//! an effect. Choices where JSON-RPC 2.0 is silent are listed in the chapter on the protocol.

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

pub use grammar::Kind;
pub use items::{Elements, Members};
pub(crate) use member::Entry;
pub use member::{InvalidReason, InvalidRequest, Request};
pub use scan::Scanner;
pub use span::{Span, Text};

pub use fault::ScanError;

/// What a body holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    /// A request or a notification.
    Single(Entry),
    /// At least one entry.
    Batch(Vec<Entry>),
}

/// Why nothing of a body can run.
#[derive(Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Nothing but white space (-32700).
    Empty,
    /// Not JSON (-32700).
    Parse(ScanError),
    /// Not UTF-8 (-32700).
    NotUtf8 {
        /// The first byte that is not UTF-8.
        offset: usize,
    },
    /// `[]` (-32600).
    EmptyBatch,
    /// Longer than offsets can tell (-32600).
    TooLong,
    /// More entries than the limit (-32600).
    BatchTooLong {
        /// How many requests a batch may have.
        limit: usize,
    },
}

impl From<ScanError> for Unreadable {
    fn from(error: ScanError) -> Self {
        Self::Parse(error)
    }
}

/// Offsets are of 32 bits. The limits of the doors are far below.
const MAX_TEXT: usize = u32::MAX as usize;

/// Reads a body.
pub fn parse(text: &[u8], max_depth: usize, max_batch: usize) -> Result<Message, Unreadable> {
    if text.len() > MAX_TEXT {
        return Err(Unreadable::TooLong);
    }
    if let Err(error) = std::str::from_utf8(text) {
        let offset = error.valid_up_to();
        return Err(Unreadable::NotUtf8 { offset });
    }
    let start = grammar::space(text, 0);
    let (message, end) = match text.get(start) {
        None => return Err(Unreadable::Empty),
        Some(b'[') => batch(text, start, max_depth, max_batch)?,
        Some(_) => {
            let (entry, end) = member::request(text, start, max_depth)?;
            (Message::Single(entry), end)
        }
    };
    grammar::end(text, end)?;
    match message {
        Message::Batch(entries) if entries.is_empty() => Err(Unreadable::EmptyBatch),
        message => Ok(message),
    }
}

fn batch(
    text: &[u8],
    at: usize,
    max_depth: usize,
    limit: usize,
) -> Result<(Message, usize), Unreadable> {
    let depth = grammar::nested(at, max_depth)?;
    let mut entries = Vec::new();
    let mut at = grammar::space(text, at + 1);
    let mut more = text.get(at) != Some(&b']');
    at += usize::from(!more);
    while more {
        // The rest is not even read: a batch over the limit must not cost more than one within.
        if entries.len() == limit {
            return Err(Unreadable::BatchTooLong { limit });
        }
        let (entry, end) = member::request(text, grammar::space(text, at), depth)?;
        entries.push(entry);
        (more, at) = grammar::separator(text, end, b']')?;
    }
    Ok((Message::Batch(entries), at))
}

impl Unreadable {
    /// What is wrong, worded for the sender.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Empty => "the body is empty".into(),
            Self::Parse(error) => error.reason.to_string(),
            Self::NotUtf8 { .. } => "the body is not UTF-8".into(),
            Self::EmptyBatch => "a batch holds at least one request".into(),
            Self::TooLong => "a body is shorter than 4 GiB".into(),
            Self::BatchTooLong { limit } => {
                format!("a batch holds at most {limit} requests; nothing of it was run")
            }
        }
    }

    /// The byte at which reading stopped.
    pub(crate) fn offset(&self) -> Option<usize> {
        match self {
            Self::Empty => Some(0),
            Self::Parse(error) => Some(error.offset as usize),
            Self::NotUtf8 { offset } => Some(*offset),
            Self::EmptyBatch | Self::TooLong | Self::BatchTooLong { .. } => None,
        }
    }
}

/// JSON without the white space between its tokens, which are unchanged. `json` was read before.
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
