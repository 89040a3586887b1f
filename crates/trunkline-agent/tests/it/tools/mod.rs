//! Tools that are commands.

mod changes;
mod ending;
mod launched;
mod rejected;
mod results;
mod support;
