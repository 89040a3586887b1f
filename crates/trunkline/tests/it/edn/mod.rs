//! EDN: messages, replies and handlers.

mod calls;
mod described;
mod handlers;
mod history;
mod http;
mod params;
mod routes;
mod streams;
