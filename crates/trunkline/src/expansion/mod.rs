//! What the code that the macros write calls. None of it is public API.

mod object_schema;
mod probe;
mod typed;

pub use object_schema::ObjectSchema;
pub use probe::{Generate, Probe, Unprobed};
pub use typed::{ClientParam, ClientResult, Fallible, param, typed};
