//! Error objects and error codes.

use std::borrow::Cow;

pub mod code;
mod object;
mod rpc_error;

pub use object::ErrorObject;
pub use rpc_error::{BoxError, ErrorDescription, RpcError};

/// Truncates a text to `max_chars` characters and an ellipsis, for messages that contain input of a peer. A shorter
/// text is returned unchanged.
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
    fn truncates_long_texts() {
        for (text, expected) in [("", ""), ("éé", "éé"), ("ééé", "éé…"), ("xxxx", "xx…")]
        {
            assert_eq!(super::excerpt(text, 2), expected);
        }
    }
}
