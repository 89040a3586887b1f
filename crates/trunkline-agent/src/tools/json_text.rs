//! JSON as text, which keeps the order of members, and numbers of any length.

mod normal;

pub(super) use normal::normal;

/// The same JSON on one line: without the white space between its tokens.
pub(super) fn on_one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    let mut is_in_string = false;
    let mut is_escaped = false;
    for character in json.chars() {
        if is_in_string {
            is_in_string = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
        } else if matches!(character, ' ' | '\t' | '\r' | '\n') {
            continue;
        } else {
            is_in_string = character == '"';
        }
        line.push(character);
    }
    line
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(super::on_one_line(json), expected);
    }

    #[test]
    fn only_white_space_between_tokens_goes() {
        check("{ \"a b\" : [ 1,\r\n\t2 ] }\n", "{\"a b\":[1,2]}");
        check(r#"{"a\" b" : "\\" , "c" : " \\\" " }"#, r#"{"a\" b":"\\","c":" \\\" "}"#);
        check("12345678901234567890.10", "12345678901234567890.10");
        check("\" é 😀 \" ", "\" é 😀 \"");
    }
}
