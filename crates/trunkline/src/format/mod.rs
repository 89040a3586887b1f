//! What messages are written in: JSON, and what is read as JSON and written from it.

mod aside;
mod convert;
#[cfg(feature = "edn")]
pub(crate) mod edn;
mod kind;

pub(crate) use aside::{Aside, Asides};
pub use kind::{Format, Formats};
