//! The agent as operations.
