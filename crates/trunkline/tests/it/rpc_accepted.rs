//! Code that the macros accept, without warnings.

pub mod client;
pub mod error_without_imports;
pub mod impl_block;
pub mod public_trait;
pub mod shadowed_names;
pub mod state;
