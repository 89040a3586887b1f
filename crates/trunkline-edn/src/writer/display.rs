//! How values show themselves: on one line, or indented where `{:#}` asks for it, with the width and
//! the fill that a format asks for.

use std::fmt;

use super::{compact, pretty, scalar};
use crate::parts::Parts;
use crate::value::Value;

pub(crate) fn display(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(whole) = Parts::of(value) {
        return display_collection(whole, f);
    }
    let mut text = String::new();
    scalar::write(value, &mut text);
    f.pad(&text)
}

pub(crate) fn display_collection(whole: Parts<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = String::new();
    if f.alternate() {
        pretty::write_collection(whole, &mut text);
    } else {
        compact::write_collection(whole, &mut text);
    }
    f.pad(&text)
}
