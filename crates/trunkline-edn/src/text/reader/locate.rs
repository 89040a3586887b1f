//! Where in a text a part of its value stands.

use super::frame::{self, Kind};
use super::{Limits, Read, Reader};
use crate::error::Error;
use crate::location::{Leg, Position, Step};
use crate::value::Set;

impl Error {
    /// The same error of a value, with the position in the text that the value was read from: that
    /// of the part to which the path leads, or of the key in it that is wrong. The text is read once
    /// more. An error that has a position keeps it.
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
        match part(text, self.legs()) {
            Some(offset) => self.at(Position::of(text, offset)),
            None => self,
        }
    }
}

/// Where the part begins to which these legs lead, from the innermost.
fn part(text: &str, legs: &[Leg]) -> Option<usize> {
    let mut reader = Reader::again(text, 0);
    let mut way = Way { legs, taken: Vec::new(), is_wanted: None };
    loop {
        reader.skip_space().ok()?;
        if way.leads_to(&reader) && reader.is_at_part() {
            return Some(reader.at);
        }
        reader.pass()?;
    }
}

impl Reader<'_> {
    /// Where a key stands for the second time in the map or the set that begins here.
    pub(super) fn second_key(&self, collection: usize) -> Option<usize> {
        let mut reader = Reader::again(self.text, collection);
        reader.discarding = self.discarding;
        reader.pass()?;
        let mut starts = Vec::new();
        loop {
            reader.skip_space().ok()?;
            if reader.frames.len() == 1 {
                if matches!(reader.peek(), Some(b'}')) {
                    break;
                }
                // What was discarded at this place is no part.
                starts.truncate(reader.values.len());
                starts.push(reader.at);
            }
            reader.pass()?;
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
    /// Of a text that was read before, within whatever limits.
    fn again(text: &'a str, at: usize) -> Self {
        let limits = Limits { depth: usize::MAX, digits: usize::MAX, namespaces: usize::MAX };
        Self { at, ..Self::with_limits(text, limits) }
    }

    /// Reads what begins at this place, where there is no white space. None if that is all.
    fn pass(&mut self) -> Option<()> {
        let start = self.at;
        match self.read_one().ok()? {
            Read::Value => (!self.place(start).ok()?).then_some(()),
            Read::Open => Some(()),
            Read::End => None,
        }
    }

    /// Whether what begins here is a part of what is around it.
    fn is_at_part(&self) -> bool {
        let is_end = matches!(self.peek(), None | Some(b')' | b']' | b'}'));
        !is_end && !self.text[self.at..].starts_with("#_")
    }
}

/// The way to a part.
struct Way<'a> {
    /// From the innermost.
    legs: &'a [Leg],
    /// For each frame on the way, from the outermost, how many legs it and those around it take. None
    /// of them moves on but the innermost.
    taken: Vec<usize>,
    /// Whether the key that was read last has the text that is wanted. Making that text may take long,
    /// and much may be discarded before the value.
    is_wanted: Option<bool>,
}

impl Way<'_> {
    /// Whether it leads to what begins where the reader is. To be asked at the beginning of each form.
    fn leads_to(&mut self, reader: &Reader<'_>) -> bool {
        let Some((frame, outer)) = reader.frames.split_last() else {
            return self.legs.is_empty();
        };
        self.taken.truncate(outer.len());
        if self.taken.len() < outer.len() {
            return false;
        }
        let before = self.taken.last().copied().unwrap_or(0);
        let after = match frame.kind {
            Kind::Tag(_) | Kind::WithMetadata => before,
            Kind::Discard | Kind::Metadata | Kind::Symbolic => return false,
            _ => {
                let parts = &reader.values[frame.start..];
                let is_next = match self.legs.iter().nth_back(before) {
                    Some(Leg::Part(at)) => parts.len() == *at,
                    // A key is next.
                    Some(Leg::Value(_)) if parts.len().is_multiple_of(2) => {
                        self.is_wanted = None;
                        false
                    }
                    Some(Leg::Value(wanted)) => {
                        let is_key = |step| matches!(step, Step::Key(text) if text == *wanted);
                        *self.is_wanted.get_or_insert_with(|| frame.step(parts).is_some_and(is_key))
                    }
                    None => false,
                };
                if !is_next {
                    return false;
                }
                before + 1
            }
        };
        self.taken.push(after);
        after == self.legs.len()
    }
}
