//! Indented: what fits on a line stays on one, of the rest each part has its own.
//!
//! ```text
//! {:service "trunkline",
//!  :routes [{:path "/rpc", :methods #{:post}}
//!           {:path "/health", :methods #{:get}}]}
//! ```

use super::scalar;
use crate::parts::Parts;
use crate::value::Value;

/// So many characters fit on a line.
const WIDTH: usize = 80;
/// No line is indented by more, so that deep values do not become mostly spaces.
const INDENT: usize = WIDTH;

/// Appends a value. Every part is measured once and written once, whatever the depth.
pub(crate) fn write_pretty(value: &Value, out: &mut String) {
    let mut page = Page { out, column: 0, measures: measure(value), at: 0 };
    // The collections that have begun, from the outermost.
    let mut open: Vec<Block<'_>> = Vec::new();
    let mut next = Some((value, 0));
    loop {
        if let Some((value, tail)) = next.take() {
            open.extend(page.begin(value, tail));
        }
        let Some(block) = open.last_mut() else { return };
        next = page.next(block);
        if next.is_none() {
            page.push(block.close);
            open.pop();
        }
    }
}

/// A collection that does not fit on the rest of its line.
struct Block<'a> {
    parts: Parts<'a>,
    first: bool,
    close: &'static str,
    /// The column of its parts.
    indent: usize,
    /// How many characters stand behind its last part, on the same line.
    tail: usize,
}

/// What is written, and where that has come to.
struct Page<'a> {
    out: &'a mut String,
    column: usize,
    /// Of all collections, in the order in which they begin.
    measures: Vec<Measure>,
    /// Which of them is next.
    at: usize,
}

impl Page<'_> {
    /// Writes a value before so many characters, or begins to if it does not fit on the line.
    fn begin<'v>(&mut self, value: &'v Value, tail: usize) -> Option<Block<'v>> {
        let start = self.out.len();
        let Some(parts) = Parts::of(value) else {
            scalar::write(value, self.out);
            self.column += self.out[start..].chars().count();
            return None;
        };
        let Measure { width, after } = self.measures[self.at];
        if self.column + width + tail <= WIDTH {
            super::write(value, self.out);
            self.column += width;
            self.at = after;
            return None;
        }
        self.at += 1;
        let (open, close) = brackets(value);
        self.push(open);
        if let Value::Tagged(tagged) = value {
            self.push(tagged.tag().as_str());
            self.push(" ");
        }
        let indent = self.column.min(INDENT);
        Some(Block { parts, first: true, close, indent, tail: tail + close.len() })
    }

    /// The next part, behind what separates it, and how many characters follow it on its line.
    fn next<'v>(&mut self, block: &mut Block<'v>) -> Option<(&'v Value, usize)> {
        let is_entry = matches!(block.parts, Parts::Entries { .. });
        let is_value = block.parts.is_at_value();
        let part = block.parts.next()?;
        if is_value {
            self.push(" ");
        } else if !std::mem::take(&mut block.first) {
            self.push(if is_entry { "," } else { "" });
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', block.indent));
            self.column = block.indent;
        }
        let tail = if block.parts.left() == 0 { block.tail } else { usize::from(is_entry) };
        Some((part, tail))
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }
}

/// What a collection is on one line.
struct Measure {
    /// How many characters.
    width: usize,
    /// Which collection is the first that begins behind it.
    after: usize,
}

/// Measures all collections of a value, in the order in which they begin.
fn measure(value: &Value) -> Vec<Measure> {
    let mut measures = Vec::new();
    // The place of each that has begun, from the outermost.
    let mut open: Vec<(usize, Parts<'_>)> = Vec::new();
    // How many characters there would be on one line so far, with the brackets and separators that
    // the open ones are still to get.
    let mut total = 0;
    let mut text = String::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next {
            match Parts::of(value) {
                Some(parts) => {
                    open.push((measures.len(), parts));
                    measures.push(Measure { width: total, after: 0 });
                    total += width_around(value);
                }
                None => {
                    text.clear();
                    scalar::write(value, &mut text);
                    total += text.chars().count();
                }
            }
        }
        let Some((_, parts)) = open.last_mut() else { return measures };
        next = parts.next();
        if next.is_none()
            && let Some((at, _)) = open.pop()
        {
            // Until here, it had the width of what stands before it.
            measures[at] = Measure { width: total - measures[at].width, after: measures.len() };
        }
    }
}

/// How many characters of a collection on one line are not its parts'.
fn width_around(value: &Value) -> usize {
    let separators = match value {
        Value::Map(map) => (map.len() * 3).saturating_sub(2),
        Value::Tagged(tagged) => tagged.tag().as_str().chars().count() + 1,
        _ => Parts::of(value).map_or(0, |parts| parts.left().saturating_sub(1)),
    };
    let (open, close) = brackets(value);
    open.len() + separators + close.len()
}

fn brackets(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::List(_) => ("(", ")"),
        Value::Vector(_) => ("[", "]"),
        Value::Map(_) => ("{", "}"),
        Value::Set(_) => ("#{", "}"),
        Value::Tagged(_) => ("#", ""),
        _ => ("", ""),
    }
}
