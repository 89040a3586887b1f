//! All on one line.

use super::scalar;
use crate::value::Value;
use crate::value::parts::{Kind, Parts};

/// Appends a collection: `{:a 1, :b [2 3]}`.
pub(super) fn write_collection(whole: Parts<'_>, out: &mut String) {
    // The collections that have begun, from the outermost.
    let mut open = vec![Line::begin(whole, out)];
    while let Some(innermost) = open.last_mut() {
        match innermost.next(out) {
            Some(part) => match Parts::of(part) {
                Some(parts) => open.push(Line::begin(parts, out)),
                None => scalar::write(part, out),
            },
            None => drop(open.pop()),
        }
    }
}

/// A collection that is being written.
struct Line<'a> {
    parts: Parts<'a>,
    first: bool,
}

impl<'a> Line<'a> {
    fn begin(parts: Parts<'a>, out: &mut String) -> Self {
        begin(parts.kind, out);
        Self { parts, first: true }
    }

    /// The next part, behind what separates it; none, and the end is written.
    fn next(&mut self, out: &mut String) -> Option<&'a Value> {
        let is_value = self.parts.is_at_value();
        let next = self.parts.next();
        match (&next, self.parts.kind) {
            (None, kind) => end(kind, out),
            (Some(_), _) if is_value => out.push(' '),
            (Some(_), _) if std::mem::take(&mut self.first) => {}
            (Some(_), Kind::Map) => out.push_str(", "),
            (Some(_), _) => out.push(' '),
        }
        next
    }
}

/// Appends what stands before the parts.
pub(super) fn begin(kind: Kind<'_>, out: &mut String) {
    match kind {
        Kind::List => out.push('('),
        Kind::Vector => out.push('['),
        Kind::Map => out.push('{'),
        Kind::Set => out.push_str("#{"),
        Kind::Tagged(tag) => {
            out.push('#');
            out.push_str(tag.as_str());
            out.push(' ');
        }
    }
}

/// Appends what stands behind the parts.
pub(super) fn end(kind: Kind<'_>, out: &mut String) {
    match kind {
        Kind::List => out.push(')'),
        Kind::Vector => out.push(']'),
        Kind::Map | Kind::Set => out.push('}'),
        Kind::Tagged(_) => {}
    }
}
