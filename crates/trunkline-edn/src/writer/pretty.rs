//! Indented.

use crate::value::Value;

/// Appends a value.
pub(crate) fn write_pretty(value: &Value, out: &mut String) {
    super::write(value, out);
}
