//! Conversion of the text of params.

use std::ops::Range;

use super::types::{ARRAY, BOOLEAN, FRACTION, INTEGER, NUMBER, OBJECT, STRING};
use super::{Node, ParamTypes, number};
use crate::envelope::{Kind, ScanError, Scanner, Text};
use crate::limits::DistinctKeys;

/// A pass over a JSON text that collects the parts to replace. It allocates nothing before the first one.
pub(super) struct Walk<'a> {
    types: &'a ParamTypes,
    text: &'a [u8],
    /// The parts and what replaces them, in the order of the text.
    replaced: Vec<(Range<usize>, Vec<u8>)>,
}

/// Params that stay unchanged: a declared member is duplicated, and removing or converting one of the two would hide that.
pub(super) struct Stop;

/// Unreachable, since the text is valid.
impl From<ScanError> for Stop {
    fn from(_: ScanError) -> Self {
        Self
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(types: &'a ParamTypes, text: &'a [u8]) -> Self {
        Self { types, text, replaced: Vec::new() }
    }

    /// The text with the replaced parts. `None` if nothing is replaced.
    pub(super) fn into_text(self) -> Option<Vec<u8>> {
        if self.replaced.is_empty() {
            return None;
        }
        let mut text = Vec::with_capacity(self.text.len());
        let mut end = 0;
        for (range, replacement) in self.replaced {
            text.extend_from_slice(&self.text[end..range.start]);
            text.extend_from_slice(&replacement);
            end = range.end;
        }
        text.extend_from_slice(&self.text[end..]);
        Some(text)
    }

    /// Converts the next value of `scanner`. `level` is the number of arrays and objects around it.
    #[inline]
    pub(super) fn value(
        &mut self,
        node: usize,
        scanner: &mut Scanner<'_>,
        level: usize,
    ) -> Result<(), Stop> {
        let types = self.types;
        let Node { types: allowed, object, array, .. } = &types.nodes[node];
        match (scanner.peek(), object, array) {
            (Some(b'{'), Some(object), _) => {
                return self.object(&types.nodes[*object], scanner, level + 1);
            }
            (Some(b'['), _, Some(array)) => {
                let items = types.nodes[*array].items.unwrap_or_default();
                return scanner.array(|scanner| self.value(items, scanner, level + 1));
            }
            _ => {}
        }
        let (kind, span) = scanner.value()?;
        let replacement = match kind {
            // The text of a value of unknown type is not read.
            Kind::String { escaped }
                if types.reads_strings && *allowed != 0 && allowed & STRING == 0 =>
            {
                let text = Text { span, escaped }.value(self.text);
                value_of_text(types, node, &text, level)
            }
            Kind::Number if allowed & NUMBER == INTEGER => {
                let number = span.of(self.text);
                if number::is_plain(number) {
                    return Ok(());
                }
                number::integer(number).map(|number| number.to_string().into_bytes())
            }
            _ => return Ok(()),
        };
        self.replaced.extend(replacement.map(|text| (span.range(), text)));
        Ok(())
    }

    fn object(&mut self, node: &Node, scanner: &mut Scanner<'_>, level: usize) -> Result<(), Stop> {
        let mut found = 0_u128;
        // The end of the last member that follows one that stays.
        let mut end = None;
        // Removed members at the beginning.
        let mut removed: Option<Range<usize>> = None;
        scanner.object(|scanner, name| {
            let start = name.span.range().start;
            let index = node.members.iter().position(|member| name.is(self.text, &member.name));
            let member = index.map(|index| (1 << index, &node.members[index]));
            if let Some((bit, _)) = member {
                if found & bit != 0 {
                    return Err(Stop);
                }
                found |= bit;
            }
            let is_unset = member.is_some_and(|(_, member)| member.drops_null);
            if is_unset && scanner.peek() == Some(b'n') {
                let Range { end: value_end, .. } = scanner.value()?.1.range();
                match &mut end {
                    // With the comma before it.
                    Some(end) => {
                        self.replaced.push((*end..value_end, Vec::new()));
                        *end = value_end;
                    }
                    None => {
                        let start = removed.take().map_or(start, |removed| removed.start);
                        removed = Some(start..value_end);
                    }
                }
                return Ok(());
            }
            // With the comma after them.
            if let Some(removed) = removed.take() {
                self.replaced.push((removed.start..start, Vec::new()));
            }
            match member {
                Some((_, member)) => self.value(member.node, scanner, level)?,
                None => {
                    scanner.value()?;
                }
            }
            end = Some(scanner.offset());
            Ok(())
        })?;
        self.replaced.extend(removed.map(|removed| (removed, Vec::new())));
        Ok(())
    }
}

/// The JSON text of the value that a string is the text of, with its parts converted. `None` if the string is not such a
/// text, or if the node does not allow the type of the value.
pub(super) fn value_of_text(
    types: &ParamTypes,
    node: usize,
    text: &str,
    level: usize,
) -> Option<Vec<u8>> {
    let allowed = types.nodes[node].types;
    let mut scanner = Scanner::new(text.as_bytes(), types.depth.saturating_sub(level));
    let kind = match scanner.peek()? {
        b'{' => OBJECT,
        b'[' => ARRAY,
        b't' | b'f' => BOOLEAN,
        b'-' | b'0'..=b'9' => NUMBER,
        _ => return None,
    };
    if allowed & kind == 0 {
        return None;
    }
    let (_, span) = scanner.value().ok()?;
    scanner.finish().ok()?;
    let value = span.of(text.as_bytes());
    match kind {
        OBJECT | ARRAY => {
            // Parsers disagree on duplicate members.
            serde_json::from_slice::<DistinctKeys>(value).ok()?;
            let mut walk = Walk::new(types, value);
            walk.value(node, &mut Scanner::new(value, usize::MAX), level).ok()?;
            Some(walk.into_text().unwrap_or_else(|| value.to_vec()))
        }
        NUMBER if allowed & FRACTION == 0 => {
            number::integer(value).map(|number| number.to_string().into_bytes())
        }
        NUMBER => {
            let is_integer = number::is_plain(value) && number::integer(value).is_some();
            (is_integer || number::is_exact(value)).then(|| value.to_vec())
        }
        _ => Some(value.to_vec()),
    }
}
