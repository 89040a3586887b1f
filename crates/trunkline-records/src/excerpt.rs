use std::borrow::Cow;

/// Maximum characters of a name or a value in an error message.
const CHARACTERS: usize = 64;

/// A client's text, truncated so that error messages stay short.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(super::excerpt(text), expected);
    }

    #[test]
    fn truncates_long_text_between_characters() {
        check("", "");
        check(&"é".repeat(64), &"é".repeat(64));
        check(&"é".repeat(65), &format!("{}…", "é".repeat(64)));
        check(&"x".repeat(300_000), &format!("{}…", "x".repeat(64)));
    }
}
