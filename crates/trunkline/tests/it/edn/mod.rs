//! EDN: messages, replies, handlers.

mod calls;
// mod handlers;
mod kept;
