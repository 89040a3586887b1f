//! Values as text: on one line, or indented.

mod compact;
mod pretty;

use std::fmt;

use crate::value::{List, Map, Set, Tagged, Value, Vector};
use compact::Collection;

fn display(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(collection) = Collection::of(value) {
        return display_collection(collection, f);
    }
    let mut text = String::new();
    compact::write_scalar(value, &mut text);
    f.pad(&text)
}

fn display_collection(collection: Collection<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = String::new();
    if f.alternate() {
        pretty::write(collection, &mut text);
    } else {
        compact::write(collection, &mut text);
    }
    f.pad(&text)
}

macro_rules! display {
    ($($type:ty, $this:ident, $f:ident => $display:expr;)*) => {$(
        /// EDN text on one line; with `{:#}`, indented.
        impl fmt::Display for $type {
            fn fmt(&self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $this = self;
                $display
            }
        }

        /// EDN text.
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

display! {
    Value, value, f => display(value, f);
    List, list, f => display_collection(Collection::list(list), f);
    Vector, vector, f => display_collection(Collection::vector(vector), f);
    Map, map, f => display_collection(Collection::Map(map), f);
    Set, set, f => display_collection(Collection::set(set), f);
    Tagged, tagged, f => display_collection(Collection::Tagged(tagged), f);
}
