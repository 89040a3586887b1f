//! Who calls: what the guards of a door know of the sender.

mod principal;

pub use principal::Principal;
