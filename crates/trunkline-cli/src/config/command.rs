//! Commands in one text.

/// Splits a command into its program and arguments at blanks. Quotes and backslashes work as in a shell; nothing is expanded.
///
/// # Errors
/// A quote that is not closed.
pub(super) fn split(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), character) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().extend(characters.next());
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (_, character) => word.get_or_insert_default().push(character),
        }
    }
    if let Some(quote) = quote {
        return Err(format!("the quote {quote} is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[track_caller]
    fn check(command: &str, expected: &[&str]) {
        assert_eq!(split(command).unwrap(), expected, "{command}");
    }

    #[test]
    fn splits_commands() {
        check("", &[]);
        check("  a  b\tc ", &["a", "b", "c"]);
        check("a 'b c' \"d e\"", &["a", "b c", "d e"]);
        check("a'b c'd", &["ab cd"]);
        check("a '' \"\"", &["a", "", ""]);
        check(r#"a\ b "c\"d" 'e\f'"#, &["a b", "c\"d", r"e\f"]);
        check("a\\", &["a"]);
        for open in ["a 'b", "\"", "'a\"", "a \"b'"] {
            assert!(split(open).unwrap_err().contains("is not closed"), "{open}");
        }
    }
}
