//! All on one line.

use super::scalar;
use crate::value::Value;

/// Appends a value: `{:a 1, :b [2 3]}`.
pub(crate) fn write(value: &Value, out: &mut String) {
    // What is left of the collections that have begun, from the outermost.
    let mut open: Vec<Parts<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next.take() {
            match Parts::of(value, out) {
                Some(parts) => open.push(parts),
                None => scalar::write(value, out),
            }
        }
        let Some(parts) = open.last_mut() else { return };
        next = parts.next(out);
        if next.is_none() {
            open.pop();
        }
    }
}

/// What is left of a collection.
enum Parts<'a> {
    Values { left: std::slice::Iter<'a, Value>, first: bool, close: char },
    Entries { left: std::slice::Iter<'a, (Value, Value)>, first: bool, value: Option<&'a Value> },
    Tagged(Option<&'a Value>),
}

impl<'a> Parts<'a> {
    /// Begins a collection.
    fn of(value: &'a Value, out: &mut String) -> Option<Self> {
        let (open, values, close) = match value {
            Value::List(list) => ("(", list.iter(), ')'),
            Value::Vector(vector) => ("[", vector.iter(), ']'),
            Value::Set(set) => ("#{", set.iter(), '}'),
            Value::Map(map) => {
                out.push('{');
                let left = map.entries().iter();
                return Some(Self::Entries { left, first: true, value: None });
            }
            Value::Tagged(tagged) => {
                out.push('#');
                out.push_str(tagged.tag().as_str());
                out.push(' ');
                return Some(Self::Tagged(Some(tagged.value())));
            }
            _ => return None,
        };
        out.push_str(open);
        Some(Self::Values { left: values, first: true, close })
    }

    /// The next part, behind what separates it; none, and the end is written.
    fn next(&mut self, out: &mut String) -> Option<&'a Value> {
        match self {
            Self::Values { left, first, close } => {
                let next = left.next();
                match next {
                    Some(_) if std::mem::take(first) => {}
                    Some(_) => out.push(' '),
                    None => out.push(*close),
                }
                next
            }
            Self::Entries { left, first, value } => {
                if let Some(value) = value.take() {
                    out.push(' ');
                    return Some(value);
                }
                let Some((key, of_key)) = left.next() else {
                    out.push('}');
                    return None;
                };
                if !std::mem::take(first) {
                    out.push_str(", ");
                }
                *value = Some(of_key);
                Some(key)
            }
            Self::Tagged(value) => value.take(),
        }
    }
}
