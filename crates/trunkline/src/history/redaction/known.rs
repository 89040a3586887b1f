//! Secrets that were found by their names, and may stand elsewhere without them.

use super::passage::{REDACTED, Side};
use crate::history::beginning::beginning;

/// The texts of secrets that were found, while they are looked for.
#[derive(Debug)]
pub(super) struct Learned {
    texts: Vec<Box<str>>,
    bytes: usize,
    is_of_request: bool,
}

/// The texts of secrets that are taken out wherever they stand.
#[derive(Debug, Default)]
pub(in crate::history) struct Known {
    /// Sorted, so that those with one first byte are neighbours.
    texts: Vec<Box<str>>,
    /// A bit for each byte that one begins with.
    firsts: [u64; 4],
}

/// A shorter text is also part of others: `abc`.
const SHORTEST: usize = 6;
/// The most texts of one request or response, and the bytes of them together.
const TEXTS: usize = 64;
const BYTES: usize = 8 << 10;
/// What a schema says of a secret: `{"password": "string"}`.
const TYPES: [&str; 5] = ["boolean", "integer", "number", "object", "string"];

impl Learned {
    pub(super) fn of(side: Side<'_>) -> Self {
        let is_of_request = matches!(side, Side::Request { .. });
        Self { texts: Vec::new(), bytes: 0, is_of_request }
    }

    /// Learns the texts and numbers of a secret that was written in JSON. In a response, an object under
    /// a secret's name is more likely what a schema says of it.
    pub(super) fn learn_json(&mut self, json: &str) {
        let is_text = !json.starts_with(['[', '{']);
        if (is_text || self.is_of_request) && self.has_room() {
            let value = beginning(json, 4 * BYTES);
            if let Ok(value) = serde_json::from_str(value) {
                self.learn_value(value);
            }
        }
    }

    fn learn_value(&mut self, value: serde_json::Value) {
        match value {
            serde_json::Value::String(text) if TYPES.contains(&&*text) => {}
            serde_json::Value::String(text) => self.learn(&text),
            serde_json::Value::Number(number) => self.learn(&number.to_string()),
            serde_json::Value::Array(values) => {
                values.into_iter().for_each(|value| self.learn_value(value));
            }
            serde_json::Value::Object(members) => {
                members.into_iter().for_each(|(_, value)| self.learn_value(value));
            }
            _ => {}
        }
    }

    /// Learns what stands behind a secret's name in a sentence, and the first word of it, which may be the
    /// secret alone. What a server says is mostly about secrets: `password: required`.
    pub(super) fn learn_prose(&mut self, text: &str) {
        if self.is_of_request {
            self.learn(text);
            let is_end = |char: char| char.is_whitespace() || "\"'`\\&".contains(char);
            let word = text.trim_start().split(is_end).next().unwrap_or_default();
            self.learn(word.trim_end_matches([',', ';', '.', ')', ']', '}']));
        }
    }

    fn learn(&mut self, text: &str) {
        let text = text.trim();
        let is_new = || !self.texts.iter().any(|known| **known == *text);
        if text.len() >= SHORTEST && self.has_room() && self.bytes + text.len() <= BYTES && is_new()
        {
            self.bytes += text.len();
            self.texts.push(text.into());
        }
    }

    fn has_room(&self) -> bool {
        self.texts.len() < TEXTS
    }

    pub(super) fn append(&mut self, other: Self) {
        other.texts.iter().for_each(|text| self.learn(text));
    }
}

impl Known {
    fn new(mut texts: Vec<Box<str>>) -> Self {
        texts.sort_unstable();
        let mut firsts = [0; 4];
        for first in texts.iter().filter_map(|text| text.bytes().next()) {
            firsts[usize::from(first >> 6)] |= 1 << (first & 63);
        }
        Self { texts, firsts }
    }

    /// These and others.
    pub(super) fn with(&self, others: &Self) -> Self {
        Self::new(self.texts.iter().chain(&others.texts).cloned().collect())
    }

    /// The bytes of the longest one.
    pub(super) fn longest(&self) -> usize {
        self.texts.iter().map(|text| text.len()).max().unwrap_or(0)
    }

    /// Whether a text is one of them.
    pub(super) fn has(&self, text: &str) -> bool {
        self.texts.binary_search_by(|known| (**known).cmp(text)).is_ok()
    }

    /// Whether a JSON text may have one in it. Where there are escapes, nobody knows.
    pub(super) fn may_be_in(&self, json: &str) -> bool {
        !self.texts.is_empty() && (json.contains('\\') || self.redacted(json, false).is_some())
    }

    /// A text without them; none if it has none. What one that is not whole ends in is one if it begins
    /// like one.
    pub(super) fn redacted(&self, text: &str, is_whole: bool) -> Option<String> {
        if self.texts.is_empty() {
            return None;
        }
        let bytes = text.as_bytes();
        let mut out = String::new();
        let mut copied = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let is_first = self.firsts[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1;
            let Some(length) = is_first.then(|| self.at(&bytes[at..], is_whole)).flatten() else {
                continue;
            };
            // Where they overlap, there is one end.
            if at >= copied {
                out.push_str(&text[copied..at]);
                out.push_str(REDACTED);
            }
            copied = copied.max(at + length);
        }
        (copied > 0).then(|| out + &text[copied..])
    }

    /// The length of the longest one that a text begins with.
    fn at(&self, text: &[u8], is_whole: bool) -> Option<usize> {
        let first = &text[..1];
        let start = self.texts.partition_point(|known| known.as_bytes() < first);
        let candidates = self.texts[start..].iter().map(|known| known.as_bytes());
        let fits = |known: &[u8]| text.starts_with(known) || (!is_whole && known.starts_with(text));
        let fitting =
            candidates.take_while(|known| known.starts_with(first)).filter(|known| fits(known));
        fitting.map(|known| known.len().min(text.len())).max()
    }
}

impl From<Learned> for Known {
    fn from(learned: Learned) -> Self {
        Self::new(learned.texts)
    }
}
