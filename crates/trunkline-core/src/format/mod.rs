//! Message formats and their conversion to and from JSON.

mod convert;
#[cfg(feature = "edn")]
pub mod edn;
mod encoding;
mod kind;

pub use encoding::{Encoding, Encodings};
pub use kind::{Format, Formats};
