//! Secrets that a request had, which may come back in what it is answered.

use super::REDACTED;
use crate::history::beginning::beginning;

/// The texts of secrets that were found, while they are looked for.
#[derive(Debug, Default)]
pub(super) struct Learned {
    texts: Vec<Box<str>>,
    bytes: usize,
}

/// The texts of secrets that are taken out wherever they stand, the longest first.
#[derive(Debug, Default)]
pub(in crate::history) struct Known(Vec<Box<str>>);

/// A shorter text is also part of others: `abc`.
const SHORTEST: usize = 6;
/// The most texts of one request, and the bytes of them together.
const TEXTS: usize = 16;
const BYTES: usize = 8 << 10;

impl Learned {
    /// Learns the strings of a secret that was written in JSON.
    pub(super) fn learn_json(&mut self, json: &str) {
        if json.starts_with(['"', '[', '{']) && self.has_room() {
            let value = beginning(json, 4 * BYTES);
            if let Ok(value) = serde_json::from_str(value) {
                self.learn_value(value);
            }
        }
    }

    fn learn_value(&mut self, value: serde_json::Value) {
        match value {
            serde_json::Value::String(text) => self.learn(&text),
            serde_json::Value::Array(values) => {
                values.into_iter().for_each(|value| self.learn_value(value));
            }
            serde_json::Value::Object(members) => {
                members.into_iter().for_each(|(_, value)| self.learn_value(value));
            }
            _ => {}
        }
    }

    pub(super) fn learn(&mut self, text: &str) {
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
    /// The bytes of the longest one.
    pub(super) fn longest(&self) -> usize {
        self.0.first().map_or(0, |text| text.len())
    }

    /// A text without them; none if it has none.
    pub(super) fn redacted(&self, text: &str) -> Option<String> {
        let mut redacted: Option<String> = None;
        for known in &self.0 {
            let text = redacted.as_deref().unwrap_or(text);
            if text.contains(&**known) {
                redacted = Some(text.replace(&**known, REDACTED));
            }
        }
        redacted
    }
}

impl From<Learned> for Known {
    fn from(Learned { mut texts, .. }: Learned) -> Self {
        // What is part of another one is looked for after it.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(texts)
    }
}
