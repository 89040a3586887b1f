//! What the crate does, through what a user of it calls.

mod cases;
mod json;
mod reading;
mod reading_errors;
