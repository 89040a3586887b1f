//! Tools that are commands.

mod changes;
mod ending;
mod launched;
mod recorded;
mod rejected;
mod results;
pub(crate) mod support;
