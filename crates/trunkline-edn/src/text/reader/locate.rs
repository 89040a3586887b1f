//! Locates values in the text that they were read from.

use super::form::{self, Kind};
use super::{Limits, Opening, Reader};
use crate::error::Error;
use crate::location::{FormStep, Position, Step};
use crate::scanner::Scanner;
use crate::value::Set;

impl Error {
    /// Adds the position of the value at the path, or of an invalid key in it. `text` must be the text that the value
    /// was read from; it is read again. An existing position is kept.
    ///
    /// ```
    /// use trunkline_edn::{Value, json};
    ///
    /// let text = "{:scores\n [1.5 ##NaN]}";
    /// let scores: Value = text.parse()?;
    /// let error = json::to_string(&scores).unwrap_err();
    /// assert_eq!(error.to_string(), "in /scores/1: JSON cannot represent ##NaN");
    /// let error = error.located_in(text);
    /// assert_eq!(error.to_string(), "line 2, column 7, in /scores/1: JSON cannot represent ##NaN");
    /// # Ok::<(), trunkline_edn::Error>(())
    /// ```
    #[must_use]
    pub fn located_in(self, text: &str) -> Self {
        if self.position().is_some() {
            return self;
        }
        match offset_of(text, self.form_path()) {
            Some(offset) => self.at(Position::of(text, offset)),
            None => self,
        }
    }
}

/// The offset of the form that these steps lead to, from the innermost.
fn offset_of(text: &str, steps: &[FormStep]) -> Option<usize> {
    let mut reader = Reader::unlimited(text, 0);
    reader.skip_space(0).ok()?;
    steps.iter().rev().try_for_each(|step| reader.enter(step))?;
    let is_value = !matches!(reader.input.peek()?, b')' | b']' | b'}');
    is_value.then_some(reader.input.at)
}

impl<'a> Reader<'a> {
    /// A reader without limits, for valid text.
    fn unlimited(text: &'a str, at: usize) -> Self {
        let limits = Limits { depth: usize::MAX, digits: usize::MAX, namespaces: usize::MAX };
        Self { input: Scanner { text, at }, ..Self::with_limits(text, limits) }
    }

    /// Moves from the start of a collection, including its tags and metadata, to the form at a step.
    fn enter(&mut self, step: &FormStep) -> Option<()> {
        let kind = self.enter_collection()?;
        let (mut count, mut key) = (0, None);
        loop {
            self.skip_space(1).ok()?;
            let is_found = match step {
                FormStep::Nth(at) => count == *at,
                FormStep::ValueOf(text) => {
                    let last = key.take().filter(|_| count % 2 == 1);
                    let found = last.and_then(|key| kind.step(&[key]));
                    matches!(found, Some(Step::Key(found)) if found == *text)
                }
            };
            if is_found {
                return Some(());
            }
            key = Some(self.next_value(1, "").ok()?.0);
            count += 1;
        }
    }

    /// Skips the opening bracket of a collection, and the tags and metadata before it.
    fn enter_collection(&mut self) -> Option<Kind<'a>> {
        loop {
            if !matches!(self.input.peek()?, b'(' | b'[' | b'{' | b'#' | b'^') {
                return None;
            }
            match self.opening().ok()? {
                Opening::Collection(kind) => return Some(kind),
                Opening::Tag(_) => {}
                Opening::Metadata => drop(self.next_value(1, "").ok()?),
                Opening::Symbolic => return None,
            }
            self.skip_space(1).ok()?;
        }
    }

    /// The offset of the first duplicate in a map or a set.
    pub(super) fn duplicate_offset(&self, collection: usize) -> Option<usize> {
        let mut reader = Reader::unlimited(self.input.text, collection);
        reader.discarding = self.discarding;
        let kind = reader.enter_collection()?;
        let mut seen = Set::new();
        loop {
            let (mut key, offset) = reader.next_value(1, "").ok()?;
            if let Kind::Map(namespace) = kind {
                namespace.map_or(Ok(()), |namespace| form::qualify(&mut key, namespace)).ok()?;
                reader.next_value(1, "").ok()?;
            }
            if !seen.insert(key) {
                return Some(offset);
            }
        }
    }
}
