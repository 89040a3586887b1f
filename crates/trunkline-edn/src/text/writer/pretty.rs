//! Indented text. A collection that does not fit on the rest of the line has a line for each element or entry.
//!
//! ```text
//! {:service "trunkline",
//!  :routes [{:path "/rpc", :methods #{:post}}
//!           {:path "/health", :methods #{:get}}]}
//! ```

use super::compact::{self, Collection};
use crate::value::Value;

/// The length of a line, in characters.
const WIDTH: usize = 80;
/// Maximum indentation, so that deep values do not become mostly spaces.
const INDENT: usize = WIDTH;

/// Appends a collection. Each value is measured once and written once, at any depth.
pub(super) fn write(collection: Collection<'_>, out: &mut String) {
    let mut measures = Vec::new();
    measure(collection, &mut measures, &mut String::new());
    Page { out, column: 0, measures, next: 0 }.collection(collection, 0);
}

/// The size of a collection on one line.
#[derive(Clone, Copy)]
struct Measure {
    /// In characters.
    width: usize,
    /// The index of the first measure after those of the collections in it.
    end: usize,
}

/// Measures a collection and the collections in it, in the order in which they begin.
fn measure(collection: Collection<'_>, measures: &mut Vec<Measure>, scratch: &mut String) -> usize {
    let at = measures.len();
    measures.push(Measure { width: 0, end: 0 });
    let width = match collection {
        Collection::Values(open, values, close) => {
            let mut width = open.len() + values.len().saturating_sub(1) + close.len();
            for value in values {
                width += measure_value(value, measures, scratch);
            }
            width
        }
        Collection::Map(map) => {
            // The brackets, a space after each key, and a comma and a space between entries.
            let mut width = 2 + (map.len() * 3).saturating_sub(2);
            for (key, value) in map {
                width += measure_value(key, measures, scratch);
                width += measure_value(value, measures, scratch);
            }
            width
        }
        Collection::Tagged(tagged) => {
            let tag = tagged.tag().as_str().chars().count() + 2;
            tag + measure_value(tagged.value(), measures, scratch)
        }
    };
    measures[at] = Measure { width, end: measures.len() };
    width
}

fn measure_value(value: &Value, measures: &mut Vec<Measure>, scratch: &mut String) -> usize {
    if let Some(collection) = Collection::of(value) {
        return measure(collection, measures, scratch);
    }
    scratch.clear();
    compact::write_scalar(value, scratch);
    scratch.chars().count()
}

struct Page<'a> {
    out: &'a mut String,
    /// The number of characters in the last line.
    column: usize,
    /// The measures of all collections, in the order in which they begin.
    measures: Vec<Measure>,
    /// The index of the measure of the next collection.
    next: usize,
}

impl Page<'_> {
    /// Writes a collection that is followed by `tail` characters on its last line.
    fn collection(&mut self, collection: Collection<'_>, tail: usize) {
        let Measure { width, end } = self.measures[self.next];
        if self.column + width + tail <= WIDTH {
            compact::write(collection, self.out);
            self.column += width;
            self.next = end;
            return;
        }
        self.next += 1;
        match collection {
            Collection::Values(open, values, close) => {
                self.token(open);
                let indent = self.column.min(INDENT);
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        self.new_line(indent);
                    }
                    let is_last = at + 1 == values.len();
                    self.value(value, if is_last { tail + close.len() } else { 0 });
                }
                self.token(close);
            }
            Collection::Map(map) => {
                self.token("{");
                let indent = self.column.min(INDENT);
                for (at, (key, value)) in map.iter().enumerate() {
                    if at > 0 {
                        self.token(",");
                        self.new_line(indent);
                    }
                    self.value(key, 1);
                    self.token(" ");
                    let is_last = at + 1 == map.len();
                    self.value(value, if is_last { tail + 1 } else { 1 });
                }
                self.token("}");
            }
            Collection::Tagged(tagged) => {
                self.token("#");
                self.token(tagged.tag().as_str());
                self.token(" ");
                self.value(tagged.value(), tail);
            }
        }
    }

    fn value(&mut self, value: &Value, tail: usize) {
        if let Some(collection) = Collection::of(value) {
            return self.collection(collection, tail);
        }
        let start = self.out.len();
        compact::write_scalar(value, self.out);
        self.column += self.out[start..].chars().count();
    }

    fn token(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn new_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }
}
