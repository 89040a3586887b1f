//! From values to text, without a stack that a value could overflow.

mod compact;
mod pretty;
mod scalar;

pub(crate) use compact::write;
pub(crate) use pretty::write_pretty;
