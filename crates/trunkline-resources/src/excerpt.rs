use std::borrow::Cow;

/// Most characters of a name or a value that an error shows.
const CHARACTERS: usize = 64;

/// The beginning of a text that a client has sent, so that errors stay short whatever it is.
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
    fn what_is_long_is_cut_between_characters() {
        check("", "");
        check(&"é".repeat(64), &"é".repeat(64));
        check(&"é".repeat(65), &format!("{}…", "é".repeat(64)));
        check(&"x".repeat(300_000), &format!("{}…", "x".repeat(64)));
    }
}
