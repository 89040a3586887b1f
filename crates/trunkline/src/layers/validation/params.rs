//! Params by name, and the search for duplicate members, of which the schema may check one and the handler read the
//! other.

use std::collections::HashSet;

use serde_json::{Map, Value};
use trunkline_core::call::Description;
use trunkline_core::envelope::{ScanError, Scanner};

use super::faults::{Fault, Faults, escaped};

/// Params by name, from either form (JSON-RPC 2.0, section 4.2).
///
/// # Errors
/// The reason why params by position have no names.
pub(super) fn by_name(description: &Description, params: Value) -> Result<Value, String> {
    let Value::Array(values) = params else { return Ok(params) };
    let names = &description.params;
    if names.is_empty() && !values.is_empty() {
        return Err("params must be an object: the method takes them by name only".to_owned());
    }
    let mut values = values.into_iter();
    let (variadic, single) = match names.split_last() {
        Some((last, before)) if description.variadic => (Some(*last), before),
        _ => (None, &names[..]),
    };
    let mut named: Map<String, Value> =
        single.iter().map(|name| (*name).to_owned()).zip(values.by_ref()).collect();
    match variadic {
        Some(name) => {
            named.insert(name.to_owned(), values.collect());
        }
        None if values.len() > 0 => {
            let count = names.len() + values.len();
            return Err(format!("{count} params by position, at most {} allowed", names.len()));
        }
        None => {}
    }
    Ok(Value::Object(named))
}

/// The JSON Pointer of a param by position among those by name.
fn pointer(description: &Description, index: usize) -> String {
    let last = description.params.len().saturating_sub(1);
    let name = description.params.get(index.min(last)).copied().unwrap_or_default();
    let pointer = format!("/{}", escaped(name));
    if description.variadic && index >= last {
        format!("{pointer}/{}", index - last)
    } else {
        pointer
    }
}

/// Checks that no object in params, at any depth, has a duplicate member. `text` is valid JSON.
pub(super) fn check_unique(description: &Description, text: &[u8]) -> Result<(), Faults> {
    // The depth was checked when it was parsed.
    let mut scanner = Scanner::new(text, usize::MAX);
    let checked = match scanner.peek() {
        Some(b'[') => array(&mut scanner, text, |index| pointer(description, index)),
        _ => value(&mut scanner, text),
    };
    match checked {
        Err(Stop::Duplicate(pointer)) => Err(Fault::new(&pointer, &"duplicate member").into()),
        Ok(()) | Err(Stop::Invalid) => Ok(()),
    }
}

enum Stop {
    /// The pointer to a duplicate member.
    Duplicate(String),
    Invalid,
}

impl Stop {
    /// Adds the pointer of the value around.
    fn within(self, pointer: impl FnOnce() -> String) -> Self {
        match self {
            Self::Duplicate(inner) => Self::Duplicate(pointer() + &inner),
            Self::Invalid => Self::Invalid,
        }
    }
}

impl From<ScanError> for Stop {
    fn from(_: ScanError) -> Self {
        Self::Invalid
    }
}

fn value(scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Stop> {
    match scanner.peek() {
        Some(b'{') => object(scanner, text),
        Some(b'[') => array(scanner, text, |index| format!("/{index}")),
        _ => Ok(scanner.value().map(drop)?),
    }
}

fn object(scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Stop> {
    let mut names = HashSet::new();
    scanner.object(|scanner, name| {
        let pointer = || format!("/{}", escaped(&name.value(text)));
        if !names.insert(name.value(text)) {
            return Err(Stop::Duplicate(pointer()));
        }
        value(scanner, text).map_err(|stop| stop.within(pointer))
    })
}

/// Checks an array whose elements have these pointers.
fn array(
    scanner: &mut Scanner<'_>,
    text: &[u8],
    pointer: impl Fn(usize) -> String,
) -> Result<(), Stop> {
    let mut index = 0;
    scanner.array(|scanner| {
        value(scanner, text).map_err(|stop| stop.within(|| pointer(index)))?;
        index += 1;
        Ok(())
    })
}
