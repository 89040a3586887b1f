//! The evaluation of JSON Schemas (draft 2020-12).
//!
//! A schema is [compiled](compile) once into a [`Program`]: nodes of keywords, whose references are resolved. A
//! program is [evaluated](evaluate) for each value, within a budget of steps.

mod assertion;
mod compile;
mod document;
mod evaluate;
mod number;
mod pattern;
mod problem;
mod program;
mod uri;

#[cfg(test)]
mod tests;

pub(super) use compile::compile;
pub(super) use evaluate::Run;
pub(super) use program::Program;
