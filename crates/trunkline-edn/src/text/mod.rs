//! EDN text: the reader, and the writers.

mod reader;
mod writer;

pub use reader::{Limits, Reader, read, read_with};
