//! Indented: what fits on a line stays on one, of the rest each part has its own.
//!
//! ```text
//! {:service "trunkline",
//!  :routes [{:path "/rpc", :methods #{:post}}
//!           {:path "/health", :methods #{:get}}]}
//! ```

use super::{compact, scalar};
use crate::value::Value;
use crate::value::parts::{Kind, Parts};

/// So many characters fit on a line.
const WIDTH: usize = 80;
/// No line is indented by more, so that deep values do not become mostly spaces.
const INDENT: usize = WIDTH;

/// Appends a collection. Every part is measured once and written once, whatever the depth.
pub(super) fn write_collection(whole: Parts<'_>, out: &mut String) {
    let measures = measure(whole.clone());
    let mut page = Page { out, column: 0, measures, at: 0 };
    // The collections that have begun, from the outermost.
    let mut open = Vec::from_iter(page.begin(whole, 0));
    while let Some(block) = open.last_mut() {
        match page.next(block) {
            Some((part, tail)) => match Parts::of(part) {
                Some(parts) => open.extend(page.begin(parts, tail)),
                None => page.scalar(part),
            },
            None => {
                page.end(block.parts.kind);
                open.pop();
            }
        }
    }
}

/// A collection that does not fit on the rest of its line.
struct Block<'a> {
    parts: Parts<'a>,
    first: bool,
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
    /// Writes a collection before so many characters, or begins to if it does not fit on the line.
    fn begin<'v>(&mut self, parts: Parts<'v>, tail: usize) -> Option<Block<'v>> {
        let Measure { width, after } = self.measures[self.at];
        if self.column + width + tail <= WIDTH {
            compact::write_collection(parts, self.out);
            self.column += width;
            self.at = after;
            return None;
        }
        self.at += 1;
        let kind = parts.kind;
        compact::begin(kind, self.out);
        self.column += width_before(kind);
        let indent = self.column.min(INDENT);
        Some(Block { parts, first: true, indent, tail: tail + width_behind(kind) })
    }

    /// The next part, behind what separates it, and how many characters follow it on its line.
    fn next<'v>(&mut self, block: &mut Block<'v>) -> Option<(&'v Value, usize)> {
        let is_entry = matches!(block.parts.kind, Kind::Map);
        let is_value = block.parts.is_at_value();
        let part = block.parts.next()?;
        if is_value {
            self.out.push(' ');
            self.column += 1;
        } else if !std::mem::take(&mut block.first) {
            self.out.push_str(if is_entry { ",\n" } else { "\n" });
            self.out.extend(std::iter::repeat_n(' ', block.indent));
            self.column = block.indent;
        }
        let tail = if block.parts.left() == 0 { block.tail } else { usize::from(is_entry) };
        Some((part, tail))
    }

    fn end(&mut self, kind: Kind<'_>) {
        compact::end(kind, self.out);
        self.column += width_behind(kind);
    }

    fn scalar(&mut self, value: &Value) {
        let start = self.out.len();
        scalar::write(value, self.out);
        self.column += self.out[start..].chars().count();
    }
}

/// What a collection is on one line.
struct Measure {
    /// How many characters.
    width: usize,
    /// Which collection is the first that begins behind it.
    after: usize,
}

/// Measures a collection and all in it, in the order in which they begin.
fn measure(whole: Parts<'_>) -> Vec<Measure> {
    let mut measures = Vec::new();
    // The place of each that has begun, from the outermost.
    let mut open: Vec<(usize, Parts<'_>)> = Vec::new();
    // How many characters there would be on one line so far, with the brackets and separators that
    // the open ones are still to get.
    let mut total = 0;
    let mut text = String::new();
    let mut begins = Some(whole);
    loop {
        if let Some(parts) = begins.take() {
            let width = width_around(&parts);
            open.push((measures.len(), parts));
            measures.push(Measure { width: total, after: 0 });
            total += width;
        }
        let Some((at, parts)) = open.last_mut() else { return measures };
        let Some(part) = parts.next() else {
            // Until here, it had the width of what stands before it.
            measures[*at] = Measure { width: total - measures[*at].width, after: measures.len() };
            open.pop();
            continue;
        };
        begins = Parts::of(part);
        if begins.is_none() {
            text.clear();
            scalar::write(part, &mut text);
            total += text.chars().count();
        }
    }
}

/// How many characters of a collection on one line are not its parts'.
fn width_around(parts: &Parts<'_>) -> usize {
    let separators = match parts.kind {
        // One behind each key, and two behind each value but the last.
        Kind::Map => (parts.left() / 2 * 3).saturating_sub(2),
        _ => parts.left().saturating_sub(1),
    };
    width_before(parts.kind) + separators + width_behind(parts.kind)
}

fn width_before(kind: Kind<'_>) -> usize {
    match kind {
        Kind::List | Kind::Vector | Kind::Map => 1,
        Kind::Set => 2,
        Kind::Tagged(tag) => tag.as_str().chars().count() + 2,
    }
}

fn width_behind(kind: Kind<'_>) -> usize {
    usize::from(!matches!(kind, Kind::Tagged(_)))
}
