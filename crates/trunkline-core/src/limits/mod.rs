//! Limits of calls, of the memory that they take, and of the input that they accept.

pub mod calls;
mod distinct_keys;
mod memory;

pub use calls::LimitError;
pub use distinct_keys::DistinctKeys;
pub use memory::{MemoryBudget, OutOfMemory, Reservation};
