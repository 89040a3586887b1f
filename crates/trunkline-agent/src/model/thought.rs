//! What models write before they answer, where their servers do not take it out.

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// The text behind a thought that it begins with; the whole text if it begins with none. None as long as that
/// is not known.
pub(super) fn behind(text: &str) -> Option<&str> {
    let beginning = text.trim_start();
    if let Some(thought) = beginning.strip_prefix(OPENING) {
        return thought.split_once(CLOSING).map(|(_, behind)| behind.trim_start());
    }
    let may_open = !beginning.is_empty() && OPENING.starts_with(beginning);
    (!may_open).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn thoughts_are_taken_off() {
        for (text, expected) in [
            ("", Some("")),
            (" Yes", Some(" Yes")),
            ("\n<think>Well.</think>\n\nYes", Some("Yes")),
            ("<think></think>", Some("")),
            ("<think>Well.</think>Yes </think>", Some("Yes </think>")),
            ("Yes <think>no</think>", Some("Yes <think>no</think>")),
            ("<thinking>", Some("<thinking>")),
            ("<", None),
            (" <think", None),
            ("<think>Well.</thin", None),
        ] {
            assert_eq!(behind(text), expected, "{text:?}");
        }
    }
}
