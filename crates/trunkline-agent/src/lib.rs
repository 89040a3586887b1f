//! An agent over trunkline operations: language models with tools, and tools that are commands.

#![forbid(unsafe_code)]

mod agent;
mod conversation;
mod door;
mod model;
mod operations;
mod planner;
#[cfg(unix)]
pub mod tools;
