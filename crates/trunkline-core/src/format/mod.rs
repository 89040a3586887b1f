//! What messages are written in: JSON, and what is read as JSON and written from it.

mod convert;
#[cfg(feature = "edn")]
pub mod edn;
mod encoding;
mod kind;

pub use encoding::{Encoding, Encodings};
pub use kind::{Format, Formats};
