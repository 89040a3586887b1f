//! How values show themselves: on one line, or indented where `{:#}` asks for it, with the width and
//! the fill that a format asks for.

use std::fmt;

use super::{compact, pretty, scalar};
use crate::value::parts::{Kind, Parts};
use crate::value::{List, Map, Set, Tagged, Value, Vector};

fn display(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(whole) = Parts::of(value) {
        return display_collection(whole, f);
    }
    let mut text = String::new();
    scalar::write(value, &mut text);
    f.pad(&text)
}

fn display_collection(whole: Parts<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = String::new();
    if f.alternate() {
        pretty::write_collection(whole, &mut text);
    } else {
        compact::write_collection(whole, &mut text);
    }
    f.pad(&text)
}

macro_rules! display {
    ($($type:ty, $this:ident, $f:ident => $display:expr;)*) => {$(
        /// As EDN, on one line; with `{:#}`, indented.
        impl fmt::Display for $type {
            fn fmt(&self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $this = self;
                $display
            }
        }

        /// As EDN.
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

display! {
    Value, value, f => display(value, f);
    List, list, f => display_collection(Parts::of_values(Kind::List, list), f);
    Vector, vector, f => display_collection(Parts::of_values(Kind::Vector, vector), f);
    Map, map, f => display_collection(Parts::of_map(map), f);
    Set, set, f => display_collection(Parts::of_set(set), f);
    Tagged, tagged, f => display_collection(Parts::of_tagged(tagged), f);
}
