//! The doors of the agent and of its tools.
