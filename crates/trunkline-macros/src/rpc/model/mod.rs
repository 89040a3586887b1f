//! What the author declared: a service, its methods, their arguments.

mod argument;
mod description;
mod execution;
mod method;
mod output;
mod service;

pub(super) use self::{
    argument::{Argument, Param},
    execution::Execution,
    method::Method,
    output::Output,
    service::{Service, Subject},
};
