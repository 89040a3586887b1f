//! Members that stand twice: a schema looks at one of them, a handler may read the other.

use std::collections::HashSet;

use trunkline_core::call::Description;
use trunkline_core::envelope::{ScanError, Scanner};

use super::faults::{Fault, Faults};
use super::named::{self, escaped};

/// Passes params in which no object, at any depth, has two members of one name. `text` was read as JSON.
pub(super) fn check(description: &Description, text: &[u8]) -> Result<(), Faults> {
    // How deep it nests was told when it was read.
    let mut scanner = Scanner::new(text, usize::MAX);
    let checked = match scanner.peek() {
        Some(b'[') => array(&mut scanner, text, |index| named::pointer(description, index)),
        _ => value(&mut scanner, text),
    };
    match checked {
        Err(Stop::Twice(pointer)) => Err(Fault::new(&pointer, &"stands twice").into()),
        Ok(()) | Err(Stop::Broken) => Ok(()),
    }
}

enum Stop {
    /// A member stands twice, to which this is the pointer.
    Twice(String),
    Broken,
}

impl Stop {
    /// Of the whole, in which a part stands at a pointer.
    fn within(self, pointer: impl FnOnce() -> String) -> Self {
        match self {
            Self::Twice(inner) => Self::Twice(pointer() + &inner),
            Self::Broken => Self::Broken,
        }
    }
}

impl From<ScanError> for Stop {
    fn from(_: ScanError) -> Self {
        Self::Broken
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
            return Err(Stop::Twice(pointer()));
        }
        value(scanner, text).map_err(|stop| stop.within(pointer))
    })
}

/// Walks an array, whose elements stand at these pointers.
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
