//! What the author declared: a service, its methods, their arguments.

mod argument;
mod client;
mod description;
mod example;
mod execution;
mod method;
mod output;
mod service;

pub(super) use self::{
    argument::{Argument, Param},
    client::Client,
    example::Example,
    execution::Execution,
    method::Method,
    output::Output,
    service::{Service, Subject},
};
