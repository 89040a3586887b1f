//! Failures: what a client sees, and what only the log sees.

use std::borrow::Cow;

pub mod code;
mod object;
mod rpc_error;

pub use object::ErrorObject;
pub use rpc_error::{BoxError, ErrorDescription, RpcError};

/// The first `max_chars` characters of a text and an ellipsis, or a shorter text unchanged: for messages that repeat the
/// input of a peer.
#[must_use]
pub fn excerpt(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn excerpts() {
        for (text, expected) in [("", ""), ("éé", "éé"), ("ééé", "éé…"), ("xxxx", "xx…")]
        {
            assert_eq!(super::excerpt(text, 2), expected);
        }
    }
}
