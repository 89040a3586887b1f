//! What the code that the macros write calls. None of it is public API.

mod decoded;
mod object_schema;
mod probe;
mod typed;

pub use decoded::{ErrorData, Param, Received, ServerParam, error_data};
pub use object_schema::ObjectSchema;
pub use probe::{Generate, Probe, Unprobed};
pub use typed::{ClientParam, ClientResult, Fallible, param, typed};
