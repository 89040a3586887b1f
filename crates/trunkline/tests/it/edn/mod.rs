//! EDN: messages, replies, handlers.

mod calls;
mod described;
mod doors;
mod handlers;
mod http;
mod kept;
mod params;
mod streams;
