//! Locates values in the text that they were read from.

use super::frame::{self, Kind};
use super::{Limits, Read, Reader};
use crate::error::Error;
use crate::location::{FormStep, Position, Step};
use crate::value::Set;

impl Error {
    /// Adds the position in the text that the value was read from: the position of the value at the path, or of the
    /// invalid key in it. The text is read again. An existing position is kept.
    ///
    /// ```
    /// use trunkline_edn::{Value, json};
    ///
    /// let text = "{:scores\n [1.5 ##NaN]}";
    /// let scores: Value = text.parse()?;
    /// let error = json::to_string(&scores).unwrap_err();
    /// assert_eq!(error.to_string(), "in /scores/1: JSON has no ##NaN");
    /// let error = error.located_in(text);
    /// assert_eq!(error.to_string(), "line 2, column 7, in /scores/1: JSON has no ##NaN");
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
    let mut search = Search { steps, matched: Vec::new(), is_key_found: None };
    loop {
        reader.skip_space().ok()?;
        if search.finds(&reader) && reader.is_at_value() {
            return Some(reader.at);
        }
        reader.step()?;
    }
}

impl Reader<'_> {
    /// The offset of the first duplicate in a map or a set.
    pub(super) fn duplicate_offset(&self, collection: usize) -> Option<usize> {
        let mut reader = Reader::unlimited(self.text, collection);
        reader.discarding = self.discarding;
        reader.step()?;
        let mut starts = Vec::new();
        loop {
            reader.skip_space().ok()?;
            if reader.frames.len() == 1 {
                if matches!(reader.peek(), Some(b'}')) {
                    break;
                }
                // A discarded form at this index is not a value.
                starts.truncate(reader.values.len());
                starts.push(reader.at);
            }
            reader.step()?;
        }
        let step = match &reader.frames.last()?.kind {
            Kind::Set => 1,
            _ => 2,
        };
        if let Kind::NamespacedMap(namespace) = &reader.frames.last()?.kind {
            let mut keys = reader.values.iter_mut().step_by(step);
            keys.try_for_each(|key| frame::qualify(key, namespace)).ok()?;
        }
        let mut seen = Set::new();
        let parts = std::mem::take(&mut reader.values);
        let mut keys = parts.into_iter().zip(starts).step_by(step);
        keys.find_map(|(key, start)| (!seen.insert(key)).then_some(start))
    }
}

impl<'a> Reader<'a> {
    /// A reader without limits, for text that was read before.
    fn unlimited(text: &'a str, at: usize) -> Self {
        let limits = Limits { depth: usize::MAX, digits: usize::MAX, namespaces: usize::MAX };
        Self { at, ..Self::with_limits(text, limits) }
    }

    /// Reads one step of a form, after white space. Returns `None` at the end of the outermost form.
    fn step(&mut self) -> Option<()> {
        let start = self.at;
        match self.read_one().ok()? {
            Read::Value => (!self.complete(start).ok()?).then_some(()),
            Read::Open => Some(()),
            Read::End => None,
        }
    }

    /// Whether a value begins here, which is not discarded.
    fn is_at_value(&self) -> bool {
        let is_end = matches!(self.peek(), None | Some(b')' | b']' | b'}'));
        !is_end && !self.text[self.at..].starts_with("#_")
    }
}

/// The search for a form.
struct Search<'a> {
    /// The steps to the form, from the innermost.
    steps: &'a [FormStep],
    /// For each frame on the path, from the outermost: the number of steps that it and the frames around it match.
    matched: Vec<usize>,
    /// Whether the last key has the text of the step. Cached: its text may be long, with many discarded forms before
    /// the value.
    is_key_found: Option<bool>,
}

impl Search<'_> {
    /// Whether the form at the reader is the one. It is called at the beginning of each form.
    fn finds(&mut self, reader: &Reader<'_>) -> bool {
        let Some((frame, outer)) = reader.frames.split_last() else {
            return self.steps.is_empty();
        };
        self.matched.truncate(outer.len());
        if self.matched.len() < outer.len() {
            return false;
        }
        let before = self.matched.last().copied().unwrap_or(0);
        let after = match frame.kind {
            Kind::Tag(_) | Kind::WithMetadata => before,
            Kind::Discard | Kind::Metadata | Kind::Symbolic => return false,
            _ => {
                let parts = &reader.values[frame.start..];
                let is_next = match self.steps.iter().nth_back(before) {
                    Some(FormStep::Nth(at)) => parts.len() == *at,
                    // A key is next.
                    Some(FormStep::ValueOf(_)) if parts.len().is_multiple_of(2) => {
                        self.is_key_found = None;
                        false
                    }
                    Some(FormStep::ValueOf(text)) => {
                        let is_key = |step| matches!(step, Step::Key(key) if key == *text);
                        *self
                            .is_key_found
                            .get_or_insert_with(|| frame.step(parts).is_some_and(is_key))
                    }
                    None => false,
                };
                if !is_next {
                    return false;
                }
                before + 1
            }
        };
        self.matched.push(after);
        after == self.steps.len()
    }
}
