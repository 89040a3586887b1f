//! Gateways to servers over real transports.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod abandoned;
mod approvals;
mod caller;
mod calls;
mod failures;
mod resources;
mod subscriptions;
mod support;
mod upstream;
