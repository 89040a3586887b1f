//! Keywords that were read keywords: most documents have the same few again and again.

use crate::syntax;
use crate::value::Keyword;

/// So many are kept, each in the one place that its text has.
const PLACES: usize = 64;

/// Finding a keyword here costs less than checking its text and making it anew, and long ones share
/// their text.
#[derive(Debug, Default)]
pub(super) struct KeywordCache(Vec<Option<Keyword>>);

impl KeywordCache {
    pub(super) fn find(&self, text: &str) -> Option<Keyword> {
        let known = self.0.get(place(text))?.as_ref()?;
        (known.as_str() == text).then(|| known.clone())
    }

    pub(super) fn keep(&mut self, keyword: &Keyword) {
        if self.0.is_empty() {
            self.0.resize(PLACES, None);
        }
        self.0[place(keyword.as_str())] = Some(keyword.clone());
    }
}

fn place(text: &str) -> usize {
    syntax::fingerprint(text) % PLACES
}
