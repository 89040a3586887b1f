//! Tests of the public API.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod cases;
mod compile_errors;
mod convert;
mod depth;
mod differential;
mod json;
mod json_properties;
mod macros;
mod order;
mod properties;
mod reading;
mod reading_errors;
mod serde;
mod serde_formats;
mod serde_numbers;
mod serde_std;
mod values;
mod writing;
