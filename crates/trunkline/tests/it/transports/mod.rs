//! One suite over every transport, and what only some of them have.

mod child;
mod framed;
mod hostile;
mod service;
mod serving;
mod stopping;
mod streams;
mod suite;
mod tls;
mod unix;
