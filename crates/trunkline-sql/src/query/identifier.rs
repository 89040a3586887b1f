/// A name as SQL can carry it: in double quotes, with those inside doubled.
///
/// This is the only way in which a name gets into SQL text. It makes an identifier of any text, so what
/// the caller sent is looked up in the schema first, and the schema's spelling is quoted.
pub(crate) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quoting() {
        for (name, expected) in
            [("emp", r#""emp""#), (r#"we"ird; DROP"#, r#""we""ird; DROP""#), ("", r#""""#)]
        {
            assert_eq!(quote(name), expected, "{name}");
        }
    }
}
