//! Conversion of params to the types that the schema of an operation declares.
//!
//! Language models, and clients that read values from forms, send arguments in other forms than the schema: an array or
//! a number as JSON text (`"[1]"`, `"5"`), `null` for a member that is not set, an integer as `1.0`. They are converted
//! once, when a call gets its operation, so that layers, observers and handlers read the same values:
//!
//! * A string becomes the JSON value that it is the text of, if the schema allows the type of that value and no strings.
//!   The text obeys the limits of params: their depth, and no duplicate members.
//! * A declared member with the value `null` is removed, if it is optional and the schema does not allow `null`.
//! * A number with a fraction or an exponent becomes an integer, if it is one and the schema allows no other numbers.
//!
//! Values without a schema, and members that the schema does not declare, are unchanged.

mod compile;
mod number;
mod types;
mod walk;

use std::fmt;

use crate::envelope::{Elements, Scanner};
use crate::schema::Schema;
use compile::Compiled;
use types::OBJECT;
use walk::{Stop, Walk};

/// The conversions of the params of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversions {
    All,
    /// Those of `null` and of numbers, not of strings.
    ExceptStrings,
    None,
}

/// The types of the params of an operation.
pub(crate) struct ParamTypes {
    nodes: Vec<Node>,
    /// The node of the params by name.
    root: usize,
    /// The params by position. If the last one takes all remaining positions, it is not one of them.
    positions: Vec<Position>,
    is_variadic: bool,
    /// Whether strings are converted.
    reads_strings: bool,
    /// Whether the schema declares members.
    has_members: bool,
    /// The maximum depth of a message.
    depth: usize,
}

/// The types and parts of one value.
#[derive(Debug, Clone, Default)]
struct Node {
    /// The allowed types. 0 if they are unknown.
    types: u8,
    members: Vec<Member>,
    /// The node of the elements of an array.
    items: Option<usize>,
    /// The node with the members of an object, which may be this one.
    object: Option<usize>,
    /// The node with the items of an array, which may be this one.
    array: Option<usize>,
}

/// A declared member of an object.
#[derive(Debug, Clone)]
struct Member {
    name: String,
    node: usize,
    /// Whether `null` means that the member is not set.
    drops_null: bool,
}

/// A param by position.
struct Position {
    name: &'static str,
    /// Its index in the members of the params by name.
    member: Option<usize>,
}

/// Whether the JSON text of a number is an integer in any form, such as `1.0`, that fits in 64 bits.
pub(crate) fn is_integer(number: &[u8]) -> bool {
    number::integer(number).is_some()
}

/// The number of levels outside of params: the message.
const OUTSIDE: usize = 1;

impl ParamTypes {
    /// The types of params with this schema. `names` are those of the params by position. `depth` is the maximum depth of
    /// a message. `None` if nothing is converted.
    pub(crate) fn of(
        conversions: Conversions,
        schema: Option<&Schema>,
        names: &[&'static str],
        is_variadic: bool,
        depth: usize,
    ) -> Option<Self> {
        let reads_strings = match conversions {
            Conversions::All => true,
            Conversions::ExceptStrings => false,
            Conversions::None => return None,
        };
        let Compiled { mut nodes, root } = Compiled::of(schema);
        // Params are an object, even if their schema allows other values.
        nodes[root].types = OBJECT;
        let members = nodes[root].object.map_or(&[][..], |object| &nodes[object].members);
        let position = |name: &&'static str| {
            let member = members.iter().position(|member| member.name == **name);
            Position { name, member }
        };
        let single = names.len() - usize::from(is_variadic && !names.is_empty());
        let positions = names[..single].iter().map(position).collect();
        let has_members = nodes[root].object.is_some();
        Some(Self { nodes, root, positions, is_variadic, reads_strings, has_members, depth })
    }

    /// The JSON text of params, converted to these types. `None` if they are unchanged. `params` is the valid text of an
    /// object, of an array, or of a string that contains an object.
    #[inline]
    pub(crate) fn convert(&self, params: &[u8]) -> Option<Vec<u8>> {
        let is_convertible = self.has_members || params.first() == Some(&b'"');
        if is_convertible { self.convert_declared(params) } else { None }
    }

    fn convert_declared(&self, params: &[u8]) -> Option<Vec<u8>> {
        match params.first()? {
            b'{' => {
                let mut walk = Walk::new(self, params);
                walk.value(self.root, &mut Scanner::new(params, usize::MAX), OUTSIDE).ok()?;
                walk.into_text()
            }
            b'[' => self.convert_positions(params),
            b'"' if self.reads_strings => {
                let text: String = serde_json::from_slice(params).ok()?;
                walk::value_of_text(self, self.root, &text, OUTSIDE)
            }
            _ => None,
        }
    }

    /// Converts params by position. If one of them is `null` and means that it is not set, they become params by name,
    /// since the following ones keep their positions.
    fn convert_positions(&self, params: &[u8]) -> Option<Vec<u8>> {
        let mut walk = Walk::new(self, params);
        let (mut index, mut has_unset) = (0, false);
        let scanned: Result<(), Stop> = Scanner::new(params, usize::MAX).array(|scanner| {
            let member = self.member_at(index);
            index += 1;
            let Some(member) = member else {
                scanner.value()?;
                return Ok(());
            };
            has_unset |= member.drops_null && scanner.peek() == Some(b'n');
            walk.value(member.node, scanner, OUTSIDE + 1)
        });
        scanned.ok()?;
        let converted = walk.into_text();
        if !has_unset || self.is_variadic || index > self.positions.len() {
            return converted;
        }
        Some(self.by_name(converted.as_deref().unwrap_or(params)))
    }

    /// Params by position as params by name, without those that are not set.
    fn by_name(&self, params: &[u8]) -> Vec<u8> {
        let mut text = b"{".to_vec();
        let mut elements = Elements::new(params);
        for (index, position) in self.positions.iter().enumerate() {
            let Some(value) = elements.next_value() else { break };
            if value == b"null" && self.member_at(index).is_some_and(|member| member.drops_null) {
                continue;
            }
            if text.len() > 1 {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, position.name).expect("text serialises into memory");
            text.push(b':');
            text.extend_from_slice(value);
        }
        text.push(b'}');
        text
    }

    fn member_at(&self, index: usize) -> Option<&Member> {
        let object = self.nodes[self.root].object?;
        self.nodes[object].members.get(self.positions.get(index)?.member?)
    }
}

impl fmt::Debug for ParamTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParamTypes").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
