//! JSON text in a form that depends only on its values.

use std::borrow::Cow;

use super::grammar::{self, Kind};
use super::items::{first, following};
use super::{Span, Text};

/// The text of `json`, which must be valid, without white space between its tokens, with the members of objects in the
/// order of their names, and with the shortest escapes. Numbers are unchanged: `1.0` and `1` differ.
///
/// The time does not depend on the depth: members are sorted by skipping their values, which are not scanned for that.
#[must_use]
pub fn canonical(json: &[u8]) -> Vec<u8> {
    let (text, containers) = (Vec::with_capacity(json.len()), containers(json));
    let mut writer = Writer { json, containers, text };
    writer.value(Position { at: grammar::space(json, 0), container: 0 });
    writer.text
}

/// An array or object of the text.
#[derive(Clone, Copy, Default)]
struct Container {
    /// The offset after it.
    end: u32,
    /// The index of the first container after it.
    next: u32,
}

/// All arrays and objects, in the order of their beginnings.
fn containers(json: &[u8]) -> Vec<Container> {
    let (mut containers, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                open.push(containers.len());
                containers.push(Container::default());
            }
            b'}' | b']' => {
                let next = containers.len() as u32;
                if let Some(closed) = open.pop().and_then(|index| containers.get_mut(index)) {
                    *closed = Container { end: at as u32, next };
                }
            }
            b'"' => match grammar::string(json, at - 1) {
                Ok(end) => at = end.offset(),
                Err(_) => break,
            },
            _ => {}
        }
    }
    containers
}

/// The place of a value.
#[derive(Clone, Copy)]
struct Position {
    at: usize,
    /// The index of the first container that is not before the value.
    container: usize,
}

struct Writer<'a> {
    json: &'a [u8],
    containers: Vec<Container>,
    text: Vec<u8>,
}

/// The methods return `None` if the text is not valid.
impl<'a> Writer<'a> {
    /// Appends a value, and returns the place after it.
    fn value(&mut self, value: Position) -> Option<Position> {
        match self.json.get(value.at)? {
            b'{' => self.object(value),
            b'[' => self.array(value),
            _ => {
                let (kind, at) = grammar::kind_and_end(self.json, value.at, 0).ok()?;
                let span = Span::new(value.at, at);
                match kind {
                    Kind::String { escaped: true } => {
                        self.string(&Text { span, escaped: true }.value(self.json));
                    }
                    _ => self.text.extend_from_slice(span.of(self.json)),
                }
                Some(Position { at, ..value })
            }
        }
    }

    fn array(&mut self, array: Position) -> Option<Position> {
        let after = self.skip(array)?;
        self.text.push(b'[');
        let start = self.text.len();
        let mut container = array.container + 1;
        let mut next = first(self.json, array.at, b']');
        while let Some(at) = next {
            self.separate(start);
            let end = self.value(Position { at, container })?;
            container = end.container;
            next = following(self.json, end.at, b']');
        }
        self.text.push(b']');
        Some(after)
    }

    fn object(&mut self, object: Position) -> Option<Position> {
        let after = self.skip(object)?;
        let mut members = self.members(object)?;
        // Stable: duplicates keep their order, on which their meaning depends.
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.text.push(b'{');
        let start = self.text.len();
        for (name, value) in members {
            self.separate(start);
            self.string(&name);
            self.text.push(b':');
            self.value(value)?;
        }
        self.text.push(b'}');
        Some(after)
    }

    /// The names and values of an object.
    fn members(&self, object: Position) -> Option<Vec<(Cow<'a, str>, Position)>> {
        let mut members = Vec::new();
        let mut container = object.container + 1;
        let mut next = first(self.json, object.at, b'}');
        while let Some(at) = next {
            let end = grammar::name(self.json, at).ok()?;
            let name = Text { span: Span::new(at, end.offset()), escaped: end.escaped };
            let at = grammar::space(self.json, grammar::colon(self.json, end.offset()).ok()?);
            let value = Position { at, container };
            let after = self.skip(value)?;
            members.push((name.value(self.json), value));
            container = after.container;
            next = following(self.json, after.at, b'}');
        }
        Some(members)
    }

    /// The place after a value. Arrays and objects are not scanned.
    fn skip(&self, value: Position) -> Option<Position> {
        match self.json.get(value.at)? {
            b'{' | b'[' => {
                let Container { end, next } = *self.containers.get(value.container)?;
                Some(Position { at: end as usize, container: next as usize })
            }
            _ => Some(Position { at: grammar::value(self.json, value.at, 0).ok()?, ..value }),
        }
    }

    /// Appends a comma, except before the first item.
    fn separate(&mut self, start: usize) {
        if self.text.len() > start {
            self.text.push(b',');
        }
    }

    fn string(&mut self, value: &str) {
        serde_json::to_writer(&mut self.text, value).expect("text serialises into memory");
    }
}
