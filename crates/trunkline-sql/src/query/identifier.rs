/// A name as an SQL identifier: in double quotes, with quotes inside doubled.
///
/// All names in SQL text are quoted by this function. Names from callers are looked up in the schema first, and the
/// spelling of the schema is quoted.
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
