//! The client: against the server of this crate, and against servers whose replies a test writes.

mod authorization;
mod cancellation;
mod eras;
mod handlers;
mod hostile;
mod processes;
mod script;
mod sessions;
mod subscriptions;
mod suite;
mod tasks;
mod types;
