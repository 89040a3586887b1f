//! From values to text, without a stack that a value could overflow.

mod compact;
mod display;
mod pretty;
mod scalar;
