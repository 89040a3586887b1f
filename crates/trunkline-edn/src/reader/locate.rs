//! Where in a text a part of its value stands.

use super::frame::{Frame, Kind};
use super::{Read, Reader};
use crate::error::{Error, Reason, shown};
use crate::json::{self, ToJson};
use crate::limits::Limits;
use crate::path::Step;
use crate::position::Position;
use crate::value::Value;

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
        let Some(part) = part(text, self.path().steps()) else { return self };
        let offset = key(text, part, self.reason()).unwrap_or(part);
        let path = self.path().clone();
        self.at(path, Position::of(text, offset))
    }
}

/// Where the part begins to which these steps lead.
fn part(text: &str, steps: &[Step]) -> Option<usize> {
    let mut reader = Reader::again(text, 0);
    let mut way = Way { steps, taken: Vec::new() };
    loop {
        reader.skip_space().ok()?;
        if way.leads_to(&reader) && !reader.is_at_discard() {
            return Some(reader.at);
        }
        reader.pass()?;
    }
}

/// Where the key begins that is wrong in the map that begins here, if that is what is wrong.
fn key(text: &str, map: usize, reason: &Reason) -> Option<usize> {
    let text_of = |key: &Value, names| {
        let text = json::text_of(key, &ToJson { names, unwrap_tags: true });
        text.ok().map(|text| shown(&text))
    };
    let is_map = text[map..].starts_with('{') || text[map..].starts_with("#:");
    match reason {
        Reason::NoJsonKey { .. } => first_key(text, map, |key| text_of(key, false).is_none()),
        // It may as well be that of the map.
        Reason::UnknownTag { .. } if is_map => {
            first_key(text, map, |key| matches!(key, Value::Tagged(_)))
        }
        Reason::SameJsonKey { key: wanted } => {
            let second = |names| {
                let mut seen = 0;
                first_key(text, map, |key| {
                    let is_same = text_of(key, names).as_ref() == Some(wanted);
                    seen += usize::from(is_same);
                    is_same && seen == 2
                })
            };
            second(false).or_else(|| second(true))
        }
        _ => None,
    }
}

/// Where the first such key begins in the map that begins here.
fn first_key(text: &str, map: usize, mut is_wanted: impl FnMut(&Value) -> bool) -> Option<usize> {
    let mut reader = Reader::again(text, map);
    let mut begun = None;
    loop {
        reader.skip_space().ok()?;
        if reader.is_before_key() && !reader.is_at_discard() {
            begun = Some(reader.at);
        }
        reader.pass()?;
        if reader.is_in_outer_map()
            && !reader.is_before_key()
            && let Some(start) = begun.take()
        {
            let (frame, key) = (reader.frames.last()?, reader.values.last()?);
            if is_wanted(&frame.key(key)) {
                return Some(start);
            }
        }
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

    fn is_at_discard(&self) -> bool {
        self.text[self.at..].starts_with("#_")
    }

    /// Whether the next form is a part of the outermost map itself.
    fn is_in_outer_map(&self) -> bool {
        let Some((last, outer)) = self.frames.split_last() else { return false };
        let is_prefix = |frame: &Frame| matches!(frame.kind, Kind::Tag(_) | Kind::WithMetadata);
        matches!(last.kind, Kind::Map | Kind::NamespacedMap(_)) && outer.iter().all(is_prefix)
    }

    /// Whether the next form is a key of the outermost map.
    fn is_before_key(&self) -> bool {
        let start = self.frames.last().map_or(0, |frame| frame.start);
        self.is_in_outer_map() && (self.values.len() - start).is_multiple_of(2)
    }
}

/// The way to a part.
struct Way<'a> {
    steps: &'a [Step],
    /// For each frame on the way, from the outermost, how many steps it and those around it take. None
    /// of them moves on but the innermost.
    taken: Vec<usize>,
}

impl Way<'_> {
    /// Whether it leads to what begins where the reader is. To be asked at the beginning of each form.
    fn leads_to(&mut self, reader: &Reader<'_>) -> bool {
        let Some((frame, outer)) = reader.frames.split_last() else {
            return self.steps.is_empty();
        };
        self.taken.truncate(outer.len());
        if self.taken.len() < outer.len() {
            return false;
        }
        let before = self.taken.last().copied().unwrap_or(0);
        let after = match frame.kind {
            Kind::Tag(_) | Kind::WithMetadata => before,
            Kind::Discard | Kind::Metadata | Kind::Symbolic => return false,
            _ => match frame.step(&reader.values[frame.start..]) {
                Some(step) if self.steps.get(before) == Some(&step) => before + 1,
                _ => return false,
            },
        };
        self.taken.push(after);
        after == self.steps.len()
    }
}
