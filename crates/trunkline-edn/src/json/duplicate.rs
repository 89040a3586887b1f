//! Keys that stand twice in an object of a text.

use std::collections::HashSet;

use super::read::{Fault, Reader};
use super::text;
use crate::error::{Reason, shown};

impl Reader<'_> {
    /// Where a key stands for the second time in the object that begins here and is else right.
    pub(super) fn second_key(&self, object: usize) -> Option<Fault> {
        let mut reader = Reader::new(self.text);
        reader.options.depth = usize::MAX;
        reader.at = object;
        let mut keys = HashSet::new();
        loop {
            // A bracket, or a comma.
            reader.at += 1;
            reader.skip_space();
            let offset = reader.at;
            let key = reader.string().ok()?;
            if keys.contains(&key) {
                let mut text = String::new();
                text::write(&key, &mut text);
                let reason = Reason::DuplicateKey { key: shown(&text) };
                return Some(Fault { reason, offset });
            }
            keys.insert(key);
            reader.colon().ok()?;
            reader.document().ok()?;
            reader.skip_space();
        }
    }
}
