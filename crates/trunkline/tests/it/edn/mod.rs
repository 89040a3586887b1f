//! EDN: messages, replies, handlers.

mod calls;
mod described;
mod handlers;
mod http;
mod kept;
mod params;
mod routes;
mod streams;
