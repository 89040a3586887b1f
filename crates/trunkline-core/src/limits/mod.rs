//! Limits of calls, memory and input.

pub mod calls;
mod distinct_keys;
mod memory;

pub use calls::LimitError;
pub use distinct_keys::{DistinctKeys, exact_number};
pub use memory::{MemoryBudget, OutOfMemory, Reservation};
