//! What the crate does, through what a user of it calls.

mod reading;
