//! The parsed declaration: a service, its methods, and their arguments.

mod argument;
mod client;
mod example;
mod method;
mod output;
mod service;

pub(super) use self::{
    argument::{Argument, Param},
    client::Client,
    example::Example,
    method::{Execution, Method},
    output::Output,
    service::{Service, Subject},
};
